"""Row 15: proposals of TPE after many trials, compared with Optuna's TPE, and whether 100 of them per second arrive.

Measured: processor time of one proposal after 250 to 50,000 finished trials, each told before the next, over 6 float
parameters, over the same with three of four trials close to the optimum, as in a long search, and over the conditional
space of row 16; in one process and thread, Podium and Optuna in turn. Podium: `Search`, with its study, and everything
that a proposal consists of in the scheduler. Optuna: `Study.ask` and `Trial.suggest_*` with its in-memory storage and
its default sampler.

Then `benchmarks.search_waits`: the scheduler with its threads and SQLite in real time over simulated slots: the share
of trials that TPE proposed. 100 slots with trials of one second and 1,000 slots with trials of ten need 100 proposals
per second. There is no peer for this.

Not measured here: the quality of the search, which is that of Optuna's sampler:
`tests/contract/test_tpe_equals_optunas.py` shows equal proposals, row 16 the regrets, and
`python -m benchmarks.search_quality --window 1000` what a bound of the history costs.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from threadpoolctl import threadpool_limits

from benchmarks import search_waits
from benchmarks.results import Figure, Row, at_least, ratio
from benchmarks.run_settings import Plan
from benchmarks.search_functions import FUNCTIONS
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
CONDITIONAL = FUNCTIONS["conditional"]
KINDS = ("linear", "square", "deep")
Ask = Callable[[], Params]
Draw = Callable[[random.Random], Params]


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 15."""
    threadpool_limits(1, user_api="blas")  # as in the scheduler
    histories = HISTORIES[:1] if plan.quick else HISTORIES
    cases = [(space, count) for space in SPACES for count in histories]
    podium: dict[tuple[Space, int], list[float]] = {case: [] for case in cases}
    peer: dict[tuple[Space, int], list[float]] = {case: [] for case in cases}
    for seed in range(min(plan.repetitions, 3)):
        for space, count in cases:
            own, other = podium[space, count], peer[space, count]
            own.append(_ms(_podium(space, count, seed), 5 if plan.quick else PROPOSALS))
            other.append(_ms(_optuna(space, count, seed), 2 if plan.quick else PEER_PROPOSALS[count]))
            plan.say(f"{space.name} after {count:,} trials: {own[-1]:.2f} ms, Optuna {other[-1]:.2f} ms")
    ours, theirs, rates = [], [], []
    for space, count in cases:
        name = f"{space.name} after {count:,}"
        ours.append(Figure(name, "ms", tuple(podium[space, count])))
        theirs.append(Figure(name, "ms", tuple(peer[space, count])))
        rates.append(Figure(name, "proposals/s", tuple(1e3 / ms for ms in podium[space, count])))
    shares = [_share(plan, case) for case in search_waits.CASES if case.method == "tpe"]
    return [
        Row(
            15, "TPE: processor time of a proposal; share of trials that it proposed at 100 per second",
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


def _spread(rng: random.Random) -> Params:
    return {name: rng.random() ** 2 for name in NAMES}


def _close(rng: random.Random) -> Params:
    """Three of four trials are close to the optimum."""
    if rng.random() < 0.25:
        return _spread(rng)
    return {name: min(1.0, abs(rng.gauss(0.0, 0.02))) for name in NAMES}


def _conditional(rng: random.Random) -> Params:
    """Most trials have the best kind and are close to the optimum."""
    kind = rng.choice(("linear", "square", "deep", "deep", "deep"))
    params: Params = {"kind": kind, "rate": 10 ** max(-6.0, min(-1.0, rng.gauss(-4.0, 0.3)))}
    if kind == "linear":
        return {**params, "slope": rng.random()}
    if kind == "square":
        return {**params, "center": rng.random()}
    return {**params, "depth": rng.choice((4, 5, 5, 6, 9)), "width": min(1.0, abs(rng.gauss(0.2, 0.05)))}


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Parameters, random trials of a history, the value of a trial, and Optuna's calls for the same parameters."""

    name: str
    parameters: Mapping[str, Any]
    draw: Draw
    value: Callable[[Params], float]
    suggest: Callable[[optuna.Trial], Params]


def _sum(params: Params) -> float:
    return sum(float(value or 0.0) for value in params.values())


def _suggest_floats(trial: optuna.Trial) -> Params:
    return {name: trial.suggest_float(name, 0.0, 1.0) for name in NAMES}


def _suggest_conditional(trial: optuna.Trial) -> Params:
    kind = trial.suggest_categorical("kind", KINDS)
    params: Params = {"kind": kind, "rate": trial.suggest_float("rate", 1e-6, 1e-1, log=True)}
    if kind == "linear":
        return {**params, "slope": trial.suggest_float("slope", 0.0, 1.0)}
    if kind == "square":
        return {**params, "center": trial.suggest_float("center", 0.0, 1.0)}
    return {**params, "depth": trial.suggest_int("depth", 1, 12), "width": trial.suggest_float("width", 0.0, 1.0)}


_FLOATS = {name: {"min": 0.0, "max": 1.0} for name in NAMES}
_DISTRIBUTIONS: dict[str, BaseDistribution] = {
    **dict.fromkeys((*NAMES, "slope", "center", "width"), FloatDistribution(0.0, 1.0)),
    "kind": CategoricalDistribution(KINDS),
    "rate": FloatDistribution(1e-6, 1e-1, log=True),
    "depth": IntDistribution(1, 12),
}
SPACES = (
    Space("6 floats", _FLOATS, _spread, _sum, _suggest_floats),
    Space("6 floats, close", _FLOATS, _close, _sum, _suggest_floats),
    Space("conditional", CONDITIONAL.parameters, _conditional, CONDITIONAL.value, _suggest_conditional),
)


def _history(space: Space, count: int, seed: int) -> Iterator[tuple[Params, float]]:
    rng = random.Random(seed)
    for _ in range(count):
        params = space.draw(rng)
        yield params, space.value(params)


def _podium(space: Space, count: int, seed: int) -> Ask:
    spec = parse_spec(
        {
            "name": "proposals",
            "method": "tpe",
            "seed": seed,
            "metric": {"name": "score", "goal": "minimize"},
            "parameters": dict(space.parameters),
            "run_cap": count + PROPOSALS + 1,
            "program": {"function": "trivial:objective"},
        }
    )
    past = [
        PastTrial(number, TrialState.FINISHED, params, values=(value,), sampler="tpe")
        for number, (params, value) in enumerate(_history(space, count, seed))
    ]
    search = Search(spec, past)

    def ask() -> Params:
        planned = search.ask()
        assert planned is not None
        search.tell(planned.number, TrialState.FINISHED, [space.value(planned.params)])
        return planned.params

    return ask


def _optuna(space: Space, count: int, seed: int) -> Ask:
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.add_trials(
        [
            optuna.trial.create_trial(
                value=value, params=params, distributions={name: _DISTRIBUTIONS[name] for name in params}
            )
            for params, value in _history(space, count, seed)
        ]
    )

    def ask() -> Params:
        trial = study.ask()
        params = space.suggest(trial)
        study.tell(trial, space.value(params))
        return params

    return ask
