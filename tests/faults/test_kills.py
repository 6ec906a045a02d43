"""Single kills and suspensions: twice in a row, during recovery, and two schedulers at once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from podium.db.schema.sqlite_database import SqliteDatabase, connect, sqlite_module
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from tests.faults.journal import Journal, compare
from tests.faults.victims import Census, reported_components
from tests.faults.workload import CODE
from tests.running_service import AuditedService, RunningService, function_sweep, wait_for

TRIALS = 16


class Promised:
    """A sweep, and what its client was told."""

    def __init__(self, service: RunningService, name: str, seconds: float = 0.3) -> None:
        parameters = {"x": {"min": 0.0, "max": 1.0}, "seconds": {"value": seconds}}
        document = function_sweep(CODE, "short:nap", name=name, parameters=parameters, run_cap=TRIALS)
        self._client = service.client
        self._data = service.data
        self.journal = Journal()
        self.id = int(self._client.submit(document)["id"])
        self.journal.record_acknowledged(self.id, name)
        wait_for("some trials are over", lambda: len(self.look()) >= 2)

    def look(self) -> dict[int, tuple[int, int, float]]:
        """The finished trials; asserts that none seen earlier is missing."""
        for trial in self._client.trials(self.id):
            if trial["state"] == "finished":
                self.journal.record_finished_trial(trial["id"], self.id, trial["number"], trial["value"])
        return self.journal.trials

    def assert_kept(self, *kills: float) -> None:
        """Assert that the sweep finishes and nothing acknowledged is lost."""
        self.journal.record_ended_sweep(self.id, self._client.wait(self.id, 60)["state"])
        assert len(self.look()) == TRIALS
        verdict = compare(self.journal, self._data, [(at, at) for at in kills])
        assert not verdict.lost and not verdict.double
        assert not [line for line in verdict.unexplained if self._is_mine(line)]

    def _is_mine(self, line: str) -> bool:
        return int(line.rsplit(" ", 1)[1]) in self.journal.trials


@pytest.fixture(scope="module")
def service(shared_service: AuditedService) -> AuditedService:
    """The shared service, whose data is audited when it has stopped."""
    return shared_service


@pytest.mark.parametrize("part", ["scheduler", "api", "gateway", "host"])
def test_component_killed_again_during_recovery_loses_nothing(service: RunningService, part: str) -> None:
    promised = Promised(service, f"twice-{part}")
    kills = [_kill(service, part)]
    second = wait_for(f"another {part} has started", lambda: _pid_of(service, part, but=kills[0][1]))
    time.sleep(0.4)  # well into its imports, and not ready
    kills.append(_kill(service, part, second))
    wait_for("all parts are ready", lambda: _ready(service))
    promised.assert_kept(*(at for at, _ in kills))


def test_trials_continue_when_scheduler_dies(service: RunningService) -> None:
    parameters = {"x": {"min": 0.0, "max": 1.0}, "seconds": {"value": 3.0}}
    document = function_sweep(CODE, "short:nap", name="unnoticed", parameters=parameters, run_cap=2)
    sweep_id = service.client.submit(document)["id"]
    wait_for("two trials run", lambda: len(Census(service.process.pid).trials()) == 2)
    before = {trial.pid for trial in Census(service.process.pid).trials()}
    _kill(service, "scheduler")
    assert service.client.wait(sweep_id, 60)["state"] == "finished"
    attempts = [service.client.trial(trial["id"])["attempts"] for trial in service.client.trials(sweep_id)]
    assert [len(each) for each in attempts] == [1, 1]
    assert {each[0]["pid"] for each in attempts} == before


def test_suspended_scheduler_continues_when_resumed(service: RunningService) -> None:
    promised = Promised(service, "frozen")
    frozen = _pid_of(service, "scheduler")
    os.kill(frozen, signal.SIGSTOP)
    time.sleep(1.5)  # trials end meanwhile without being noticed
    os.kill(frozen, signal.SIGCONT)
    promised.assert_kept()
    assert _pid_of(service, "scheduler") == frozen
    assert all(trial["attempt"] == 1 for trial in service.client.trials(promised.id))


def test_resumed_scheduler_writes_nothing_after_another_took_over(service: RunningService) -> None:
    promised = Promised(service, "fenced")
    old = _pid_of(service, "scheduler")
    database = SqliteDatabase(service.data.database)
    _stop_between_writes(old, database)
    try:
        DatabaseRecorder(database, "a test that takes over")
    finally:
        database.close()
        os.kill(old, signal.SIGCONT)
    wait_for("the old one has ended", lambda: _pid_of(service, "scheduler") not in (0, old))
    wait_for("all parts are ready", lambda: _ready(service))
    promised.assert_kept(time.time())
    assert "taken over" in (service.data.logs / "scheduler.log").read_text()


def test_second_scheduler_on_same_data_is_refused(service: RunningService) -> None:
    settings = RuntimeDirectory.of(service.data).settings_file
    command = [sys.executable, "-P", "-m", "podium.sweep.scheduling.main", str(settings)]
    second = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert second.returncode == 1
    assert f"another scheduler uses the data directory {service.data.root}" in second.stderr


def _kill(service: RunningService, part: str, pid: int = 0) -> tuple[float, int]:
    """SIGKILL; returns the time and the process id."""
    pid, at = pid or _pid_of(service, part), time.time()
    os.kill(pid, signal.SIGKILL)
    return at, pid


def _stop_between_writes(pid: int, database: SqliteDatabase) -> None:
    """SIGSTOP at a moment when the process has no write transaction: stopped within one, it locks out every writer."""

    def is_stopped_without_lock() -> bool:
        os.kill(pid, signal.SIGSTOP)
        wait_for("every thread has stopped", lambda: all(state == "T" for state in _thread_states(pid)))
        connection = connect(database.path, "rw", busy_s=1.0)  # transactions of other processes are shorter
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite_module().OperationalError:
            os.kill(pid, signal.SIGCONT)
            return False
        finally:
            connection.close()
        return True

    wait_for("it is stopped between two writes", is_stopped_without_lock)


def _thread_states(pid: int) -> list[str]:
    """A letter for each thread, as in proc(5): T is stopped."""
    states = []
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # the thread has ended
            states.append(path.read_text().rpartition(")")[2].split()[0])
    return states


def _pid_of(service: RunningService, part: str, *, but: int = 0) -> int:
    """The process id of a component; 0 if it has none, or still has `but`."""
    shown = reported_components(service.data)[part]
    return 0 if shown.pid in (None, but) else int(shown.pid or 0)


def _ready(service: RunningService) -> bool:
    return all(part.ready for part in reported_components(service.data).values())
