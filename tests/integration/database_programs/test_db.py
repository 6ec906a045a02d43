"""`podium db`: a backup that is one complete file, a check that finds damage, an upgrade refused during a service."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from pathlib import Path

import pytest
from filelock import FileLock
from sqlalchemy import insert, text

from podium.db.schema.database import Database
from podium.db.schema.sqlite_database import SqliteDatabase, connect
from podium.db.schema.tables import sweeps, trials
from podium.sweep.runtime.layout import DataDirectory
from tests.commands import Podium
from tests.databases import sqlite_content
from tests.filled_databases import digests


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    """A data directory with a migrated database."""
    made = DataDirectory(tmp_path / "data")
    made.prepare()
    made.database.write_bytes(sqlite_content())
    return made


def _events(path: Path) -> int:
    with contextlib.closing(connect(path, "ro")) as connection:
        count: int = connection.execute("SELECT count(*) FROM events").fetchone()[0]
    return count


def _add_event(database: Database) -> None:
    with database.write(durable=False) as connection:
        connection.execute(text("INSERT INTO events (at, kind) VALUES (1, 'written')"))


# Backup.


def test_backup_of_an_open_database_is_one_complete_private_file(podium: Podium, data: DataDirectory) -> None:
    database = SqliteDatabase(data.database)
    _add_event(database)
    code, out, _ = podium("db", "backup", "--json", "--data-dir", data.root)
    _add_event(database)
    database.close()
    done = json.loads(out)
    copy = Path(done["path"])
    assert (code, copy.parent, copy.stat().st_size) == (0, data.backups, done["bytes"])
    assert list(data.backups.iterdir()) == [copy]
    assert copy.stat().st_mode & 0o077 == 0
    assert _events(copy) == 1
    assert _events(data.database) == 2


def test_backup_does_not_overwrite_unless_forced(podium: Podium, data: DataDirectory, tmp_path: Path) -> None:
    target = tmp_path / "copy.sqlite3"
    target.write_text("existing content")
    code, _, err = podium("db", "backup", target, "--data-dir", data.root)
    assert (code, err) == (3, f"{target} exists; give another file, or overwrite it with --force\n")
    assert target.read_text() == "existing content"
    assert podium("db", "backup", target, "--force", "--data-dir", data.root)[0] == 0
    assert _events(target) == 0


def test_database_is_refused_as_the_target_of_its_backup(podium: Podium, data: DataDirectory) -> None:
    code, _, err = podium("db", "backup", data.database, "--force", "--data-dir", data.root)
    assert (code, err) == (3, f"{data.database} is the database itself; give another file\n")


@pytest.mark.parametrize("command", ["backup", "check"])
def test_missing_database_is_an_error_message(podium: Podium, tmp_path: Path, command: str) -> None:
    code, _, err = podium("db", command, "--data-dir", tmp_path)
    assert code == 3
    assert err.startswith(f"there is no database at {tmp_path}")
    assert list(tmp_path.iterdir()) == []


# Check.


def test_consistent_database_is_reported_as_ok(podium: Podium, data: DataDirectory) -> None:
    code, out, _ = podium("db", "check", "--data-dir", data.root)
    assert code == 0
    assert out.startswith(f"{data.database}: ok; ")


def test_dangling_references_are_found(podium: Podium, data: DataDirectory) -> None:
    with contextlib.closing(connect(data.database, "rw")) as connection:
        connection.execute("INSERT INTO enqueued (sweep_id, params, created_at) VALUES (77, '{}', 1)")
        connection.commit()
    code, out, _ = podium("db", "check", "--json", "--data-dir", data.root)
    assert code == 1
    assert json.loads(out)["problems"] == ["references of enqueued to missing rows of sweeps: 1"]


def test_damage_is_found_and_the_restore_command_is_named(podium: Podium, data: DataDirectory) -> None:
    podium("db", "backup", "--data-dir", data.root)
    content = bytearray(data.database.read_bytes())
    content[8192:16384] = os.urandom(8192)
    data.database.write_bytes(content)
    code, out, _ = podium("db", "check", "--json", "--data-dir", data.root)
    problems = json.loads(out)["problems"]
    assert code == 1
    assert "damaged" in problems[0]
    assert f"restore a backup: rm -f '{data.database}'-* && cp '{data.backups}/podium-" in problems[-1]
    assert data.database.read_bytes() == content
    assert podium("db", "backup", "--data-dir", data.root)[0] == 3  # a damaged database is not backed up
    assert len(list(data.backups.iterdir())) == 1


# Upgrade.


def test_upgrade_of_the_newest_schema_does_nothing(podium: Podium, data: DataDirectory) -> None:
    before = data.database.read_bytes()
    code, out, _ = podium("db", "upgrade", "--data-dir", data.root)
    assert (code, "is up to date; nothing to do" in out) == (0, True)
    assert data.database.read_bytes() == before


def test_upgrade_is_refused_while_a_service_runs(podium: Podium, data: DataDirectory) -> None:
    with FileLock(data.service_lock):
        code, _, err = podium("db", "upgrade", "--data-dir", data.root)
    assert (code, "a service is already running on" in err, "stop it before an upgrade" in err) == (3, True, True)


def test_check_for_a_running_service_does_not_block_an_upgrade(podium: Podium, data: DataDirectory) -> None:
    with data.service_lock.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        looked = threading.Timer(0.1, fcntl.flock, (lock, fcntl.LOCK_UN))
        looked.start()
        assert podium("db", "upgrade", "--data-dir", data.root)[0] == 0
        looked.join()


# Copy.


@pytest.fixture
def url_file(tmp_path: Path) -> Path:
    """A file with the URL of an empty PostgreSQL database."""
    from tests.postgres_databases import NAME
    from tests.postgres_server import postgres_server

    postgres_server().create(NAME)
    file = tmp_path / "url"
    file.write_text(postgres_server().url(NAME))
    file.chmod(0o600)
    return file


@pytest.mark.postgres
def test_copy_to_postgres_and_back(podium: Podium, data: DataDirectory, url_file: Path, tmp_path: Path) -> None:
    database = SqliteDatabase(data.database)
    _add_event(database)
    database.close()
    options = ("--database-url-file", url_file)
    code, out, _ = podium("db", "copy", "to-postgres", "--data-dir", data.root, *options)
    assert code == 0
    assert "2 rows, verified" in out and f"{data.database} is unchanged" in out
    (tmp_path / "back").mkdir()
    assert podium("db", "copy", "from-postgres", "--data-dir", tmp_path / "back", *options)[0] == 0
    assert _events(DataDirectory(tmp_path / "back").database) == 1


@pytest.mark.postgres
def test_copy_during_a_service_is_refused(podium: Podium, data: DataDirectory, url_file: Path) -> None:
    with FileLock(data.service_lock):
        code, _, err = podium("db", "copy", "to-postgres", "--data-dir", data.root, "--database-url-file", url_file)
    assert code == 3
    assert err.startswith(f"a service is already running on {data.root}; stop it before a copy")


@pytest.mark.postgres
def test_copy_reads_the_url_from_the_environment(
    podium: Podium, data: DataDirectory, url_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PODIUM_DATABASE_URL", url_file.read_text())
    assert podium("db", "copy", "to-postgres", "--data-dir", data.root)[0] == 0


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        ("postgresql://user:secret@host/name", 0o640, "other users may read it; run `chmod 600 {file}`"),
        ("mysql://user:secret@host/name", 0o600, "write one line, postgresql://USER:PASSWORD@HOST/DATABASE"),
        ("\n", 0o600, "is empty"),
        ("postgresql://user:secret%@host/name", 0o600, "percent-encode special characters of the password"),
        pytest.param(
            "postgresql://user:se@secret@host/name",
            0o600,
            "percent-encode special characters of the password",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "postgresql://user:se/secret@host/name",
            0o600,
            "percent-encode special characters of the password",
            marks=pytest.mark.slow,
        ),
        ("postgresql://user:secret@127.0.0.1:9/name", 0o600, "cannot write to the PostgreSQL database 'name'"),
    ],
)
def test_url_that_cannot_be_used_is_refused_without_its_password(
    podium: Podium, data: DataDirectory, tmp_path: Path, content: str, mode: int, message: str
) -> None:
    file = tmp_path / "url"
    file.write_text(content)
    file.chmod(mode)
    code, out, err = podium("db", "copy", "to-postgres", "--data-dir", data.root, "--database-url-file", file)
    assert code == 3
    assert message.format(file=file) in err
    assert "secret" not in out + err


# Restore, and the other commands on PostgreSQL.


@pytest.mark.sqlite
def test_restore_puts_a_backup_in_place_and_keeps_the_other(
    podium: Podium, data: DataDirectory, tmp_path: Path
) -> None:
    file = tmp_path / "copy.sqlite3"
    assert podium("db", "backup", file, "--data-dir", data.root)[0] == 0
    database = SqliteDatabase(data.database)
    _add_event(database)
    code, _, err = podium("db", "restore", tmp_path / "none", "--data-dir", data.root)
    assert (code, err) == (3, f"there is no database at {tmp_path / 'none'}; give its folder with --data-dir\n")
    with FileLock(data.service_lock):
        code, _, err = podium("db", "restore", file, "--data-dir", data.root)
        assert code == 3 and "stop it before a restore" in err
    code, out, _ = podium("db", "restore", file, "--data-dir", data.root, "--json")
    database.close()
    done = json.loads(out)
    assert code == 0
    assert _events(data.database) == 0
    assert _events(Path(done["kept"])) == 1
    assert sorted(path.name for path in data.root.glob("podium.sqlite3*")) == ["podium.sqlite3"]


@pytest.mark.sqlite
def test_damaged_backup_is_not_restored(podium: Podium, data: DataDirectory, tmp_path: Path) -> None:
    file = tmp_path / "copy.sqlite3"
    content = bytearray(data.database.read_bytes())
    content[8192:12288] = bytes(4096)
    file.write_bytes(content)
    before = data.database.read_bytes()
    code, _, err = podium("db", "restore", file, "--data-dir", data.root)
    assert code == 3 and f"{file} cannot be restored: " in err
    assert data.database.read_bytes() == before


@pytest.mark.sqlite
def test_damaged_database_is_replaced_by_a_backup(podium: Podium, data: DataDirectory, tmp_path: Path) -> None:
    file = tmp_path / "copy.sqlite3"
    assert podium("db", "backup", file, "--data-dir", data.root)[0] == 0
    data.database.write_bytes(b"not a database")
    code, out, _ = podium("db", "restore", file, "--data-dir", data.root, "--json")
    assert code == 0
    assert Path(json.loads(out)["kept"]).read_bytes() == b"not a database"
    assert _events(data.database) == 0


@pytest.fixture
def on_postgres(url_file: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty database, in the environment."""
    monkeypatch.setenv("PODIUM_DATABASE_URL", url_file.read_text())
    return url_file.read_text()


