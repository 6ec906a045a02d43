"""Real storage failures: full and failing disks, locks, truncated logs, deleted files, killed migrations."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from podium.api.client.client import Client
from podium.db.schema import migrate as migration
from podium.db.schema import schema_version
from podium.db.schema.database import Database
from podium.db.schema.migrate import alembic_config, migrate
from podium.db.schema.schema_version import newest_schema
from podium.db.schema.sqlite_database import SqliteDatabase, connect
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DamagedError, DatabaseError, PodiumError, StorageFullError
from tests.databases import open_sqlite
from tests.faults.storage_programs import COMMIT, LOCK, MIGRATE, SECOND, WRITE
from tests.repository import ROOT
from tests.running_service import PODIUM, AuditedService, RunningService, function_sweep, wait_for


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    """A migrated SQLite database, in a folder of its own."""
    (tmp_path / "data").mkdir()
    opened = open_sqlite(tmp_path / "data" / "podium.sqlite3")
    yield opened
    opened.close()


CUTS = [100, pytest.param(1_000, marks=pytest.mark.slow)]
NAP = """
import time

def nap(trial):
    for step in range(3):
        time.sleep(0.1)
        trial.report(trial.params["x"], step)
    return trial.params["x"]
"""


@contextlib.contextmanager
def _small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small tmpfs here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _fill(file: Path) -> None:
    with contextlib.suppress(OSError), file.open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))


def _add(database: Database, number: int, size: int = 10) -> None:
    with database.write() as connection:
        statement = text("INSERT INTO events (at, kind, payload) VALUES (:number, 'written', :payload)")
        connection.execute(statement, {"number": number, "payload": "x" * size})


def _numbers(path: Path) -> list[int]:
    with contextlib.closing(connect(path, "rw")) as connection:
        assert connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]
        return [int(at) for (at,) in connection.execute("SELECT at FROM events ORDER BY id")]


def _python(code: str, *arguments: object, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


# A full disk.


def test_database_on_full_disk_is_readable_and_recovers_when_space_is_freed(tmp_path: Path) -> None:
    with _small_disk(tmp_path / "disk", "2m") as disk:
        path = disk / "podium.sqlite3"
        migrate(path)
        database = SqliteDatabase(path)
        _add(database, 1)
        _fill(disk / "filler")
        with pytest.raises(StorageFullError, match=r"no space left in .*disk"):
            _add(database, 2, size=500_000)
        with database.read() as connection:
            there = connection.execute(text("SELECT count(*) FROM events")).scalar_one()
        (disk / "filler").unlink()
        _add(database, 1_000)
        database.close()
        assert there == 1
        assert _numbers(path) == [1, 1_000]


def test_service_on_full_disk_refuses_new_work_and_recovers_by_itself(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "naps.py").write_text(NAP)
    with _small_disk(tmp_path / "disk", "200m") as disk, AuditedService(disk / "data") as service:
        client = service.client
        sweep_id = client.submit(function_sweep(code, "naps:nap", run_cap=60))["id"]
        wait_for("three are finished", lambda: _finished(client, sweep_id) >= 3)
        before = client.ready()["parts"]
        _fill(disk / "filler")
        storage = client.ready()["storage"]
        assert not storage["enough"]
        assert storage["free_bytes"] < 2**20  # not always 0: a trial that ends meanwhile frees its files
        with pytest.raises(PodiumError, match=r"no space left in .* MB are required to start new work; free disk"):
            client.submit(function_sweep(code, "naps:nap"))
        held = wait_for("running trials have ended", lambda: _held(client, sweep_id), 20.0)
        (disk / "filler").unlink()
        wait_for("the sweep has ended", lambda: client.sweep(sweep_id)["state"] not in ("queued", "running"))
        assert client.sweep(sweep_id)["counts"] == {"finished": 60}
        assert held < 60
        assert client.ready()["parts"] == before  # no component was restarted
        service.stop()


@pytest.mark.slow
def test_full_file_system_of_trial_does_not_affect_other_sweeps(shared_service: AuditedService, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "naps.py").write_text(NAP)
    with _small_disk(tmp_path / "own", "1m") as own:
        (code / "fills.py").write_text(
            f"def fill(trial):\n    open({str(own / 'file')!r}, 'wb').write(bytes(2 << 20))\n"
        )
        client = shared_service.client
        retries = {"infrastructure": 3, "max_consecutive_failures": 1}
        limits = {"max_concurrent": 1}
        full = client.submit(function_sweep(code, "fills:fill", run_cap=1, retries=retries, resources=limits))["id"]
        other = client.submit(function_sweep(code, "naps:nap", run_cap=30, resources=limits))["id"]
        wait_for("the sweep with the full file system has failed", lambda: client.sweep(full)["state"] == "failed")
        wait_for("the other sweep has ended", lambda: client.sweep(other)["state"] == "finished")
        assert f"no space left on the file system of {own} (the data disk is not full)" in client.sweep(full)["reason"]
        (trial,) = client.trials(full)
        assert trial["cause"] == "disk_full"
        assert [attempt["state"] for attempt in client.trial(trial["id"])["attempts"]] == ["failed"] * 4


@pytest.mark.slow
def test_service_started_on_full_disk_waits_for_space(tmp_path: Path) -> None:
    with _small_disk(tmp_path / "disk", "40m") as disk:
        with RunningService(disk / "data") as first:
            first.stop()
        _fill(disk / "filler")
        with subprocess.Popen(
            [*PODIUM, "serve", "--data-dir", str(disk / "data"), "--port", "0", "--gateway-port", "0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            try:
                assert process.stderr is not None
                said = itertools.takewhile(lambda line: "scheduler exited" not in line, process.stderr)
                assert sum("cannot write" in line for line in said) == 1
                (disk / "filler").unlink()
                next(line for line in process.stderr if "Podium is ready" in line)
                with Client.of(disk / "data") as client:
                    assert client.ready()["ready"]
            finally:
                process.terminate()
                process.communicate(timeout=60)


def _finished(client: Client, sweep_id: int) -> int:
    count: int = client.sweep(sweep_id)["counts"].get("finished", 0)
    return count


def _held(client: Client, sweep_id: int) -> int | None:
    """The number of finished trials, once every device is idle for lack of disk space or waits for writes."""
    counts = [_finished(client, sweep_id) for _ in range(40)]
    return counts[0] if len(set(counts)) == 1 else None


# A failing disk.


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not here to make system calls fail")
@pytest.mark.parametrize("call", ["fdatasync,fsync:error=EIO", "pwrite64:error=EIO", "pwrite64:error=ENOSPC"])
@pytest.mark.parametrize("when", [1, 4])
def test_io_error_is_resolved_by_reading_back(tmp_path: Path, call: str, when: int) -> None:
    path = tmp_path / "podium.sqlite3"
    migrate(path)
    inject = ("strace", "-f", "-qq", "-o", "/dev/null", "-P", f"{path}-wal", "-e", f"inject={call}:when={when}")
    writer = _python(WRITE, path, before=inject)
    said, _ = writer.communicate(timeout=60)
    if not said and writer.returncode != 0:
        pytest.skip("strace may not trace here")
    lines = said.split()
    wrong = [index for index, line in enumerate(lines) if line in ("DamagedError", "StorageFullError")]
    assert len(wrong) == 1, said
    assert set(lines) == {"written", lines[wrong[0]]}
    doubtful = wrong[0]
    surely = [number for number in range(len(lines)) if number != doubtful]
    assert [number for number in _numbers(path) if number != doubtful] == surely


# Locks.


def test_lock_of_other_process_is_awaited_or_reported(database: SqliteDatabase) -> None:
    holder = _python(LOCK, database.path)
    assert holder.stdin is not None and holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    hasty, patient = SqliteDatabase(database.path, busy_s=0.2), SqliteDatabase(database.path, busy_s=30.0)
    with pytest.raises(DatabaseError, match=rf"locked by .*\(process {holder.pid}\); nothing was written, try again"):
        _add(hasty, 1)
    waiting = threading.Thread(target=_add, args=(patient, 2))
    waiting.start()
    waiting.join(timeout=3.0)  # while the other process holds it
    assert waiting.is_alive()
    holder.communicate("go\n", timeout=30)
    waiting.join(timeout=30)
    _add(hasty, 3)
    for opened in (hasty, patient):
        opened.close()
    assert _numbers(database.path) == [2, 3]


# A truncated log.


@pytest.mark.parametrize("cuts", CUTS)
def test_database_with_truncated_log_holds_prefix_of_commits(
    database: SqliteDatabase, tmp_path: Path, cuts: int
) -> None:
    if database.journal_mode != "WAL":
        pytest.skip("this SQLite has no safe write-ahead log")
    database.close()
    writer = _python(COMMIT, database.path)
    assert writer.stdin is not None and writer.stdout is not None
    for line in writer.stdout:  # each line is an acknowledged commit
        frames = Path(f"{database.path}-wal").read_bytes()
        content = database.path.read_bytes()
        assert _opened(tmp_path, content, frames) > int(line), "what was acknowledged is gone"
        if int(line) == 149:
            break
    writer.communicate("end\n", timeout=30)
    dice = random.Random(7)
    whole = _opened(tmp_path, content, frames)
    for _ in range(cuts):
        assert _opened(tmp_path, content, frames[: dice.randrange(len(frames))]) <= whole


def _opened(folder: Path, content: bytes, frames: bytes) -> int:
    """The number of commits after a power failure that left these files; asserts that they are the first ones."""
    path = folder / "torn.sqlite3"
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    path.write_bytes(content)
    Path(f"{path}-wal").write_bytes(frames)
    found = _numbers(path)
    assert found == list(range(len(found)))
    return len(found)


# Files deleted under an open database.


def _remove(path: Path) -> None:
    path.unlink()


def _replace(path: Path) -> None:
    shutil.copy(path, path.with_name("other"))
    path.with_name("other").replace(path)


def _remove_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


@pytest.mark.parametrize("spoil", [_remove, _replace, _remove_log], ids=["removed", "replaced", "log removed"])
def test_writes_are_refused_when_database_files_were_replaced(
    database: SqliteDatabase, spoil: Callable[[Path], None]
) -> None:
    if spoil is _remove_log and database.journal_mode != "WAL":
        pytest.skip("this SQLite has no safe write-ahead log")
    _add(database, 1)
    spoil(database.path)
    for _ in range(2):
        with pytest.raises(DamagedError, match=r"was (removed|replaced) while open, so nothing more is written"):
            _add(database, 2)


def test_deleted_database_is_not_recreated(database: SqliteDatabase) -> None:
    database.close()
    database.path.unlink()
    with pytest.raises(DatabaseError, match=r"unable to open"):
        _add(SqliteDatabase(database.path), 1)
    assert not database.path.exists()


@pytest.mark.slow
def test_serve_ends_when_database_is_deleted(tmp_path: Path) -> None:
    with RunningService(tmp_path / "data") as service:
        scheduler = service.pid("scheduler")
        service.data.database.rename(tmp_path / "elsewhere.sqlite3")
        os.kill(scheduler, signal.SIGKILL)
        assert service.process.wait(timeout=60) == 3
        assert not service.data.database.exists()
    assert "was removed or replaced while the service was running; put it back" in (tmp_path / "data.log").read_text()


# A killed migration.


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database of today's schema, with one event."""
    path = tmp_path / "old" / "podium.sqlite3"
    path.parent.mkdir()
    migrate(path)
    database = SqliteDatabase(path)
    _add(database, 1)
    database.close()
    return path


