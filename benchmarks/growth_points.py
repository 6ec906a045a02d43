"""Growth with the number of metric points: rate of ingest, size of the database, and reads, up to ten million."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.growth_series import Series
from benchmarks.growth_trials import size_mb
from benchmarks.run_settings import Plan
from podium.db.queries import learning_curves
from podium.db.queries.trial_filter import filter_condition
from podium.db.schema.database import Database
from podium.db.schema.migrate import migrate
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.stores import metric_summaries, metrics, sweeps
from podium.sweep.lifecycle.database_changes import MetricPoint, TrialPlanned
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.attempt_assignment import AttemptKey

POINTS = (100_000, 1_000_000, 10_000_000)
TRIALS = 1_000
BATCH = 1_000  # points in a transaction
READS = 20
_SPEC: dict[str, Any] = {
    "name": "points",
    "method": "random",
    "metric": {"name": "loss", "goal": "minimize"},
    "parameters": {"x": {"min": 0.0, "max": 1.0}},
    "run_cap": TRIALS,
    "program": {"function": "train:objective"},
}


def run(plan: Plan) -> list[Series]:
    """Points of 1,000 trials in turn through the recorder, as a scheduler commits them."""
    counts = plan.sizes((1_000, 10_000), POINTS)
    found: dict[tuple[str, str], dict[int, float]] = {}
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        path = DataDirectory(Path(folder)).database
        migrate(path)
        database = SqliteDatabase(path)
        recorder, written = _prepare(database), 0
        for count in counts:
            began, used = time.perf_counter(), time.process_time()
            _write(recorder, range(written, count))
            took_s, used_s = time.perf_counter() - began, time.process_time() - used
            figures = {
                ("stored", "points/s"): (count - written) / took_s,
                ("processor time of the last points, each", "us"): 1e6 * used_s / (count - written),
                ("database", "MB"): size_mb(path),
                **{(name, "ms"): _read_ms(database, read) for name, read in READERS.items()},
            }
            written = count
            for key, value in figures.items():
                found.setdefault(key, {})[count] = value
            shown = (f"{name} {value:.3g} {unit}" for (name, unit), value in figures.items())
            plan.say(f"{count:,} points: {', '.join(shown)}")
        database.close()
    return [
        Series(name, unit, "points", values, each=name.startswith("processor"), grows=name != "stored")
        for (name, unit), values in found.items()
    ]


def _prepare(database: Database) -> DatabaseRecorder:
    with database.write() as connection:
        sweep_id, _ = sweeps.accept(connection, parse_spec(_SPEC), time.time())
    recorder = DatabaseRecorder(database)
    now = time.time()
    recorder.commit([TrialPlanned(n + 1, sweep_id, n, {"x": 0.5}, "random", {}, now) for n in range(TRIALS)])
    return recorder


def _write(recorder: DatabaseRecorder, numbers: range) -> None:
    for first in range(numbers.start, numbers.stop, BATCH):
        at = time.time()
        recorder.commit(
            [
                MetricPoint(AttemptKey(1 + n % TRIALS, 1), "loss", n // TRIALS, 1 / (n + 1), at)
                for n in range(first, min(first + BATCH, numbers.stop))
            ]
        )


def _curve(database: Database) -> None:
    """As `GET /trials/ID/metrics`."""
    with database.read() as connection:
        metrics.of_trial(connection, 1 + TRIALS // 2, None, 2_000)


def _curves(database: Database) -> None:
    """As `GET /sweeps/ID/curves`."""
    with database.read() as connection:
        sweep = sweeps.get(connection, 1)
        learning_curves.curves(
            connection, sweep, filter_condition(connection, None, sweep), None, max_points=400, limit=50
        )


def _latest(database: Database) -> None:
    """The last points of 200 trials, as the page of a running sweep shows them."""
    with database.read() as connection:
        metric_summaries.latest(connection, range(1, 201))


READERS: dict[str, Callable[[Database], None]] = {
    "read of one curve": _curve,
    "read of 50 curves": _curves,
    "read of the last points of 200 trials": _latest,
}


def _read_ms(database: Database, read: Callable[[Database], None]) -> float:
    """Median, without the first."""
    took = []
    for _ in range(READS + 1):
        began = time.perf_counter()
        read(database)
        took.append(1e3 * (time.perf_counter() - began))
    return sorted(took[1:])[READS // 2]