@pytest.mark.postgres
def test_postgres_is_upgraded_backed_up_and_restored(podium: Podium, on_postgres: str, tmp_path: Path) -> None:
    from podium.db.schema.postgres_database import PostgresDatabase
    from tests.postgres_databases import NAME
    from tests.postgres_server import postgres_server

    code, out, _ = podium("db", "upgrade", "--data-dir", tmp_path)
    assert code == 0 and "created a new database with schema" in out
    database = PostgresDatabase(on_postgres)
    _add_event(database)
    file = tmp_path / "copy.pgdump"
    code, out, _ = podium("db", "backup", file, "--data-dir", tmp_path, "--json")
    assert code == 0
    assert json.loads(out) == {"path": str(file), "bytes": file.stat().st_size}
    assert file.stat().st_mode & 0o077 == 0
    wanted = digests(database)
    code, _, err = podium("db", "backup", file, "--data-dir", tmp_path)
    assert code == 3 and "exists; give another file" in err
    code, _, err = podium("db", "restore", file, "--data-dir", tmp_path)
    assert code == 3 and "is not empty" in err
    postgres_server().create(NAME)
    code, out, _ = podium("db", "restore", file, "--data-dir", tmp_path)
    assert code == 0 and f"restored {file}" in out
    assert digests(database) == wanted
    file.write_bytes(b"PGDMP damaged")
    postgres_server().create(NAME)
    code, _, err = podium("db", "restore", file, "--data-dir", tmp_path)
    assert code == 3 and err.startswith("pg_restore failed: ")