@pytest.fixture
def second(tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one more migration."""
    folder = tmp_path / "migrations"
    shutil.copytree(str(alembic_config().get_main_option("script_location")), folder)
    (folder / "versions" / "next.py").write_text(SECOND.replace("BEFORE", newest_schema()))
    config = alembic_config()
    config.set_main_option("script_location", str(folder))
    monkeypatch.setattr(migration, "alembic_config", lambda: config)
    known = (*schema_version.known_schemas(), "next")
    monkeypatch.setattr(schema_version, "known_schemas", lambda: known)
    return folder


@pytest.mark.slow
def test_migration_is_atomic_when_killed_at_any_statement(tmp_path: Path, old: Path, second: Path) -> None:
    seen, before = set(), _schema(old)
    for statement in range(1, 100):
        folder = tmp_path / f"killed at {statement}"
        shutil.copytree(old.parent, folder)
        path = folder / old.name
        killed = _python(MIGRATE, path, second, statement)
        killed.communicate(timeout=60)
        seen.add(_schema(path))
        copies = list(DataDirectory(folder).backups.glob("*.sqlite3"))
        assert [(_schema(copy), _numbers(copy)) for copy in copies] == [(before, [1])] * len(copies)
        assert (migrate(path).now, _numbers(path)) == ("next", [1])
        if killed.returncode == 0:
            break
        assert killed.returncode == -signal.SIGKILL
    assert statement > 4
    assert seen == {before, "next"}


def _schema(path: Path) -> str:
    with contextlib.closing(connect(path, "rw")) as connection:
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def test_concurrent_starts_migrate_once(tmp_path: Path) -> None:
    path = tmp_path / "podium.sqlite3"
    starts = [
        subprocess.Popen(
            [sys.executable, "-P", "-m", "podium.db.schema.migrate", str(path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    said = [start.communicate(timeout=60)[0] for start in starts]
    assert [start.returncode for start in starts] == [0, 0, 0]
    assert sum('"before": null' in line for line in said) == 1
