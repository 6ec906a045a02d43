"""The mapping of SQLite's errors: transient errors, permanent ones, and errors that are not damage."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from podium.db.schema import file_lock_holders, sqlite_errors
from podium.db.schema.database import Database
from podium.db.schema.integrity_check import check
from podium.db.schema.migrate import migrate
from podium.db.schema.online_backup import backup
from podium.db.schema.sqlite_database import connect_read_only, is_unchanged
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DamagedError, DatabaseError
from tests.commands import Podium

pytestmark = pytest.mark.sqlite


def test_duplicate_row_is_a_permanent_error(database: Database) -> None:
    twice = text("INSERT INTO events (id, at, kind) VALUES (1, 1, 'written')")
    with database.write() as connection:
        connection.execute(twice)
    with (
        pytest.raises(DamagedError, match=r"UNIQUE constraint failed: events\.id; nothing was written"),
        database.write() as connection,
    ):
        connection.execute(twice)


def test_error_without_a_code_is_classified_by_its_message(tmp_path: Path) -> None:
    assert sqlite_errors.code_of(Exception("UNIQUE constraint failed: trials.id")) == 19
    assert isinstance(
        sqlite_errors.refusal(tmp_path, "write to", Exception("CHECK constraint failed: x")), DamagedError
    )


def test_database_that_cannot_be_opened_is_not_reported_as_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "podium.sqlite3"
    migrate(path)

    def fail_to_open(_: Path) -> None:
        connect_read_only(tmp_path / "gone" / "podium.sqlite3").execute("SELECT 1")

    monkeypatch.setattr("podium.db.schema.integrity_check.connect_read_only", fail_to_open)
    monkeypatch.setattr("podium.db.schema.migrate.connect_read_only", fail_to_open)
    for action in (check, migrate):
        with pytest.raises(DatabaseError, match=r"cannot check .*: unable to open database file$"):
            action(path)


def test_full_disk_is_not_a_problem_of_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "podium.sqlite3"
    migrate(path)
    found = os.statvfs_result((4096, 4096, 1 << 20, 0, 0, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: found)
    report = check(path)
    assert report.problems == ()
    assert "no space left" in report.advice[-1]


def test_process_name_need_not_be_valid_utf8(tmp_path: Path) -> None:
    database = tmp_path / "podium.sqlite3"
    database.touch()
    file = database.stat()
    device = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}"
    (tmp_path / "locks").write_text(f"1: POSIX  ADVISORY  WRITE 1 {device}:{file.st_ino} 0 EOF\n")
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "comm").write_bytes(b"caf\xc3\n")
    assert file_lock_holders.holders(database, proc=tmp_path) == ["caf\N{REPLACEMENT CHARACTER} (process 1)"]


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[DataDirectory]:
    """The data directory of a service that has ended, on a read-only disk."""
    data = DataDirectory(tmp_path / "data")
    data.prepare()
    migrate(data.database)
    data.service_lock.touch()
    for options in (["--bind", str(data.root)], ["-o", "remount,ro,bind"]):
        mounted = subprocess.run(["mount", *options, str(data.root)], capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            subprocess.run(["umount", "-l", str(data.root)], capture_output=True, check=False)
            pytest.skip(f"cannot mount here: {mounted.stderr.strip()}")
    try:
        yield data
    finally:
        subprocess.run(["umount", "-l", str(data.root)], check=True)


def test_read_only_directory_can_be_checked_and_copied(
    read_only: DataDirectory, podium: Podium, tmp_path: Path
) -> None:
    assert is_unchanged(read_only.database)
    assert check(read_only.database).problems == ()
    assert backup(read_only.database, tmp_path / "copy.sqlite3") > 0
    code, out, err = podium("doctor", "--data-dir", read_only.root)
    assert (code, "invariants hold" in out) == (0, True), err


def test_upgrade_of_a_read_only_directory_is_refused(read_only: DataDirectory, podium: Podium) -> None:
    code, _, err = podium("db", "upgrade", "--data-dir", read_only.root)
    assert (code, len(err.splitlines())) == (3, 1)
    assert "cannot write to the data directory" in err


def test_nonempty_write_ahead_log_is_not_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "podium.sqlite3"
    migrate(path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert is_unchanged(path)
    (tmp_path / "podium.sqlite3-wal").write_bytes(b"frames")
    assert not is_unchanged(path)
