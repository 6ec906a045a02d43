"""The auditor: a sound database passes, and each breach that is planted in it is found."""

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

from podium.db.audit import audit_files
from podium.db.audit.audit import INVARIANTS, Report, audit
from podium.db.schema.engine import Database
from podium.sweep.runtime.atomic_files import sha256_of
from podium.sweep.runtime.disk_space import Room
from podium.sweep.runtime.layout import AttemptDirectory, DataDirectory
from podium.sweep.values.errors import DatabaseError
from tests.doctor import assert_sound
from tests.service_rig import AT, ServiceRig


def run_sql(service: ServiceRig, *statements: str) -> None:
    with service.database.write() as connection:
        connection.execute(text("PRAGMA defer_foreign_keys = ON"))
        for statement in statements:
            connection.execute(text(statement))


@pytest.fixture
def sound(service: ServiceRig) -> ServiceRig:
    """Sweep 1, over, with finished trials 1 and 2 and an ensemble of both; sweep 2 with trial 3 finished, 4 running."""
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
    return AttemptDirectory(service.data.attempt(sweep_id, number, 1)).model


@pytest.fixture
def up(sound: ServiceRig) -> Iterator[ServiceRig]:
    """The sound database, with a service: this process is its scheduler, its lock's holder and its trial."""
    run_sql(
        sound,
        f"UPDATE attempts SET pid = {os.getpid()}",
        f"INSERT OR REPLACE INTO scheduler_lease VALUES (1, 1, 'process {os.getpid()}', {AT}, {AT})",
    )
    with sound.data.service_lock.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield sound


def look(service: ServiceRig) -> Report:
    return audit(service.data, sleep=lambda _: None)


def broken(service: ServiceRig) -> set[str]:
    return {breach.invariant for breach in look(service).breaches}


def prepare_folders(service: ServiceRig) -> None:
    """The seeded attempts made working folders; those of what is over are removed by their slots."""
    for folder in service.data.trials.glob("*/*/*"):
        for left in (folder / "work", folder / "tmp"):
            if left.is_dir() and folder.parts[-3:] != ("2", "1", "1"):
                left.rmdir()


@pytest.fixture(autouse=True)
def tidy(request: pytest.FixtureRequest) -> None:
    """After seeding, before planting."""
    for name in ("up", "sound"):
        if name in request.fixturenames:
            prepare_folders(request.getfixturevalue(name))
            return


def test_a_sound_database_at_rest_has_a_note_and_no_breach(sound: ServiceRig) -> None:
    report = assert_sound(sound.data)
    assert (report.sweeps, report.trials, report.attempts, report.running) == (2, 4, 4, False)
    assert report.notes == ("no service runs: 1 running trials will be retried at the next start",)
    assert "alive" not in report.invariants


def test_a_sound_database_in_use_has_neither(up: ServiceRig) -> None:
    report = assert_sound(up.data)
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
    ("counts", "UPDATE sweeps SET run_cap = 1 WHERE id = 1"),
    ("counts", "UPDATE trials SET number = 5 WHERE id = 2"),
    ("sweeps", "UPDATE sweeps SET state = 'lost' WHERE id = 2"),
    ("sweeps", "UPDATE sweeps SET ended_at = NULL WHERE id = 1"),
    ("sweeps", "UPDATE sweeps SET ended_at = 1 WHERE id = 2"),
    ("devices", "UPDATE events SET id = id + 1000 WHERE trial_id = 1 AND kind = 'trial.finished'"),
    ("devices", "UPDATE attempts SET ended_at = NULL WHERE trial_id = 1"),
    ("ensembles", "DELETE FROM artifacts WHERE trial_id = 1"),
    ("references", "UPDATE metrics SET attempt = 2 WHERE trial_id = 1"),
    ("references", "UPDATE artifacts SET attempt = 2 WHERE trial_id = 3"),
    ("references", "INSERT INTO enqueued (sweep_id, params, created_at, trial_id) VALUES (2, '{}', 1, 1)"),
]  # fmt: skip


@pytest.mark.parametrize(("invariant", "statement"), ROWS)
def test_a_breach_among_the_rows_is_found(sound: ServiceRig, invariant: str, statement: str) -> None:
    run_sql(sound, statement)
    assert invariant in broken(sound)


PASSING = [
    ("sweeps", "UPDATE sweeps SET state = 'cancelled', ended_at = 1 WHERE id = 2"),
    ("requests", "UPDATE trials SET requested = 'retry' WHERE id = 1"),
]


