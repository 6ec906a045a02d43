"""Row 10: metric points stored per second with concurrent readers, compared with `trial.report` of Optuna.

Both use the same kind of database: SQLite, and PostgreSQL in row 22.

Measured in turn, each for the same number of seconds on fresh databases with the same number of trials and four
concurrent readers:

- Podium's recorder alone: `DatabaseRecorder` in this process, with the points of all trials in the batches that a
  scheduler with 16 busy slots commits; transactions of points do not wait for the disk. Over HTTP and without a pause,
  two connections request the curve of one trial and two a page of trials from the real API in its own process,
  including authentication, SQL and JSON.
- Optuna: one process calls `trial.report` for one trial after the other, on its RDB storage with SQLite as
  `create_study(storage="sqlite:///...")` opens it: each call is a transaction that waits for the disk. Four threads of
  another process call `get_trial` (two) and read all trials of the study (two), each with a study of `load_study`: this
  is what optuna-dashboard does, without HTTP.
- Podium's whole path: a real service on two CPU slots whose trials only log, four metrics per step, 1,000 steps each,
  and the same readers; the stored rows are counted at the end. The time is from the first placement to the end and
  includes forks, sockets, slots, Ray, scheduler and database, all on this machine. The readers run in rounds of a
  second, so some of their reads are just before or after.

The ratio compares the recorder with Optuna: storage with storage, batches with single calls, since Optuna has no call
for several points. Podium's table grows larger since it is faster; its curves are thinned to 2,000 points. Not
measured: several schedulers (there is one), a database larger than memory, power failures: Podium may lose the last
points in one, Optuna does not.
"""

from __future__ import annotations

import multiprocessing
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import uvicorn
from sqlalchemy import func, select

from benchmarks import load
from benchmarks.databases import Databases, SqliteFiles, optuna_storage
from benchmarks.results import Figure, Row, at_least, at_most, more, times_more
from benchmarks.run_settings import Plan
from benchmarks.service import document, timed_sweep
from podium.api.client.service_for_command import service
from podium.api.rest.app import create_app
from podium.db.access import tokens
from podium.db.access.tokens import Role
from podium.db.schema.database import Database
from podium.db.schema.open_database import open_database
from podium.db.schema.tables import metrics
from podium.db.stores import sweeps
from podium.sweep.lifecycle.database_changes import MetricPoint, TrialPlanned
from podium.sweep.runtime.garbage_collection import collect_rarely
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.attempt_assignment import AttemptKey

TRIALS = 100
SECONDS = 10.0
STEPS = 1_000  # steps of each trial that logs through the whole path, four points each: few enough that none is thinned
BATCH = 200
WARM_S = 0.5  # readers start before the first point
AIM = 50.0
READS_MS = 100.0
WHOLE_PATH_READS_MS = 60.0
STORED = 2_000.0
TOKEN = "benchmark-" + "0" * 40


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of one run."""

    points_a_second: float
    reads_ms: tuple[float, ...]

    def quantile_ms(self, share: float) -> float:
        return float(np.quantile(self.reads_ms, share))


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 10."""
    alone, whole, peer = measured(plan, SqliteFiles())
    return [
        Row(
            10, f"points stored in a second while four readers ask, {trials_of(plan)} trials", [*alone, *whole],
            repetitions_of(plan),
            targets=[
                times_more(alone[0], peer[0], AIM), at_least(whole[0], STORED),
                at_most(alone[2], READS_MS), at_most(whole[2], WHOLE_PATH_READS_MS),
            ],
            peer_name="Optuna, RDB storage", peer=peer,
            ratios={alone[0].name: more(alone[0], peer[0])},
            notes=("the whole path shares its cores with the trials and the readers",),
        )
    ]  # fmt: skip


def trials_of(plan: Plan) -> int:
    """The number of trials."""
    return 5 if plan.quick else TRIALS


def seconds_of(plan: Plan) -> float:
    """How long points are stored."""
    return 1.0 if plan.quick else SECONDS


def repetitions_of(plan: Plan) -> int:
    """How often each is measured."""
    return min(3, plan.repetitions)