@pytest.mark.postgres
def test_postgres_is_checked(podium: Podium, on_postgres: str, tmp_path: Path) -> None:
    from podium.db.schema.postgres_database import PostgresDatabase
    from tests.postgres_databases import NAME
    from tests.postgres_server import postgres_server

    code, out, _ = podium("db", "check", "--data-dir", tmp_path, "--json")
    assert code == 1 and json.loads(out)["problems"] == ["not a Podium database, or empty; give another URL"]
    podium("db", "upgrade", "--data-dir", tmp_path)
    code, out, _ = podium("db", "check", "--data-dir", tmp_path)
    assert code == 0, out
    assert "ok; " in out and "without amcheck" in out and "CREATE EXTENSION amcheck" in out
    postgres_server().execute("CREATE EXTENSION amcheck", NAME)
    functions = "bt_index_check(regclass, boolean), bt_index_check(regclass), verify_heapam"
    postgres_server().execute(f"GRANT EXECUTE ON FUNCTION {functions} TO podium", NAME)
    code, out, _ = podium("db", "check", "--data-dir", tmp_path)
    assert code == 0 and "with amcheck" in out
    database = PostgresDatabase(on_postgres)
    with database.write() as connection:
        sweep = {"id": 1, "name": "a", "state": "finished", "spec": "{}", "metric": "m", "goal": "minimize"}
        connection.execute(insert(sweeps).values(**sweep, run_cap=1, created_at=1.0, ended_at=2.0))
        trial = {"id": 5, "sweep_id": 1, "number": 0, "state": "finished", "sampler": "random"}
        connection.execute(insert(trials).values(**trial, created_at=1.0, ended_at=2.0))
    database.close()
    code, out, _ = podium("db", "check", "--data-dir", tmp_path, "--json")
    assert code == 1
    assert any("finished with value none" in problem for problem in json.loads(out)["problems"])


@pytest.mark.postgres
def test_backup_of_what_is_not_podiums_is_refused(podium: Podium, on_postgres: str, tmp_path: Path) -> None:
    assert on_postgres
    code, _, err = podium("db", "backup", tmp_path / "copy", "--data-dir", tmp_path)
    assert code == 3 and "is not a Podium database, or empty" in err
    assert not (tmp_path / "copy").exists()
