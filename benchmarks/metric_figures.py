"""Time and size of requests for figures of metrics, and the cost of writing: `python -m benchmarks.metric_figures`.

A sweep of 10,000 trials with 200 metrics. Requests are those of table and charts, as queries and JSON in this
process, without HTTP; medians of seven. Writing is processor time of `DatabaseRecorder.commit`: `--write` alone can be
compared with an earlier commit of the repository.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import generated_sweep
from podium.api.rest.schemas.plain_value_response import json_response
from podium.db.queries import chart_points, trial_table
from podium.db.queries.chart_points import Part
from podium.db.queries.metric_column_expressions import parse_figures
from podium.db.queries.trial_filter import filter_condition
from podium.db.queries.trial_table import Window
from podium.db.schema.database import Database
from podium.db.schema.migrate import migrate
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.stores import sweeps
from podium.sweep.lifecycle.database_changes import MetricPoint, TrialPlanned
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.attempt_assignment import AttemptKey

TRIALS, METRICS = 10_000, 200
REPETITIONS = 7
DIGITS = 5  # that the dashboard requests
WRITE_S = 3.0  # of processor time
NAMES = [f"group{number % 10}/layer_{number:03d}.norm" for number in range(METRICS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="only the cost of writing")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        write_costs(Path(folder))
        if not arguments.write:
            read_costs(Path(folder) / "read.sqlite3")


def read_costs(path: Path) -> None:
    """Print the time and size of each request."""
    migrate(path)
    database = SqliteDatabase(path)
    sweep_id = generated_sweep.fill(database, TRIALS)
    generated_sweep.fill_summaries(database, sweep_id, TRIALS, NAMES)

    def table(metrics: Sequence[str] = (), limit: int = 100, **window: object) -> bytes:
        with database.read() as connection:
            wanted = Window(limit=limit, metrics=metrics, **window)  # type: ignore[arg-type]
            return bytes(json_response(asdict(trial_table.window(connection, sweep_id, wanted))).body)

    def points(part: Part, *metrics: str) -> bytes:
        with database.read() as connection:
            sweep = sweeps.without_counts(connection, sweep_id)
            where = filter_condition(connection, None, sweep)
            found = chart_points.points(
                connection, sweep, where, TRIALS, figures=parse_figures(metrics), parts=frozenset({part}), digits=DIGITS
            )
            return bytes(json_response({"columns": found.columns}).body)

    one, two, three = (NAMES[number] for number in (137, 3, 50))
    requests: dict[str, Callable[[], bytes]] = {
        "table, no metric": table,
        "table, sorted by a metric": lambda: table([f"min({one})"], sort=f"-min({one})"),
        "table, filtered by a metric": lambda: table([f"min({one})"], filter=f"min({one})<0.1"),
        "table, two filters and a sort": lambda: table(
            [f"min({one})"], filter=f"min({one})<0.5 last({two})>0.5", sort=f"max({three})"
        ),
        "table, 20 metrics": lambda: table([f"last({name})" for name in NAMES[:20]]),
        "table, 200 metrics, 25 rows": lambda: table([f"last({name})" for name in NAMES], limit=25),
        "charts, trials": lambda: points(Part.TRIALS),
        "charts, 8 parameters": lambda: points(Part.PARAMETERS),
        "charts, 3 metrics": lambda: points(Part.METRICS, f"min({one})", f"last({two})", f"max({three})"),
    }
    for name, request in requests.items():
        size, times = len(request()), []
        for _ in range(REPETITIONS):
            began = time.perf_counter()
            body = request()
            times.append((time.perf_counter() - began) * 1_000)
        print(
            f"{name:32} {statistics.median(times):7.1f} ms {size / 1_000:8.1f} kB, "
            f"{len(gzip.compress(body, 1)) / 1_000:.1f} kB compressed"
        )
    database.close()


def write_costs(folder: Path) -> None:
    """Print the points that the recorder writes in a second of processor time."""
    trials = 100
    batches: dict[str, Callable[[int], list[MetricPoint]]] = {
        "100 trials, 2 points each": lambda turn: [
            MetricPoint(AttemptKey(1 + number % trials, 1), "loss", number // trials, 1 / (number + 1), 1.0)
            for number in range(turn * METRICS, (turn + 1) * METRICS)
        ],
        "a step of 200 metrics": lambda turn: [
            MetricPoint(AttemptKey(1 + turn % 16, 1), name, turn // 16, turn + 0.5, 1.0) for name in NAMES
        ],
        "200 steps of a metric": lambda turn: [
            MetricPoint(AttemptKey(1, 1), "loss", step, 1 / (step + 1), 1.0)
            for step in range(turn * METRICS, (turn + 1) * METRICS)
        ],
    }
    for position, (name, batch) in enumerate(batches.items()):
        recorder, database = _recorder(folder / f"write{position}.sqlite3", trials)
        began, turn = time.process_time(), 0
        while time.process_time() - began < WRITE_S:
            recorder.commit(batch(turn))
            turn += 1
        print(f"{name:32} {turn * METRICS / (time.process_time() - began):9,.0f} points/s")
        database.close()


def _recorder(path: Path, trials: int) -> tuple[DatabaseRecorder, Database]:
    migrate(path)
    database = SqliteDatabase(path)
    document = {
        "name": "write", "method": "random", "metric": {"name": "loss", "goal": "minimize"}, "run_cap": trials,
        "parameters": {"x": {"min": 0, "max": 1}}, "program": {"function": "train:objective"},
    }  # fmt: skip
    with database.write() as connection:
        sweeps.accept(connection, parse_spec(document), 1.0)
    recorder = DatabaseRecorder(database)
    recorder.commit([TrialPlanned(number + 1, 1, number, {"x": 0.5}, "random", {}, 1.0) for number in range(trials)])
    return recorder, database


if __name__ == "__main__":
    main()