@pytest.mark.parametrize(("invariant", "statement"), PASSING)
def test_what_the_scheduler_puts_right_is_a_breach_only_while_there_is_one(
    up: ServiceRig, invariant: str, statement: str
) -> None:
    run_sql(up, statement)
    assert broken(up) == {invariant}
    up.data.service_lock.unlink()  # a service that has ended
    report = look(up)
    assert not report.breaches
    assert len(report.notes) == 2


def test_a_sweep_is_not_running_with_nothing_to_run(up: ServiceRig) -> None:
    run_sql(up, "UPDATE sweeps SET state = 'running', ended_at = NULL WHERE id = 1")
    assert broken(up) == {"sweeps"}


def test_a_breach_that_passes_while_one_looks_is_none(up: ServiceRig) -> None:
    run_sql(up, "UPDATE trials SET requested = 'retry' WHERE id = 1")
    report = audit(up.data, sleep=lambda _: run_sql(up, "UPDATE trials SET requested = NULL"))
    assert not report.breaches


ALIVE = [
    "UPDATE devices SET state = 'lost'",
    "DELETE FROM devices",
    "DELETE FROM scheduler_lease",
    "UPDATE scheduler_lease SET holder = 'process 4194399'",
    "UPDATE attempts SET pid = 4194399",
]


@pytest.mark.parametrize("statement", ALIVE)
def test_what_is_called_running_runs(up: ServiceRig, statement: str) -> None:
    run_sql(up, statement)
    assert broken(up) == {"alive"}


def test_a_row_that_points_nowhere_is_found(sound: ServiceRig) -> None:
    sound.database.close()
    with contextlib.closing(sqlite3.connect(sound.data.database)) as connection, connection:
        connection.execute("DELETE FROM trials WHERE id = 3")  # foreign keys are off unless asked for
    assert "database" in broken(sound)


@pytest.mark.parametrize("name", ["work", "tmp"])
def test_a_folder_that_its_attempt_left_is_found(sound: ServiceRig, name: str) -> None:
    (sound.data.attempt(1, 0, 1) / name).mkdir()
    assert broken(sound) == {"stray"}


def test_the_folder_of_an_attempt_that_went_down_with_all_is_for_the_next_start(sound: ServiceRig) -> None:
    (sound.data.attempt(1, 0, 1) / "work").mkdir()
    run_sql(sound, "UPDATE attempts SET state = 'failed', cause = 'infrastructure' WHERE trial_id = 1")
    report = look(sound)
    assert "stray" not in {breach.invariant for breach in report.breaches}
    assert any("its folder exists" in note and "fixed at the next start" in note for note in report.notes)
    with sound.data.service_lock.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "stray" in broken(sound)


def test_a_temporary_file_is_stray_when_it_is_old(sound: ServiceRig) -> None:
    left = sound.data.attempt(1, 0, 1) / ".model.safetensors.7.tmp"
    left.write_bytes(b"half")
    assert not broken(sound)
    os.utime(left, (AT, AT))
    assert broken(sound) == {"stray"}


def test_a_process_that_its_attempt_left_is_found(sound: ServiceRig) -> None:
    folder = sound.data.attempt(1, 0, 1)
    with subprocess.Popen([sys.executable, "-c", "input()"], cwd=folder, stdin=subprocess.PIPE) as process:
        found = look(sound).breaches
        process.kill()
    assert [(breach.invariant, breach.rows["pid"]) for breach in found] == [("stray", process.pid)]


def test_rows_of_an_evaluation_that_is_over_are_stray(up: ServiceRig) -> None:
    up.data.posted_rows(1).write_bytes(b"rows")
    assert not broken(up)
    up.finish_evaluation(1, None, "failed")
    assert broken(up) == {"stray"}


@pytest.mark.parametrize("content", [None, b"shorter", "flipped"])
def test_a_model_is_as_it_was_saved(sound: ServiceRig, content: bytes | str | None) -> None:
    model = model_of(sound, 1, 0)
    if content is None:
        model.unlink()
    elif isinstance(content, bytes):
        model.write_bytes(content)
    else:
        model.write_bytes(model.read_bytes()[:-1] + b"\x55")
    (breach,) = look(sound).breaches
    assert (breach.invariant, breach.rows) == (
        "artifacts", {"trial_id": 1, "attempt": 1, "name": "model.safetensors"},
    )  # fmt: skip
    assert not audit(sound.data, artifacts=False).breaches


def test_without_a_database_there_is_nothing_to_say(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="no database"):
        audit(DataDirectory(tmp_path))


