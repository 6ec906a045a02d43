"""Row 11: start times: the help, the service, a killed component, and all of it with many trials.

Measured from the start of a process to the response: `podium --help` (median of ten); `podium serve` on an empty data
directory until `/readyz` returns 200 (from exec). Then with 10,000 finished trials with five reports each, in a sweep
that still runs on two CPU slots, so that the scheduler has to rebuild its search and reconnect to its slots: kill -9 of
the api and of the scheduler, each until `/readyz` returns 200 with a new process; and a complete stop (SIGTERM to exit)
and start. `/readyz` is polled every 10 ms. After the first run, files are in the page cache.

Not measured: a cold disk, the boot of a machine, GPUs, the time until the first trial starts.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.results import Figure, Row, at_most
from benchmarks.run_settings import Plan
from benchmarks.service import document
from podium.api.client.client import Client
from podium.api.serve.ports import free_port
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.sweep.lifecycle.database_changes import (
    AttemptEnded,
    AttemptPlaced,
    AttemptStarted,
    Change,
    MetricPoint,
    TrialPlanned,
)
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.values.attempt_assignment import AttemptKey, Params
from podium.sweep.values.slot_events import Ended, Started
from podium.sweep.values.states import TrialState

TRIALS = 10_000
REPORTS = 5
HELP_RUNS = 10
POLL_S = 0.01
TIMEOUT_S = 120.0
PARTS = ("api", "scheduler")
_BEGAN = time.time() - 3600.0  # the fictitious times of trials that were not run, one after the other
_EACH_S = 0.01


@dataclass(slots=True)
class Service:
    """`podium serve`, started here on a data directory and port."""

    data_dir: Path
    port: int
    slots: int = 2
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Seconds from exec to ready."""
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [
                sys.executable, "-P", "-m", "podium.api.cli.app", "serve", "--data-dir", str(self.data_dir),
                "--devices", f"cpu:{self.slots}", "--port", str(self.port), "--gateway-port", "0",
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "PODIUM_PARENT": str(os.getpid())},
        )  # fmt: skip
        self._until(lambda parts: True)
        return time.perf_counter() - began

    def stop(self) -> float:
        """Seconds from SIGTERM to exit."""
        assert self.process is not None
        began = time.perf_counter()
        self.process.terminate()
        self.process.wait(TIMEOUT_S)
        return time.perf_counter() - began

    def kill(self, name: str) -> float:
        """Seconds from the kill -9 of a component until the service is ready with a new process."""
        pid = self.pids()[name]
        began = time.perf_counter()
        os.kill(pid, signal.SIGKILL)
        self._until(lambda parts: parts[name] != pid)
        return time.perf_counter() - began

    def pids(self) -> dict[str, int]:
        return self._until(lambda parts: True)

    def _until(self, condition: Any) -> dict[str, int]:
        """The components and their process ids, as soon as all are ready and `condition` holds."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            parts = self._ready()
            if parts is not None and condition(parts):
                return parts
            if self.process is not None and self.process.poll() is not None:
                raise RuntimeError(f"the service ended with status {self.process.returncode}")
            time.sleep(POLL_S)
        raise RuntimeError(f"the service is not ready after {TIMEOUT_S:g} s; its logs are in {self.data_dir / 'logs'}")

    def _ready(self) -> dict[str, int] | None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        with suppress(OSError, http.client.HTTPException, ValueError):
            token = (self.data_dir / "admin.token").read_text().strip()
            connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            body = json.loads(answer.read())
            if answer.status == 200:
                return {part["name"]: part["pid"] for part in body["parts"]}
        connection.close()
        return None


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 11."""
    trials, repetitions = (100, 1) if plan.quick else (TRIALS, min(3, plan.repetitions))
    helps = Figure("podium --help", "ms", tuple(1e3 * help_s() for _ in range(2 if plan.quick else HELP_RUNS)))
    plan.say(str(helps))
    rounds = [one_round(trials, plan) for _ in range(repetitions)]
    first, whole, stop = (
        Figure(name, "s", tuple(float(found[key]) for found in rounds))
        for name, key in (
            ("serve to ready, empty", "first"),
            (f"stop and start, {trials:,} trials", "whole"),
            ("of it the stop", "stop"),
        )
    )
    parts = [Figure(f"{name} killed, {trials:,} trials", "s", tuple(found[name] for found in rounds)) for name in PARTS]
    return [
        Row(
            11, f"start: help, service, a killed part, all with {trials:,} trials in the database",
            [helps, first, *parts, whole, stop], repetitions,
            targets=[
                at_most(helps, 200), at_most(first, 10), *(at_most(part, 5) for part in parts), at_most(whole, 12),
            ],
            notes=(f"podium --help: {len(helps.samples)} times",),
        )
    ]  # fmt: skip


