"""Row 3: the cost of proposing, pruning and storing a trial, without running it, compared with Optuna on SQLite.

Measured: 200 trials of three float parameters, each asked, reported at five steps and told, one after the other, in one
process; median over several fresh databases, Podium and Optuna in turn.

Podium: `Search` and `DatabaseRecorder` with the changes of the scheduler in its batches: planned one trial ahead;
started with the first report, then each report separately, as when a pruner waits for each; ended together with the
placement of the next trial. Optuna: its RDB storage with SQLite as `create_study(storage="sqlite:///...")` opens it,
`ask` with the distributions, `report`, `tell`.

Podium's transactions of planned, placed and ended trials wait for the disk, as Optuna's do (SQLite's default is a
rollback journal and `synchronous=FULL`); transactions of reports alone do not. Podium writes more: attempts, devices
and the event stream. It keeps the study in memory, which makes it faster: the database is written but not read. Podium
calls `should_prune` on each report; Optuna's side omits it. Steps that could run in parallel (Podium searches in a
thread) do not do so here. Not measured: several processes on one study, large studies.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import optuna

from benchmarks.databases import Databases, SqliteFiles, optuna_storage
from benchmarks.results import Figure, Row, ratio, times_less
from benchmarks.run_settings import Plan
from podium.db.schema.open_database import open_database
from podium.db.stores import sweeps
from podium.sweep.lifecycle.database_changes import (
    AttemptEnded,
    AttemptPlaced,
    AttemptStarted,
    Change,
    MetricPoint,
    TrialPlanned,
)
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.search.sweep_search import Search
from podium.sweep.spec.sweep_spec import SweepSpec, parse_spec
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.search_messages import TrialPlan
from podium.sweep.values.slot_events import Ended, Started
from podium.sweep.values.states import TrialState

TRIALS = 200
REPORTS = 5
AIM = 5.0
METHODS = ("tpe", "random")


@dataclass(frozen=True, slots=True)
class Storing:
    """How long the trials of one search took; `ends_ms`: the time to store the end of each."""

    trial_ms: float
    ends_ms: tuple[float, ...]


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 3."""
    trials = 10 if plan.quick else TRIALS
    podium: dict[str, list[float]] = {method: [] for method in METHODS}
    peer: dict[str, list[float]] = {method: [] for method in METHODS}
    for seed in range(plan.repetitions):
        for method in METHODS:
            with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
                podium[method].append(of_podium(Path(folder), SqliteFiles(), method, trials, seed).trial_ms)
                peer[method].append(of_optuna(Path(folder), SqliteFiles(), method, trials, seed).trial_ms)
            plan.say(f"{method}: Podium {podium[method][-1]:.2f} ms a trial, Optuna {peer[method][-1]:.2f}")
    ours = [Figure(f"{method}, a trial", "ms", tuple(podium[method])) for method in METHODS]
    theirs = [Figure(f"{method}, a trial", "ms", tuple(peer[method])) for method in METHODS]
    pairs = list(zip(ours, theirs, strict=True))
    return [
        Row(
            3, f"search and storage only: {trials} trials, {REPORTS} reports each, on SQLite", ours, plan.repetitions,
            targets=[times_less(one, other, AIM) for one, other in pairs],
            peer_name="Optuna, RDB storage", peer=theirs,
            ratios={one.name: ratio(one, other) for one, other in pairs},
        )
    ]  # fmt: skip


def of_podium(folder: Path, databases: Databases, method: str, trials: int, seed: int) -> Storing:
    """Measure Podium."""
    database = open_database(databases.podium(folder))
    spec = _spec(method, trials, seed)
    with database.write() as connection:
        sweep_id, _ = sweeps.accept(connection, spec, time.time())
    recorder, search = DatabaseRecorder(database), Search(spec)
    began = time.perf_counter()
    ends_ms = _drive(search, recorder, sweep_id, trials)
    took_s = time.perf_counter() - began
    database.close()
    return Storing(1e3 * took_s / trials, ends_ms)


def _drive(search: Search, recorder: DatabaseRecorder, sweep_id: int, trials: int) -> tuple[float, ...]:
    """All trials one after the other, in the batches of `podium.sweep.scheduling.scheduler`.

    Returns the milliseconds of each commit of an end and of the next placement.
    """
    ends_ms: list[float] = []

    def plan_next() -> TrialPlan:
        planned = search.ask()
        assert planned is not None
        number = planned.number
        recorder.commit(
            [TrialPlanned(number + 1, sweep_id, number, planned.params, planned.sampler, {}, time.time())]
        )  # fmt: skip
        return planned

    def placed(planned: TrialPlan) -> AttemptPlaced:
        key = AttemptKey(planned.number + 1, 1)
        return AttemptPlaced(key, sweep_id, planned.number, "cpu-0", "node", time.time(), "00000001")

    current = plan_next()
    recorder.commit([placed(current)])
    for number in range(trials):
        following = plan_next() if number + 1 < trials else None
        key, value = AttemptKey(number + 1, 1), _value(current)
        changes: list[Change] = [AttemptStarted(Started(key, 4321, time.time(), "", "cpu"))]
        for step in range(REPORTS):
            changes.append(MetricPoint(key, "score", step, value / (step + 1), time.time()))
            recorder.commit(changes)
            search.report(number, step, value / (step + 1))
            changes = []
        search.tell(number, TrialState.FINISHED, [value])
        now = time.time()
        ended = Ended(key, TrialState.FINISHED, now, now, value=value, exit="0", pid=4321)
        changes = [AttemptEnded(ended, sweep_id, number, TrialState.FINISHED)]
        if following is not None:
            changes.append(placed(following))
            current = following
        began = time.perf_counter()
        recorder.commit(changes)
        ends_ms.append(1e3 * (time.perf_counter() - began))
    return tuple(ends_ms)


def _value(planned: TrialPlan) -> float:
    return sum(float(value or 0.0) ** 2 for value in planned.params.values())


def _spec(method: str, trials: int, seed: int) -> SweepSpec:
    return parse_spec(
        {
            "name": "search-and-storage",
            "method": method,
            "seed": seed,
            "metric": {"name": "score", "goal": "minimize"},
            "parameters": {name: {"min": -1.0, "max": 1.0} for name in "xyz"},
            "run_cap": trials,
            "program": {"function": "trivial:objective"},
        }
    )


def of_optuna(folder: Path, databases: Databases, method: str, trials: int, seed: int) -> Storing:
    """Measure Optuna; the end of a trial is `tell`."""
    sampler: optuna.samplers.BaseSampler = (
        optuna.samplers.TPESampler(seed=seed) if method == "tpe" else optuna.samplers.RandomSampler(seed=seed)
    )
    space: dict[str, optuna.distributions.BaseDistribution] = {
        name: optuna.distributions.FloatDistribution(-1.0, 1.0) for name in "xyz"
    }
    ends_ms: list[float] = []
    with optuna_storage(databases.optuna(folder)) as storage:
        study = optuna.create_study(storage=storage, sampler=sampler)
        began = time.perf_counter()
        for _ in range(trials):
            trial = study.ask(space)
            value = sum(number**2 for number in trial.params.values())
            for step in range(REPORTS):
                trial.report(value / (step + 1), step)
            ended = time.perf_counter()
            study.tell(trial, value)
            ends_ms.append(1e3 * (time.perf_counter() - ended))
        took_s = time.perf_counter() - began
    return Storing(1e3 * took_s / trials, tuple(ends_ms))