def measured(plan: Plan, databases: Databases) -> tuple[list[Figure], list[Figure], list[Figure]]:
    """The figures of the recorder alone, of the whole path and of Optuna, measured in turn."""
    trials, seconds, steps = trials_of(plan), seconds_of(plan), 200 if plan.quick else STEPS
    measures: dict[str, Callable[[Path], Measurement]] = {
        "recorder": lambda folder: of_recorder(databases.podium(folder), trials, seconds),
        "Optuna": lambda folder: of_optuna(databases.optuna(folder), trials, seconds),
        "whole path": lambda folder: of_service(databases.podium(folder / "data"), trials, steps),
    }
    found: dict[str, list[Measurement]] = {name: [] for name in measures}
    for _ in range(repetitions_of(plan)):
        for name, measure in measures.items():
            with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
                one = measure(Path(folder))
            found[name].append(one)
            plan.say(f"{name}: {one.points_a_second:,.0f} points/s, reads p99 {one.quantile_ms(0.99):.1f} ms")
    alone, whole = (_figures(name, found[name]) for name in ("recorder", "whole path"))
    return alone, whole, _figures("report", found["Optuna"])


def _figures(name: str, found: list[Measurement]) -> list[Figure]:
    return [
        Figure(f"{name}, stored", "points/s", tuple(one.points_a_second for one in found)),
        *(
            Figure(f"{name}, reads p{share * 100:.0f}", "ms", tuple(one.quantile_ms(share) for one in found))
            for share in (0.5, 0.99)
        ),
    ]


# Podium.


def of_recorder(settings: ServiceSettings, trials: int, seconds: float, *, readers: bool = True) -> Measurement:
    """Measure the recorder in this process; with readers, the API is in another."""
    database, recorder = _filled(settings, trials)
    try:
        if not readers:
            return Measurement(_record(recorder, trials, seconds), ())
        with _api(settings):
            reading = _readers(settings.port, TOKEN, 1, 1, WARM_S + seconds)
            time.sleep(WARM_S)
            return Measurement(_record(recorder, trials, seconds), _reads(reading))
    finally:
        database.close()


