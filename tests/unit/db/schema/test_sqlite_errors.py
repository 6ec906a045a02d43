"""What SQLite says, as our errors: what waiting cures, what it does not, and what is no damage at all."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from podium.db.schema import lock_holders, sqlite_errors
from podium.db.schema.backup import backup
from podium.db.schema.engine import Database, connect_to_look, is_still
from podium.db.schema.integrity_check import check
from podium.db.schema.migrate import migrate
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DamagedError, DatabaseError
from tests.commands import Podium


def test_a_row_that_is_there_already_is_never_cured_by_waiting(database: Database) -> None:
    twice = text("INSERT INTO events (id, at, kind) VALUES (1, 1, 'written')")
    with database.write() as connection:
        connection.execute(twice)
    with (
        pytest.raises(DamagedError, match=r"UNIQUE constraint failed: events\.id; nothing was written"),
        database.write() as connection,
    ):
        connection.execute(twice)


def test_a_driver_without_codes_is_understood_by_its_words(tmp_path: Path) -> None:
    assert sqlite_errors.code_of(Exception("UNIQUE constraint failed: trials.id")) == 19
    assert isinstance(
        sqlite_errors.refusal(tmp_path, "write to", Exception("CHECK constraint failed: x")), DamagedError
    )


def test_what_cannot_be_opened_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "podium.sqlite3"
    migrate(path)

    def barred(_: Path) -> None:
        connect_to_look(tmp_path / "gone" / "podium.sqlite3").execute("SELECT 1")

    monkeypatch.setattr("podium.db.schema.integrity_check.connect_to_look", barred)
    monkeypatch.setattr("podium.db.schema.migrate.connect_to_look", barred)
    for look in (check, migrate):
        with pytest.raises(DatabaseError, match=r"cannot check .*: unable to open database file$"):
            look(path)


def test_a_sound_database_on_a_full_disk_is_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "podium.sqlite3"
    migrate(path)
    found = os.statvfs_result((4096, 4096, 1 << 20, 0, 0, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: found)
    report = check(path)
    assert report.problems == ()
    assert "no space left" in report.advice[-1]


def test_the_name_of_a_process_need_not_be_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "comm").write_bytes(b"caf\xc3\n")
    monkeypatch.setattr(lock_holders, "Path", lambda _: tmp_path / "comm")
    assert lock_holders._name(1) == "caf\N{REPLACEMENT CHARACTER}"


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[DataDirectory]:
    """The data directory of a service that has ended, on a disk that cannot be written."""
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


def test_a_read_only_directory_is_looked_at_and_copied(
    read_only: DataDirectory, podium: Podium, tmp_path: Path
) -> None:
    assert is_still(read_only.database)
    assert check(read_only.database).problems == ()
    assert backup(read_only.database, tmp_path / "copy.sqlite3") > 0
    code, out, err = podium("doctor", "--data-dir", read_only.root)
    assert (code, "invariants hold" in out) == (0, True), err


def test_a_read_only_directory_is_not_upgraded_and_says_so(read_only: DataDirectory, podium: Podium) -> None:
    code, _, err = podium("db", "upgrade", "--data-dir", read_only.root)
    assert (code, len(err.splitlines())) == (3, 1)
    assert "cannot write to the data directory" in err


def test_a_log_that_holds_something_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "podium.sqlite3"
    migrate(path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert is_still(path)
    (tmp_path / "podium.sqlite3-wal").write_bytes(b"frames")
    assert not is_still(path)
