"""Row 15: proposals of TPE after many trials, compared with Optuna's TPE, and whether 100 of them per second arrive.

Measured: processor time of one proposal, over 6 float parameters, after 250 to 50,000 finished trials, each told before
the next; in one process and thread, Podium and Optuna in turn. Podium: `Search`, with its study, and everything that a
proposal consists of in the scheduler. Optuna: `Study.ask` with the distributions, with its in-memory storage and its
default sampler.

Then `benchmarks.search_waits`: the scheduler with its threads and SQLite in real time over simulated slots: the share
of trials that TPE proposed. 100 slots with trials of one second and 1,000 slots with trials of ten need 100 proposals
per second. There is no peer for this.

Not measured here: the quality of the search, which is that of Optuna's sampler:
`tests/contract/test_tpe_equals_optunas.py` shows equal proposals, row 16 the regrets, and
`python -m benchmarks.search_quality` what the bound of the history costs.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from threadpoolctl import threadpool_limits

from benchmarks import search_waits
from benchmarks.results import Figure, Row, at_least, ratio
from benchmarks.run_settings import Plan
from podium.sweep.search.sweep_search import Search
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.search_messages import PastTrial
from podium.sweep.values.states import TrialState

HISTORIES = (250, 1_000, 5_000, 20_000, 50_000)
PROPOSALS, PEER_PROPOSALS = 200, {250: 60, 1_000: 40, 5_000: 15, 20_000: 5, 50_000: 3}
LEAST_PER_S = 150.0
LEAST_SHARE = 95.0  # percent of the trials that TPE proposes
NAMES = "abcdef"
Ask = Callable[[], Params]


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 15."""
    threadpool_limits(1, user_api="blas")  # as in the scheduler
    histories = HISTORIES[:1] if plan.quick else HISTORIES
    podium: dict[int, list[float]] = {count: [] for count in histories}
    peer: dict[int, list[float]] = {count: [] for count in histories}
    for seed in range(min(plan.repetitions, 3)):
        for count in histories:
            podium[count].append(_ms(_podium(count, seed), 5 if plan.quick else PROPOSALS))
            peer[count].append(_ms(_optuna(count, seed), 2 if plan.quick else PEER_PROPOSALS[count]))
            plan.say(f"after {count:,} trials: {podium[count][-1]:.2f} ms, Optuna {peer[count][-1]:.2f} ms")
    ours = [Figure(f"after {count:,}", "ms", tuple(podium[count])) for count in histories]
    theirs = [Figure(f"after {count:,}", "ms", tuple(peer[count])) for count in histories]
    rates = [Figure(f"after {count:,}", "proposals/s", tuple(1e3 / ms for ms in podium[count])) for count in histories]
    shares = [_share(plan, case) for case in search_waits.CASES if case.method == "tpe"]
    return [
        Row(
            15, "TPE over 6 floats: processor time of a proposal; share of trials that it proposed at 100 per second",
            [*ours, *shares], min(plan.repetitions, 3),
            targets=[*(at_least(rate, LEAST_PER_S) for rate in rates), *(at_least(own, LEAST_SHARE) for own in shares)],
            peer_name="Optuna, in memory", peer=theirs,
            ratios={one.name: ratio(one, other) for one, other in zip(ours, theirs, strict=True)},
        )
    ]  # fmt: skip


def _share(plan: Plan, case: search_waits.Case) -> Figure:
    if plan.quick:
        case = replace(case, before=min(case.before, 200), trials=60, slots=10, trial_s=0.2)
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        found = search_waits.measure(Path(folder), case)
    share = 100.0 * (found.chosen["tpe"] + found.chosen["tpe, late"]) / found.chosen.total()
    plan.say(f"{case}: {share:.1f} % proposed, busy {100 * found.busy:.1f} %; {dict(found.chosen)}")
    return Figure(f"proposed, {case}", "%", (share,))


def _ms(ask: Ask, proposals: int) -> float:
    """Milliseconds of processor time for a proposal; the first one, which reads the history, is not included."""
    ask()
    began = time.process_time()
    for _ in range(proposals):
        ask()
    return 1e3 * (time.process_time() - began) / proposals


def _history(count: int, seed: int) -> Iterator[tuple[Params, float]]:
    rng = random.Random(seed)
    for _ in range(count):
        params: Params = {name: rng.random() ** 2 for name in NAMES}
        yield params, _value(params)


def _value(params: Params) -> float:
    return sum(float(value or 0.0) for value in params.values())


def _podium(count: int, seed: int) -> Ask:
    spec = parse_spec(
        {
            "name": "proposals",
            "method": "tpe",
            "seed": seed,
            "metric": {"name": "score", "goal": "minimize"},
            "parameters": {name: {"min": 0.0, "max": 1.0} for name in NAMES},
            "run_cap": count + PROPOSALS + 1,
            "program": {"function": "trivial:objective"},
        }
    )
    past = [
        PastTrial(number, TrialState.FINISHED, params, values=(value,), sampler="tpe")
        for number, (params, value) in enumerate(_history(count, seed))
    ]
    search = Search(spec, past)

    def ask() -> Params:
        planned = search.ask()
        assert planned is not None
        search.tell(planned.number, TrialState.FINISHED, [_value(planned.params)])
        return planned.params

    return ask


def _optuna(count: int, seed: int) -> Ask:
    space: dict[str, BaseDistribution] = {name: FloatDistribution(0.0, 1.0) for name in NAMES}
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.add_trials(
        [
            optuna.trial.create_trial(value=value, params=params, distributions=space)
            for params, value in _history(count, seed)
        ]
    )

    def ask() -> Params:
        trial = study.ask(space)
        study.tell(trial, _value(trial.params))
        return trial.params

    return ask