def _record(recorder: DatabaseRecorder, trials: int, seconds: float) -> float:
    """Commit batches of points for some seconds; returns points per second."""
    points, step, began = 0, 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        at, chosen = time.time(), range(step * BATCH, (step + 1) * BATCH)
        recorder.commit(
            [MetricPoint(AttemptKey(1 + n % trials, 1), "loss", n // trials, 1 / (n + 1), at) for n in chosen]
        )
        points, step = points + BATCH, step + 1
    return points / (time.perf_counter() - began)


def _filled(settings: ServiceSettings, trials: int) -> tuple[Database, DatabaseRecorder]:
    database = open_database(settings)
    spec = parse_spec(document("logging_curves:objective", {"x": {"min": 0.0, "max": 1.0}}, trials)
                      | {"program": {"function": "logging_curves:objective"}})  # fmt: skip
    with database.write() as connection:
        tokens.add(connection, "benchmark", Role.ADMIN, TOKEN, time.time())
        sweep_id, _ = sweeps.accept(connection, spec, time.time())
    recorder = DatabaseRecorder(database)
    now = time.time()
    recorder.commit([TrialPlanned(n + 1, sweep_id, n, {"x": 0.5}, "random", {}, now) for n in range(trials)])
    return database, recorder


@contextmanager
def _api(settings: ServiceSettings) -> Iterator[None]:
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(settings,), daemon=True)
    process.start()
    try:
        _wait_for(settings.port)
        yield
    finally:
        process.terminate()
        process.join()


def _serve(settings: ServiceSettings) -> None:
    """In a process of its own."""
    app = create_app(settings, open_database(settings))
    collect_rarely()
    uvicorn.run(app, host=settings.host, port=settings.port, log_level="error", access_log=False)


def of_service(settings: ServiceSettings, trials: int, steps: int) -> Measurement:
    """Measure a real service with two slots, and trials that log one after the other."""
    data = settings.data
    space = {"steps": {"value": steps}, "x": {"min": 0.0, "max": 1.0}}
    sweep = document("logging_curves:objective", space, trials)
    times: list[Any] = []
    with service(data.root, "cpu:2", own=True) as client:
        token = data.admin_token.read_text().strip()
        thread = threading.Thread(target=lambda: times.append(timed_sweep(client, sweep)))
        thread.start()
        heard: list[float] = []
        port = int(client.url.rsplit(":", 1)[1])
        while not heard or thread.is_alive():  # 404 until the sweep exists
            heard += _reads(_readers(port, token, 1, 1, 1.0))
        thread.join()
    if not times:
        raise RuntimeError("the sweep that logs has failed; see above")
    return Measurement(_stored(settings) / times[0].inside_s, tuple(heard))


def _stored(settings: ServiceSettings) -> int:
    """The number of stored points."""
    database = open_database(settings)
    with database.read() as connection:
        stored: int = connection.execute(select(func.count()).select_from(metrics)).scalar_one()
    database.close()
    return stored


def _readers(port: int, token: str, sweep_id: int, trial_id: int, seconds: float) -> list[load.LoadProcess]:
    """Two readers of a curve and two of a page of trials."""
    paths = (f"/api/v1/trials/{trial_id}/metrics", f"/api/v1/sweeps/{sweep_id}/trials")
    head = f"HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    return [load.start(port, f"GET {path} {head}".encode(), 2, seconds) for path in paths]


def _reads(readers: list[load.LoadProcess]) -> tuple[float, ...]:
    answers = [answer for reader in readers for answer in reader.wait().answers]
    if bad := [answer.status for answer in answers if answer.status not in (200, 404)]:
        raise RuntimeError(f"{len(bad)} of {len(answers)} reads failed, with HTTP status {sorted(set(bad))}")
    return tuple(answer.took_ms for answer in answers if answer.status == 200)


def _wait_for(port: int) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the API process does not listen")


# Optuna.


def of_optuna(url: str, trials: int, seconds: float, *, readers: bool = True) -> Measurement:
    """Measure `report` in this process; readers are in another."""
    space: dict[str, optuna.distributions.BaseDistribution] = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    with optuna_storage(url) as storage:
        study = optuna.create_study(storage=storage, study_name="s", sampler=optuna.samplers.RandomSampler(seed=0))
        running = [study.ask(space) for _ in range(trials)]
        if not readers:
            return Measurement(_report(running, seconds), ())
        context = multiprocessing.get_context("spawn")
        heard, ready = context.Queue(), context.Event()
        process = context.Process(target=_read_optuna, args=(url, WARM_S + seconds, heard, ready), daemon=True)
        process.start()
        if not ready.wait(60):
            raise RuntimeError("the process that reads Optuna's storage does not start")
        time.sleep(WARM_S)
        points_a_second = _report(running, seconds)
    reads_ms = tuple(heard.get(timeout=60))
    process.join()
    return Measurement(points_a_second, reads_ms)


def _report(running: list[optuna.Trial], seconds: float) -> float:
    """Report points of one trial after the other for some seconds; returns points per second."""
    points, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        running[points % len(running)].report(1 / (points + 1), points // len(running))
        points += 1
    return points / (time.perf_counter() - began)


def _read_optuna(url: str, seconds: float, heard: Any, ready: Any) -> None:
    """In a process of its own."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    took_ms: list[float] = []
    storage = optuna.storages.get_storage(url)
    study = optuna.load_study(study_name="s", storage=storage)
    first = storage.get_trial_id_from_study_id_trial_number(storage.get_study_id_from_name("s"), 0)
    ready.set()
    end = time.perf_counter() + seconds

    def read(ask: Callable[[], object]) -> None:
        while (began := time.perf_counter()) < end:
            ask()
            took_ms.append(1e3 * (time.perf_counter() - began))

    asks: tuple[Callable[[], object], ...] = (
        lambda: storage.get_trial(first), lambda: study.get_trials(deepcopy=False),
    )  # fmt: skip
    threads = [threading.Thread(target=read, args=(ask,)) for ask in (*asks, *asks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    heard.put(took_ms)
