"""Row 16: the quality of TPE's search, compared with Optuna's TPE, which reads its full history for each proposal.

Measured on five functions (Branin, Hartmann 6, Rosenbrock 10, a conditional space, and a noisy one):

- over 20 seeds, the simple regret after 1,000 trials: the best value so far, less the minimum; with noise, that of the
  noiseless value of the best observed trial. The ratio is the geometric mean over seeds of Podium's regret divided by
  Optuna's, with its 95 % confidence interval; below 1, Podium is better.
- over 4 of the seeds, proposals during 5,000 trials: Optuna's sampler is asked for every 250th trial after the same
  history. Optuna alone would need hours for as many sweeps of this length.

Both search with the same seed for each trial, one trial after the other; what differs is the sampler. Processes run
in parallel, one per core, since nothing here is timed.

`python -m benchmarks.search_quality` compares the regret after 1,000 and 5,000 trials with Optuna's, which takes hours
for all functions; with `--start 4500`, Optuna continues the first 4,500 trials, which must have been shown to be equal.
`--every 250` compares proposals after the same history instead, as the row does with fewer seeds.
`--window 1000` measures what a smaller bound of the history costs: TPE keeps a kernel for each of the newest 8,192
trials, and for the best ones.
"""

from __future__ import annotations

import argparse
import functools
import math
import multiprocessing
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TypeVar
from unittest import mock

from optuna.samplers import BaseSampler, TPESampler
from threadpoolctl import threadpool_limits

from benchmarks.results import Figure, Row, Target, at_least
from benchmarks.run_settings import Plan
from benchmarks.search_functions import FUNCTIONS, Function
from podium.sweep.search.optuna_study import Study
from podium.sweep.search.sweep_search import Search
from podium.sweep.search.trials_bounding_proposal_time import LIMITS, SearchLimits
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.states import TrialState

SEEDS = 20
LONG_SEEDS = 4
COMPARED = 1_000  # trials of both
LONGEST = 5_000  # trials of Podium; after every ASKED_EVERY of them, Optuna proposes, too
ASKED_EVERY = 250
EQUAL_SHARE = 99.0  # percent: rounding may decide between two candidates
_RELATIVE = 1e-6  # values that differ by less are equal
_LEAST = 1e-12  # regrets below are equal
_T = {5: 2.571, 10: 2.228, 20: 2.086, 30: 2.042}  # quantile 0.975 of Student's distribution by degrees of freedom
_Result = TypeVar("_Result")


@dataclass(slots=True)
class Searched:
    """One sweep: regrets by number of trials, and whether each checked proposal was Optuna's."""

    regrets: dict[int, float] = field(default_factory=dict)
    equal: list[bool] = field(default_factory=list)


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 16."""
    seeds, long_seeds = (range(2), range(1)) if plan.quick else (range(SEEDS), range(LONG_SEEDS))
    compared, longest, every = (30, 60, 20) if plan.quick else (COMPARED, LONGEST, ASKED_EVERY)
    ours = _by_function(functools.partial(_podium, trials=compared, every=compared), seeds)
    theirs = _by_function(functools.partial(_optuna, checked=(compared,)), seeds)
    long = _by_function(functools.partial(_podium, trials=longest, every=every), long_seeds)
    podium, peer, targets, ratios = [], [], [], {}
    for name in FUNCTIONS:
        label = f"{name} after {compared:,}"
        podium.append(Figure(label, "regret", tuple(found.regrets[compared] for found in ours[name])))
        peer.append(Figure(label, "regret", tuple(found.regrets[compared] for found in theirs[name])))
        interval = _interval(podium[-1].samples, peer[-1].samples)
        ratios[label] = 1 / interval.mean
        aim = f"{label}: not shown to be worse than Optuna"
        targets.append(Target(aim, f"{interval} × its regret", interval.low <= 1))
        plan.say(f"{label}: {interval} × Optuna's regret")
    for name in FUNCTIONS:
        podium.append(Figure(f"{name} after {longest:,}", "regret", tuple(f.regrets[longest] for f in long[name])))
        equal = [same for found in long[name] for same in found.equal]
        share = Figure(f"{name}, proposals equal to Optuna's", "%", (100.0 * sum(equal) / len(equal),))
        podium.append(share)
        targets.append(at_least(share, EQUAL_SHARE))
        plan.say(f"{name}, {longest:,} trials: {sum(equal)} of {len(equal)} proposals equal to Optuna's")
    return [
        Row(
            16, f"TPE: regret over {len(seeds)} seeds; proposals over {len(long_seeds)} seeds of {longest:,} trials",
            podium, len(seeds), targets=targets, peer_name="Optuna's TPE, full history", peer=peer, ratios=ratios,
            notes=["ratio: Optuna's regret divided by Podium's, geometric mean over the seeds"],
        )
    ]  # fmt: skip


def _by_function(
    measure: Callable[[tuple[str, int]], _Result], seeds: Sequence[int], names: Sequence[str] = tuple(FUNCTIONS)
) -> dict[str, list[_Result]]:
    """The result of each function and seed, in processes of their own: the samplers replace each other globally."""
    cases = [(name, seed) for seed in seeds for name in names]
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        results = dict(zip(cases, pool.map(measure, cases), strict=True))
    return {name: [results[name, seed] for seed in seeds] for name in names}


def _podium(case: tuple[str, int], trials: int, every: int) -> Searched:
    return searched(FUNCTIONS[case[0]], case[1], trials, (trials,), asked_every=every)


def _optuna(case: tuple[str, int], checked: tuple[int, ...], start: int = 0) -> Searched:
    return searched(FUNCTIONS[case[0]], case[1], max(checked), checked, optuna_from=start)


def _bounded(case: tuple[str, int], checked: tuple[int, ...], limits: SearchLimits) -> Searched:
    return searched(FUNCTIONS[case[0]], case[1], max(checked), checked, limits=limits)


@contextmanager
def optunas_tpe() -> Iterator[None]:
    """Searches use Optuna's sampler."""

    def build(_: Study, seed: int) -> BaseSampler:
        return TPESampler(seed=seed)

    with mock.patch.object(Study, "build_tpe", build):
        yield


