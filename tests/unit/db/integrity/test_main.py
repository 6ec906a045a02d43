"""The auditor: a consistent database passes, and each breach planted in it is found."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from podium.db.integrity import file_and_process_checks
from podium.db.integrity.main import INVARIANTS, Report, audit
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.stores import nodes
from podium.sweep.runtime.disk_space_check import DiskSpace
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.values.errors import DatabaseError
from tests.doctor import assert_no_breaches
from tests.node_reports import node_report
from tests.service_rig import AT, ServiceRig

pytestmark = pytest.mark.sqlite


def run_sql(service: ServiceRig, *statements: str) -> None:
    with service.database.write() as connection:
        connection.execute(text("PRAGMA defer_foreign_keys = ON"))
        for statement in statements:
            connection.execute(text(statement))


@pytest.fixture
def consistent(service: ServiceRig) -> ServiceRig:
    """Sweep 1 is terminal: trials 1 and 2 finished, in an ensemble of both. In sweep 2 trial 3 finished and 4 runs."""
    for numbers in ((0, 0.5), (1, 0.9)), ((0, 0.7), (1, None)):
        sweep_id = service.sweep(run_cap=4 if numbers[1][1] is None else 2)
        for number, value in numbers:
            service.points(service.trial(sweep_id, int(number or 0), value), "val_accuracy", 0.1, 0.2)
    service.end_sweep(1)
    service.ensemble(1, [1, 2])
    service.evaluation(1)
    service.device()
    run_sql(
        service,
        f"UPDATE attempts SET started_at = {AT} + 10 * trial_id, ended_at = ended_at + 10 * trial_id",
        "UPDATE sweeps SET state = 'running' WHERE id = 2",
    )
    with service.database.write() as connection:
        for row in connection.execute(text("SELECT f.trial_id, t.sweep_id, t.number FROM artifacts f, trials t"
                                           " WHERE t.id = f.trial_id")).all():  # fmt: skip
            size = model_of(service, row.sweep_id, row.number).stat().st_size
            connection.execute(text(f"UPDATE artifacts SET size_bytes = {size} WHERE trial_id = {row.trial_id}"))
    return service


def model_of(service: ServiceRig, sweep_id: int, number: int) -> Path:
    return service.attempt(sweep_id, number).model


@pytest.fixture
def in_use(consistent: ServiceRig) -> Iterator[ServiceRig]:
    """The consistent database, in use: this process is its scheduler, the holder of its lock, and its running trial."""
    run_sql(
        consistent,
        f"UPDATE attempts SET pid = {os.getpid()}",
        f"INSERT OR REPLACE INTO scheduler_lease VALUES (1, 1, 'process {os.getpid()}', {AT}, {AT})",
    )
    with consistent.data.service_lock.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield consistent


def report_of(service: ServiceRig) -> Report:
    return audit(service.data, sleep=lambda _: None)


def breached(service: ServiceRig) -> set[str]:
    return {breach.invariant for breach in report_of(service).breaches}


def remove_finished_folders(service: ServiceRig) -> None:
    """The seeded attempts created working folders; a slot removes those of ended attempts."""
    for folder in service.data.trials.glob("*/*/*"):
        for left in (folder / "work", folder / "tmp"):
            if left.is_dir() and folder.parts[-3:] != ("2", "1", "1"):
                left.rmdir()


@pytest.fixture(autouse=True)
def tidy(request: pytest.FixtureRequest) -> None:
    """Runs after seeding, before a breach is planted."""
    for name in ("in_use", "consistent"):
        if name in request.fixturenames:
            remove_finished_folders(request.getfixturevalue(name))
            return


def test_consistent_database_at_rest_has_a_note_and_no_breach(consistent: ServiceRig) -> None:
    report = assert_no_breaches(consistent.data)
    assert (report.sweeps, report.trials, report.attempts, report.running) == (2, 4, 4, False)
    assert report.notes == ("no service runs: 1 running trials will be retried at the next start",)
    assert not {"alive", "nodes"} & set(report.invariants)


def test_consistent_database_in_use_has_no_note_and_no_breach(in_use: ServiceRig) -> None:
    report = assert_no_breaches(in_use.data)
    assert (report.running, report.notes, report.invariants) == (True, (), INVARIANTS)


ROWS = [
    ("attempts", "UPDATE attempts SET number = 2 WHERE trial_id = 1"),
    ("attempts", "UPDATE trials SET attempt = 2 WHERE id = 1"),
    ("attempts", "UPDATE attempts SET ended_at = NULL, state = NULL WHERE trial_id = 1"),
    ("attempts", "UPDATE attempts SET ended_at = started_at + 1, state = 'failed' WHERE trial_id = 4"),
    ("attempts", "UPDATE attempts SET state = 'lost' WHERE trial_id = 1"),
    ("results", "UPDATE trials SET state = 'lost' WHERE id = 4"),
    ("results", "UPDATE trials SET value = NULL WHERE id = 1"),
    ("results", "UPDATE trials SET value = 9e999 WHERE id = 1"),
    ("results", "UPDATE attempts SET state = 'failed', cause = 'exited' WHERE trial_id = 1"),
    ("results", "UPDATE trials SET state = 'failed', value = NULL WHERE id = 3"),
    ("results", "UPDATE trials SET state = 'pruned', value = NULL WHERE id = 3"),
    ("results", "UPDATE trials SET value = 0.5 WHERE id = 4"),
    ("results", "UPDATE trials SET ended_at = NULL WHERE id = 1"),
    ("results", "UPDATE trials SET ended_at = 1 WHERE id = 4"),
    ("results", "UPDATE trials SET fallback_reason = 'tired' WHERE id = 1"),
    ("results", "UPDATE trials SET fallback_reason = 'slow', sampler = 'gp' WHERE id = 1"),
    ("results", "UPDATE trials SET fallback_reason = 'failed' WHERE id = 1"),
    ("results", "UPDATE trials SET fallback_reason = 'slow', fallback_error = 'no' WHERE id = 1"),
    ("results", "UPDATE trials SET fallback_error = 'no' WHERE id = 1"),
    ("results", "UPDATE trials SET proposed_for = number, sampler = 'gp' WHERE id = 1"),
    ("results", "UPDATE trials SET proposed_for = -1, sampler = 'gp' WHERE id = 2"),
    ("results", "UPDATE trials SET proposed_for = 0, fallback_reason = 'slow' WHERE id = 2"),
    ("results", "UPDATE trials SET proposed_for = 0, sampler = 'clone' WHERE id = 2"),
    ("counts", "UPDATE sweeps SET run_cap = 1 WHERE id = 1"),
    ("counts", "UPDATE trials SET number = 5 WHERE id = 2"),
    ("sweeps", "UPDATE sweeps SET state = 'lost' WHERE id = 2"),
    ("sweeps", "UPDATE sweeps SET ended_at = NULL WHERE id = 1"),
    ("sweeps", "UPDATE sweeps SET wait_reason = 'boredom' WHERE id = 2"),
    ("sweeps", "UPDATE sweeps SET wait_reason = 'no_device' WHERE id = 1"),
    ("sweeps", "UPDATE sweeps SET ended_at = 1 WHERE id = 2"),
    ("devices", "UPDATE events SET id = id + 1000 WHERE trial_id = 1 AND kind = 'trial.finished'"),
    ("devices", "UPDATE attempts SET ended_at = NULL, device_s = NULL WHERE trial_id = 1"),
    ("ensembles", "DELETE FROM artifacts WHERE trial_id = 1"),
    ("references", "UPDATE metrics SET attempt = 2 WHERE trial_id = 1"),
    ("references", "UPDATE artifacts SET attempt = 2 WHERE trial_id = 3"),
    ("references", "INSERT INTO sweep_predecessors VALUES (1, 2)"),
    ("references", "INSERT INTO sweep_predecessors VALUES (2, 1)"),
    ("references", "UPDATE sweeps SET spec = json_insert(spec, '$.after', json('[1]')) WHERE id = 2"),
    ("sweeps", "UPDATE sweeps SET held = 1 WHERE id = 2"),
    ("sweeps", "UPDATE sweeps SET fixed = '{\"sweep_id\": 1, \"trial_id\": 4}' WHERE id = 2"),
    ("sweeps", "UPDATE sweeps SET fixed = '{\"sweep_id\": 1, \"trial_id\": 99}' WHERE id = 2"),
    ("sweeps", "UPDATE sweeps SET spec = json_insert(spec, '$.fix_from', json('{\"sweep\": 1}')) WHERE id = 2"),
    ("references", "INSERT INTO enqueued (sweep_id, params, created_at, trial_id) VALUES (2, '{}', 1, 1)"),
]  # fmt: skip


@pytest.mark.parametrize(("invariant", "statement"), ROWS)
def test_breach_in_rows_is_found(consistent: ServiceRig, invariant: str, statement: str) -> None:
    run_sql(consistent, statement)
    assert invariant in breached(consistent)


VALID = (
    "UPDATE sweeps SET wait_reason = 'devices_busy', wait_message = 'every device is busy' WHERE id = 2",
    "UPDATE trials SET fallback_reason = 'slow' WHERE id = 2",
    "UPDATE trials SET fallback_reason = 'failed', fallback_error = 'ValueError: no' WHERE id = 2",
    "UPDATE trials SET fallback_reason = 'process_ended' WHERE id = 2",
    "UPDATE trials SET fallback_reason = 'many_trials', sampler = 'tpe' WHERE id = 2",
    "UPDATE trials SET proposed_for = 0, sampler = 'gp' WHERE id = 2",
)


@pytest.mark.parametrize("statement", VALID)
def test_recorded_search_states_are_no_breaches(consistent: ServiceRig, statement: str) -> None:
    run_sql(consistent, statement)
    assert_no_breaches(consistent.data)


# Trial 1 ends after trial 2 was placed on the same device, as when its files are sent; and the event of that.
LATE_END = "UPDATE events SET id = id + 1000 WHERE trial_id = 1 AND kind = 'trial.finished'"
LEFT = (
    "INSERT INTO events (id, at, kind, sweep_id, trial_id, payload) SELECT id, at, 'trial.sending', sweep_id, trial_id,"
    " payload FROM events WHERE trial_id = 1 AND kind = 'trial.finished'"
)


def test_attempt_may_be_placed_when_the_earlier_one_has_left_the_device(consistent: ServiceRig) -> None:
    run_sql(
        consistent,
        LEFT.replace("SELECT id, at", "SELECT -1, at"),  # keeps its place among the events
        LATE_END,
        "UPDATE events SET id = (SELECT id - 1000 FROM events WHERE trial_id = 1 AND kind = 'trial.finished')"
        " WHERE id = -1",
        f"UPDATE attempts SET device_s = ended_at - started_at, ended_at = {AT} + 15 WHERE trial_id = 1",
    )
    report = assert_no_breaches(consistent.data)
    assert not [note for note in report.notes if "device" in note]


PASSING = [
    ("sweeps", "UPDATE sweeps SET state = 'cancelled', ended_at = 1, wait_reason = NULL WHERE id = 2"),
    ("requests", "UPDATE trials SET requested = 'retry' WHERE id = 1"),
]


@pytest.mark.parametrize(("invariant", "statement"), PASSING)
def test_state_that_the_scheduler_corrects_is_a_breach_only_while_it_runs(
    in_use: ServiceRig, invariant: str, statement: str
) -> None:
    run_sql(in_use, statement)
    assert breached(in_use) == {invariant}
    in_use.data.service_lock.unlink()  # the service has ended
    report = report_of(in_use)
    assert not report.breaches
    assert len(report.notes) == 2


def test_running_sweep_without_trials_to_run_is_a_breach(in_use: ServiceRig) -> None:
    run_sql(in_use, "UPDATE sweeps SET state = 'running', ended_at = NULL WHERE id = 1")
    assert breached(in_use) == {"sweeps"}


def test_transient_breach_is_not_reported(in_use: ServiceRig) -> None:
    run_sql(in_use, "UPDATE trials SET requested = 'retry' WHERE id = 1")
    report = audit(in_use.data, sleep=lambda _: run_sql(in_use, "UPDATE trials SET requested = NULL"))
    assert not report.breaches


ALIVE = [
    "UPDATE devices SET state = 'lost'",
    "DELETE FROM devices",
    "DELETE FROM scheduler_lease",
    "UPDATE scheduler_lease SET holder = 'process 4194399'",
    "UPDATE attempts SET pid = 4194399",
]


@pytest.mark.parametrize("statement", ALIVE)
def test_running_state_without_its_process_is_a_breach(in_use: ServiceRig, statement: str) -> None:
    run_sql(in_use, statement)
    assert breached(in_use) == {"alive"}


@pytest.mark.parametrize(
    ("ago_s", "state", "found"), [(90, "ready", {"nodes"}), (90, "lost", set()), (9, "ready", set())]
)
def test_node_in_use_that_does_not_report_is_a_breach(
    in_use: ServiceRig, ago_s: float, state: str, found: set[str]
) -> None:
    with in_use.database.write() as connection:
        nodes.record_report(connection, node_report("b"), time.time() - ago_s)
    in_use.device("b:cpu-0")
    run_sql(in_use, f"UPDATE devices SET state = '{state}' WHERE id = 'b:cpu-0'")
    assert breached(in_use) == found


def test_wrong_clock_of_a_node_in_use_is_a_note(in_use: ServiceRig) -> None:
    with in_use.database.write() as connection:
        for name, offset_s in (("b", -7.0), ("c", 7.0), ("d", 4.0)):
            nodes.record_report(connection, node_report(name, clock_offset_s=offset_s), time.time())
    for device_id in ("b:cpu-0", "d:cpu-0"):
        in_use.device(device_id)
    report = report_of(in_use)
    assert not report.breaches
    (note,) = report.notes
    assert note.startswith("its clock is more than 5 s off") and "node b, clock_offset_s -7.0" in note


def test_what_attempts_have_left_on_a_node_is_a_breach(in_use: ServiceRig) -> None:
    ended, runs = (in_use.data.relative(in_use.attempt(*each).root) for each in ((1, 0), (2, 1)))
    with in_use.database.write() as connection:
        for name, ago_s in (("b", 1.0), ("c", 90.0)):  # what c has now is not known
            report = node_report(name, left_folders=(ended, runs), left_processes=(f"77 {ended}", f"78 {runs}"))
            nodes.record_report(connection, report, time.time() - ago_s)
    found = [breach for breach in report_of(in_use).breaches if breach.invariant == "stray"]
    assert [breach.rows for breach in found] == [
        {"node": "b", "path": ended}, {"node": "b", "pid": 77, "path": ended},
    ]  # fmt: skip
    assert ["folder" in breach.wrong for breach in found] == [True, False]


def test_dangling_reference_is_found(consistent: ServiceRig) -> None:
    consistent.database.close()
    with contextlib.closing(sqlite3.connect(consistent.data.database)) as connection, connection:
        connection.execute("DELETE FROM trials WHERE id = 3")  # foreign keys are off by default
    assert "database" in breached(consistent)


@pytest.mark.parametrize("name", ["work", "tmp"])
def test_folder_left_by_an_attempt_is_found(consistent: ServiceRig, name: str) -> None:
    (consistent.attempt(1, 0).root / name).mkdir()
    assert breached(consistent) == {"stray"}


def test_folder_of_an_attempt_that_died_with_the_service_is_a_note_until_the_next_start(consistent: ServiceRig) -> None:
    (consistent.attempt(1, 0).root / "work").mkdir()
    run_sql(consistent, "UPDATE attempts SET state = 'failed', cause = 'infrastructure' WHERE trial_id = 1")
    report = report_of(consistent)
    assert "stray" not in {breach.invariant for breach in report.breaches}
    assert any("its folder exists" in note and "fixed at the next start" in note for note in report.notes)
    with consistent.data.service_lock.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "stray" in breached(consistent)


def test_temporary_file_is_stray_when_it_is_old(consistent: ServiceRig) -> None:
    left = consistent.attempt(1, 0).root / ".model.safetensors.7.tmp"
    left.write_bytes(b"half")
    assert not breached(consistent)
    os.utime(left, (AT, AT))
    assert breached(consistent) == {"stray"}


def test_process_left_by_an_attempt_is_found(consistent: ServiceRig) -> None:
    folder = consistent.attempt(1, 0).root
    with subprocess.Popen([sys.executable, "-c", "input()"], cwd=folder, stdin=subprocess.PIPE) as process:
        found = report_of(consistent).breaches
        process.kill()
    assert [(breach.invariant, breach.rows["pid"]) for breach in found] == [("stray", process.pid)]


def test_rows_of_a_terminal_evaluation_are_stray(in_use: ServiceRig) -> None:
    in_use.data.posted_rows(1).write_bytes(b"rows")
    assert not breached(in_use)
    in_use.finish_evaluation(1, None, "failed")
    assert breached(in_use) == {"stray"}


@pytest.mark.parametrize("content", [None, b"shorter", "flipped"])
def test_changed_model_file_is_a_breach(consistent: ServiceRig, content: bytes | str | None) -> None:
    model = model_of(consistent, 1, 0)
    if content is None:
        model.unlink()
    elif isinstance(content, bytes):
        model.write_bytes(content)
    else:
        model.write_bytes(model.read_bytes()[:-1] + b"\x55")
    (breach,) = report_of(consistent).breaches
    assert (breach.invariant, breach.rows) == (
        "artifacts", {"trial_id": 1, "attempt": 1, "name": "model.safetensors"},
    )  # fmt: skip
    assert not audit(consistent.data, artifacts=False).breaches


def test_audit_without_a_database_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="no database"):
        audit(DataDirectory(tmp_path))


def test_clock_set_back_is_a_note(in_use: ServiceRig) -> None:
    run_sql(in_use, "UPDATE attempts SET started_at = started_at - 9 WHERE trial_id = 2")
    report = report_of(in_use)
    assert not report.breaches
    (note,) = report.notes
    assert "trial_id 2" in note
    assert "unless the clock was set meanwhile" in note


def test_file_of_an_unfinished_trial_may_be_newer_than_its_row(consistent: ServiceRig) -> None:
    model = model_of(consistent, 2, 1)
    model.write_bytes(model.read_bytes()[:-1] + b"\x55")
    assert not breached(consistent)


def test_artifact_that_is_a_folder_is_a_breach(consistent: ServiceRig) -> None:
    folder = model_of(consistent, 1, 0)
    folder.unlink()
    folder.mkdir()
    run_sql(consistent, f"UPDATE artifacts SET size_bytes = {folder.stat().st_size} WHERE trial_id = 1")
    (breach,) = report_of(consistent).breaches
    assert (breach.invariant, "cannot be read: not a regular file" in breach.wrong) == ("artifacts", True)


def test_hashing_holds_no_transaction_open(consistent: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = SqliteDatabase(consistent.data.database, busy_s=0.1)
    writer.journal_mode = "DELETE"  # as an old SQLite uses: here a reader blocks writers

    def hash_during_a_write(path: Path) -> str:
        with writer.write() as connection:
            connection.execute(text("UPDATE sweeps SET priority = priority"))
        return sha256_of(path)

    consistent.database.close()
    with writer.write():
        pass
    monkeypatch.setattr(file_and_process_checks, "sha256_of", hash_during_a_write)
    assert not report_of(consistent).breaches
    writer.close()


@pytest.mark.parametrize("grace_s", [5, 60])
def test_cancelled_attempt_has_the_grace_period_of_its_sweep(consistent: ServiceRig, grace_s: int) -> None:
    (consistent.attempt(1, 0).root / "work").mkdir()
    run_sql(
        consistent,
        f"UPDATE attempts SET state = 'cancelled', ended_at = {time.time() - 40} WHERE trial_id = 1",
        f"UPDATE sweeps SET spec = json_set(spec, '$.limits.grace_s', {grace_s}) WHERE id = 1",
    )
    assert ("stray" in breached(consistent)) == (grace_s == 5)


def test_process_in_another_folder_is_found_by_its_tmpdir(consistent: ServiceRig) -> None:
    folder = consistent.attempt(1, 0).root / "tmp"
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(
        command, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(folder)}
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it runs, with its own environment
        found = report_of(consistent).breaches
        process.kill()
    assert [(breach.invariant, breach.rows["pid"]) for breach in found] == [("stray", process.pid)]


@pytest.mark.parametrize("name", [".x.sqlite3.7.tmp", ".x.sqlite3.7.tmp-journal"])
def test_files_left_by_a_killed_backup_are_found(consistent: ServiceRig, name: str) -> None:
    consistent.data.backups.mkdir()
    (consistent.data.backups / name).write_bytes(b"half")
    os.utime(consistent.data.backups / name, (AT, AT))
    assert breached(consistent) == {"stray"}


def test_pending_write_on_a_full_disk_is_a_note(in_use: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.db.integrity.main.disk_space", lambda path: DiskSpace(str(path), 0, 1))
    run_sql(in_use, "UPDATE attempts SET pid = 4194399")
    report = report_of(in_use)
    assert not report.breaches
    assert "its process does not exist (trial_id 4, attempt 1, pid 4194399); will be written when" in report.notes[0]
    assert "no space left in" in report.notes[1]


def test_audit_waits_for_a_restarting_component_to_correct_a_breach(in_use: ServiceRig) -> None:
    def publish(state: str) -> None:
        part = {"name": "scheduler", "pid": os.getpid(), "state": state, "restarts": 1}
        in_use.data.service_file.write_text(json.dumps({"parts": [part]}))

    waits = itertools.count(1)

    def sleep(_: float) -> None:
        wait = next(waits)
        if wait == 15:  # later than the time allowed to a service whose components are all ready
            publish("ready")
        if wait == 17:
            run_sql(in_use, "UPDATE trials SET requested = NULL")

    publish("starting")
    run_sql(in_use, "UPDATE trials SET requested = 'retry' WHERE id = 1")
    assert not audit(in_use.data, sleep=sleep).breaches
    publish("starting")
    run_sql(in_use, "UPDATE trials SET requested = 'retry' WHERE id = 1")
    waits = itertools.count(100)
    assert [breach.invariant for breach in audit(in_use.data, sleep=sleep).breaches] == ["requests"]
    assert next(waits) == 130, "a component that never becomes ready ends the wait"