def help_s() -> float:
    """Seconds that `podium --help` takes, through the installed script."""
    script = shutil.which("podium", path=str(Path(sys.executable).parent)) or "podium"
    began = time.perf_counter()
    subprocess.run([script, "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def one_round(trials: int, plan: Plan) -> dict[str, float]:
    """One complete measurement of a service, on its own data directory."""
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        service = Service(Path(folder) / "data", free_port())
        try:
            found = {"first": service.start()}
            sweep_id = _submit_endless(service.data_dir, 2 * trials)
            service.stop()
            fill(service.data_dir, sweep_id, trials)
            service.start()
            _wait_for_running(service.data_dir, sweep_id)
            for name in PARTS:
                found[name] = service.kill(name)
            found["stop"] = service.stop()
            found["whole"] = found["stop"] + service.start()
        finally:
            if service.process is not None and service.process.poll() is None:
                service.stop()
    plan.say(", ".join(f"{name} {took_s:.2f} s" for name, took_s in found.items()))
    return found


def _submit_endless(data_dir: Path, run_cap: int) -> int:
    """Submit a sweep whose trials occupy their slots during the whole measurement."""
    parameters = {"seconds": {"value": 3600.0}, **{name: {"min": -1.0, "max": 1.0} for name in "xyz"}}
    with Client.of(data_dir) as client:
        sweep_id: int = client.submit(document("sleeping:objective", parameters, run_cap))["id"]
    _wait_for_running(data_dir, sweep_id)
    return sweep_id


def _wait_for_running(data_dir: Path, sweep_id: int) -> None:
    end = time.monotonic() + TIMEOUT_S
    with Client.of(data_dir) as client:
        while client.sweep(sweep_id)["counts"].get("running", 0) < 2:
            if time.monotonic() > end:
                raise RuntimeError("the trials of the endless sweep did not start")
            time.sleep(0.1)


def fill(data_dir: Path, sweep_id: int, trials: int) -> None:
    """Add finished trials to a sweep through the recorder, as if a scheduler had run them."""
    database = SqliteDatabase(DataDirectory(data_dir).database)
    recorder = DatabaseRecorder(database)
    last = recorder.last_trial_id()
    (stored,) = recorder.open_sweeps(frozenset())
    first_number = max((trial.number for trial in stored.trials), default=-1) + 1
    batch = 500
    for begin in range(0, trials, batch):
        offsets = range(begin, min(begin + batch, trials))
        changes: list[Change] = []
        for kinds in ((_PLANNED,), (_PLACED, _ENDED), (_STARTED,), (_MEASURED,)):  # they ran one after the other
            for offset in offsets:
                for kind in kinds:
                    changes += _changes(kind, last + 1 + offset, sweep_id, first_number + offset)
        recorder.commit(changes)
    database.close()


_PLANNED, _PLACED, _STARTED, _MEASURED, _ENDED = range(5)


def _changes(kind: int, trial_id: int, sweep_id: int, number: int) -> list[Change]:
    """One kind of change of each trial: grouped by kind, thousands of rows are inserted together."""
    key, at = AttemptKey(trial_id, 1), _BEGAN + _EACH_S * number
    x, y, z = (((number + 1) * step % 1.0) * 2 - 1 for step in (0.6180339887, 0.7548776662, 0.5698402910))
    value = x * x + y * y + z * z
    if kind == _PLANNED:
        params: Params = {"seconds": 3600.0, "x": x, "y": y, "z": z}
        return [TrialPlanned(trial_id, sweep_id, number, params, "tpe", {}, at)]
    if kind == _PLACED:
        return [AttemptPlaced(key, sweep_id, number, "cpu-0", "node", at, "00000001")]
    if kind == _STARTED:
        return [AttemptStarted(Started(key, 4321, at, "", "cpu"))]
    if kind == _MEASURED:
        return [MetricPoint(key, "score", step, value / (step + 1), at) for step in range(REPORTS)]
    ended = Ended(key, TrialState.FINISHED, at, at + _EACH_S / 2, value=value, exit="0", pid=4321)
    return [AttemptEnded(ended, sweep_id, number, TrialState.FINISHED)]