def searched(
    function: Function,
    seed: int,
    trials: int,
    checked: tuple[int, ...],
    *,
    asked_every: int | None = None,
    limits: SearchLimits = LIMITS,
    optuna_from: int | None = None,
) -> Searched:
    """A search of this number of trials; after every `asked_every` of them, its proposal is compared with Optuna's.

    From the trial `optuna_from` on, Optuna proposes.
    """
    threadpool_limits(1, user_api="blas")  # as in the scheduler
    spec = parse_spec(
        {
            "name": "search-quality",
            "method": "tpe",
            "seed": seed,
            "metric": {"name": "value", "goal": "minimize"},
            "parameters": dict(function.parameters),
            "run_cap": trials,
            "program": {"function": "trivial:objective"},
        }
    )
    search, found = Search(spec, limits=limits), Searched()
    noise = random.Random(seed)
    best, regret = math.inf, math.inf
    with ExitStack() as stack:
        for number in range(trials):
            if number == optuna_from:
                stack.enter_context(optunas_tpe())
                search = Search(spec, list(search.past_trials()))
            past = list(search.past_trials()) if asked_every and number and number % asked_every == 0 else None
            planned = search.ask()
            assert planned is not None
            if past is not None:
                with optunas_tpe():
                    other = Search(spec, past).ask()
                assert other is not None
                found.equal.append(_are_equal(planned.params, other.params))
            true = function.value(planned.params)
            observed = true + noise.gauss(0.0, function.noise)
            search.tell(number, TrialState.FINISHED, [observed])
            if observed < best:
                best, regret = observed, true - function.minimum
            if number + 1 in checked:
                found.regrets[number + 1] = max(regret, _LEAST)
    return found


def _are_equal(one: Params, other: Params) -> bool:
    return one.keys() == other.keys() and all(
        math.isclose(value, wanted, rel_tol=_RELATIVE)
        if isinstance(value, float) and isinstance(wanted, float)
        else value == wanted
        for value, wanted in ((one[name], other[name]) for name in one)
    )


@dataclass(frozen=True, slots=True)
class Interval:
    """The geometric mean of ratios with its 95 % confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3g} (95 % {self.low:.3g} to {self.high:.3g})"


def _interval(one: Sequence[float], other: Sequence[float]) -> Interval:
    """Of `one` divided by `other`, paired by seed; there must be at least two."""
    logs = [math.log(value / peer) for value, peer in zip(one, other, strict=True)]
    mean = statistics.fmean(logs)
    quantile = _T[max((known for known in _T if known < len(logs)), default=5)]
    half = quantile * statistics.stdev(logs) / math.sqrt(len(logs))
    return Interval(*(math.exp(each) for each in (mean, mean - half, mean + half)))


def main() -> None:
    """Compare TPE with Optuna's, or a smaller window of the history with a larger one."""
    parser = argparse.ArgumentParser(
        description="Compare TPE with Optuna's TPE, or a bounded history with the full history."
    )
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--trials", type=int, default=LONGEST)
    parser.add_argument("--functions", nargs="+", choices=tuple(FUNCTIONS), default=tuple(FUNCTIONS))
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--window", type=int, help="a bound of the history, compared with the full history")
    instead.add_argument("--every", type=int, help="the number of trials after which proposals are compared")
    parser.add_argument("--start", type=int, default=0, help="the first trial that Optuna proposes")
    given = parser.parse_args()
    if given.seeds < 2:
        parser.error("--seeds must be at least 2: the interval needs a variance")
    if given.every is not None and not 1 <= given.every < given.trials:
        parser.error("--every must be at least 1, and less than --trials")
    if given.every is not None:
        measure = functools.partial(_podium, trials=given.trials, every=given.every)
        for name, found in _by_function(measure, range(given.seeds), given.functions).items():
            equal = [same for each in found for same in each.equal]
            print(f"{name}: {sum(equal)} of {len(equal)} proposals equal, {given.seeds} seeds", flush=True)
        return
    checked = tuple(sorted({min(COMPARED, given.trials), given.trials}))
    if given.window is None:
        labels = ("Podium", "Optuna")
        pair = (
            functools.partial(_bounded, checked=checked, limits=LIMITS),
            functools.partial(_optuna, checked=checked, start=given.start),
        )
    else:
        labels = ("window", "full")
        pair = (
            functools.partial(_bounded, checked=checked, limits=SearchLimits(tpe_window=given.window)),
            functools.partial(_bounded, checked=checked, limits=SearchLimits(tpe_window=10**9)),
        )
    for name in given.functions:
        ours, theirs = (_by_function(measure, range(given.seeds), [name])[name] for measure in pair)
        for count in checked:
            one, other = ([each.regrets[count] for each in found] for found in (ours, theirs))
            medians = f"{labels[0]} {statistics.median(one):.3g}, {labels[1]} {statistics.median(other):.3g}"
            same = sum(math.isclose(a, b, rel_tol=_RELATIVE) for a, b in zip(one, other, strict=True))
            shown = f"{medians}; ratio {_interval(one, other)}; equal with {same} of {given.seeds} seeds"
            print(f"{name} after {count:,}: {shown}", flush=True)


if __name__ == "__main__":
    main()