def test_a_clock_that_was_set_back_is_a_note(up: ServiceRig) -> None:
    run_sql(up, "UPDATE attempts SET started_at = started_at - 9 WHERE trial_id = 2")
    report = look(up)
    assert not report.breaches
    (note,) = report.notes
    assert "trial_id 2" in note
    assert "unless the clock was set meanwhile" in note


def test_a_file_of_a_trial_that_did_not_finish_may_be_newer_than_its_row(sound: ServiceRig) -> None:
    model = model_of(sound, 2, 1)
    model.write_bytes(model.read_bytes()[:-1] + b"\x55")
    assert not broken(sound)


def test_an_artifact_that_is_a_folder_is_a_breach(sound: ServiceRig) -> None:
    folder = model_of(sound, 1, 0)
    folder.unlink()
    folder.mkdir()
    run_sql(sound, f"UPDATE artifacts SET size_bytes = {folder.stat().st_size} WHERE trial_id = 1")
    (breach,) = look(sound).breaches
    assert (breach.invariant, "cannot be read: not a regular file" in breach.wrong) == ("artifacts", True)


def test_hashing_holds_no_transaction_open(sound: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Database(sound.data.database, busy_s=0.1)
    writer.journal_mode = "DELETE"  # what an old SQLite has: here a reader holds up whoever writes

    def hash_beside_a_writer(path: Path) -> str:
        with writer.write() as connection:
            connection.execute(text("UPDATE sweeps SET priority = priority"))
        return sha256_of(path)

    sound.database.close()
    with writer.write():
        pass
    monkeypatch.setattr(audit_files, "sha256_of", hash_beside_a_writer)
    assert not look(sound).breaches
    writer.close()


@pytest.mark.parametrize("grace_s", [5, 60])
def test_a_cancelled_attempt_has_the_grace_of_its_sweep(sound: ServiceRig, grace_s: int) -> None:
    (sound.data.attempt(1, 0, 1) / "work").mkdir()
    run_sql(
        sound,
        f"UPDATE attempts SET state = 'cancelled', ended_at = {time.time() - 40} WHERE trial_id = 1",
        f"UPDATE sweeps SET spec = json_set(spec, '$.limits.grace_s', {grace_s}) WHERE id = 1",
    )
    assert ("stray" in broken(sound)) == (grace_s == 5)


def test_a_process_that_went_elsewhere_is_found_by_its_tmpdir(sound: ServiceRig) -> None:
    folder = sound.data.attempt(1, 0, 1) / "tmp"
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(
        command, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(folder)}
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it runs, with its own environment
        found = look(sound).breaches
        process.kill()
    assert [(breach.invariant, breach.rows["pid"]) for breach in found] == [("stray", process.pid)]


@pytest.mark.parametrize("name", [".x.sqlite3.7.tmp", ".x.sqlite3.7.tmp-journal"])
def test_what_a_killed_backup_left_is_found(sound: ServiceRig, name: str) -> None:
    sound.data.backups.mkdir()
    (sound.data.backups / name).write_bytes(b"half")
    os.utime(sound.data.backups / name, (AT, AT))
    assert broken(sound) == {"stray"}


def test_with_no_room_what_waits_to_be_written_is_a_note(up: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.db.audit.audit.room", lambda path: Room(str(path), 0, 1))
    run_sql(up, "UPDATE attempts SET pid = 4194399")
    report = look(up)
    assert not report.breaches
    assert "its process does not exist (trial_id 4, attempt 1, pid 4194399); will be written when" in report.notes[0]
    assert "no space left in" in report.notes[1]


def test_while_a_part_comes_back_what_it_puts_right_is_waited_for(up: ServiceRig) -> None:
    def publish(state: str) -> None:
        part = {"name": "scheduler", "pid": os.getpid(), "state": state, "restarts": 1}
        up.data.service_file.write_text(json.dumps({"parts": [part]}))

    waits = itertools.count(1)

    def sleep(_: float) -> None:
        wait = next(waits)
        if wait == 15:  # later than a service that is whole would be given
            publish("ready")
        if wait == 17:
            run_sql(up, "UPDATE trials SET requested = NULL")

    publish("starting")
    run_sql(up, "UPDATE trials SET requested = 'retry' WHERE id = 1")
    assert not audit(up.data, sleep=sleep).breaches
    publish("starting")
    run_sql(up, "UPDATE trials SET requested = 'retry' WHERE id = 1")
    waits = itertools.count(100)
    assert [breach.invariant for breach in audit(up.data, sleep=sleep).breaches] == ["requests"]
    assert next(waits) == 130, "and a part that never comes back ends the wait"
