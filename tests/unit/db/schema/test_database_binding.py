"""A data directory and a PostgreSQL database belong to each other from the first start on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from podium.db.access import tokens
from podium.db.access.tokens import Role
from podium.db.copies.database_copy import copy_database
from podium.db.schema.database import Database
from podium.db.schema.database_binding import is_postgres, recorded, url_file_of, url_file_to_start_with
from podium.db.schema.migrate import migrate
from podium.db.schema.open_database import open_database_of
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.postgres_schema_upgrade import migrate_postgres
from podium.db.schema.prepare_database import prepare
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.values.errors import DatabaseError, WrongDatabaseError
from tests.postgres_server import PostgresServer, postgres_server

pytestmark = pytest.mark.postgres

NAME, OTHER = "podium_bound", "podium_other"


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """With two empty databases."""
    found = postgres_server()
    for name in (NAME, OTHER):
        found.create(name)
    yield found
    for name in (NAME, OTHER):
        found.drop(name)


@pytest.fixture
def files(server: PostgresServer, tmp_path: Path) -> tuple[Path, Path]:
    """The files with the URLs of the two."""
    made = []
    for name in (NAME, OTHER):
        file = tmp_path / f"{name}.url"
        file.touch(mode=0o600)
        file.write_text(server.url(name))
        made.append(file)
    return made[0], made[1]


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    return _directory(tmp_path / "data")


def _directory(root: Path) -> DataDirectory:
    made = DataDirectory(root)
    made.prepare()
    return made


def _use(database: Database, name: str = "admin") -> None:
    """Write what the first start writes."""
    with database.write() as connection:
        tokens.add(connection, name, Role.ADMIN, f"secret-{name}", 0.0)
    database.close()


def _served(data: DataDirectory, file: Path) -> None:
    prepare(data, file, str(file))
    _use(PostgresDatabase(file.read_text()))


def test_first_start_binds_an_empty_database(data: DataDirectory, files: tuple[Path, Path]) -> None:
    assert not is_postgres(data)

    _served(data, files[0])
    prepare(data, files[0], str(files[0]))  # and the next one changes nothing

    binding = recorded(data)
    assert binding is not None
    assert (len(binding.service), NAME in binding.database, binding.url_file) == (12, True, str(files[0]))
    assert "podium@" not in data.database_binding.read_text()
    assert (is_postgres(data), url_file_of(data)) == (True, files[0])
    opened = open_database_of(data)
    with opened.read() as connection:
        assert connection.execute(text("SELECT name FROM service")).scalar_one() == binding.service
    opened.close()


def test_directory_is_refused_with_another_database(data: DataDirectory, files: tuple[Path, Path]) -> None:
    _served(data, files[0])
    with pytest.raises(WrongDatabaseError, match=f"{OTHER}.* is empty, and .* whose database was .*{NAME}"):
        prepare(data, files[1])

    _served(_directory(data.root.parent / "another"), files[1])
    with pytest.raises(WrongDatabaseError, match=f"{OTHER}.* belongs to the service .* whose database was .*{NAME}"):
        prepare(data, files[1])
    with pytest.raises(WrongDatabaseError, match=r"belongs to the service .* was it replaced"):
        open_database_of(data, files[1]).read().__enter__()


def test_database_is_refused_with_another_directory(data: DataDirectory, files: tuple[Path, Path]) -> None:
    _served(data, files[0])

    other = _directory(data.root.parent / "another")
    with pytest.raises(WrongDatabaseError, match=r"whose data directory is another one .*database.json"):
        prepare(other, files[0])
    with pytest.raises(DatabaseError, match="does not belong to a PostgreSQL database"):
        open_database_of(other, files[0])
    assert recorded(other) is None


def test_refused_database_is_not_changed(data: DataDirectory, files: tuple[Path, Path], server: PostgresServer) -> None:
    _served(data, files[0])

    with pytest.raises(WrongDatabaseError):
        prepare(data, files[1])
    empty = PostgresDatabase(files[1].read_text())
    with empty.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")).scalar_one() == 0
    empty.close()


def test_used_directory_needs_a_copy_of_its_own_database(data: DataDirectory, files: tuple[Path, Path]) -> None:
    migrate(data.database)
    with pytest.raises(DatabaseError, match=r"copy it to .* by `podium db copy to-postgres"):
        prepare(data, files[0])

    _use(SqliteDatabase(data.database))
    copy_database(data.database, "to-postgres", files[0].read_text())
    prepare(data, files[0], str(files[0]))
    assert is_postgres(data)

    data.database.unlink()
    copy_database(data.database, "from-postgres", files[0].read_text())
    assert not is_postgres(data)


def test_copy_that_is_older_than_the_file_is_refused(data: DataDirectory, files: tuple[Path, Path]) -> None:
    migrate(data.database)
    _use(SqliteDatabase(data.database))
    copy_database(data.database, "to-postgres", files[0].read_text())
    database = SqliteDatabase(data.database)
    with database.write() as connection:
        connection.execute(text("INSERT INTO events (at, kind) VALUES (0, 'x')"))
    database.close()

    with pytest.raises(DatabaseError, match="has been used since it was copied"):
        prepare(data, files[0])


def test_directory_with_results_is_refused_with_an_empty_database(
    data: DataDirectory, files: tuple[Path, Path]
) -> None:
    (data.trials / "1").mkdir()
    with pytest.raises(DatabaseError, match="holds results of trials; restore a backup of their database"):
        prepare(data, files[0])


def test_directory_and_database_can_both_move(
    data: DataDirectory, files: tuple[Path, Path], server: PostgresServer
) -> None:
    _served(data, files[0])
    server.create(OTHER, NAME)  # as by a backup that is restored on another server

    moved = DataDirectory(data.root.rename(data.root.parent / "moved"))
    prepare(moved, files[1], str(files[1]))

    binding = recorded(moved)
    assert binding is not None and OTHER in binding.database and binding.url_file == str(files[1])


def test_url_of_the_environment_is_remembered_only_while_the_service_runs(
    data: DataDirectory, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    prepare(data, files[0])

    with pytest.raises(DatabaseError, match=f"is the PostgreSQL database '{NAME}' .*: give its URL"):
        url_file_of(data)
    runtime = RuntimeDirectory.of(data)
    runtime.prepare()
    runtime.database_url.touch()
    assert url_file_of(data) == runtime.database_url
    monkeypatch.setenv("PODIUM_DATABASE_URL", files[0].read_text())
    assert url_file_of(data) is None


def test_url_of_the_environment_of_a_standby_is_found_while_it_runs(
    data: DataDirectory, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It has a folder of its own in the data directory, and commands name the data directory."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    prepare(data, files[0])
    standby = DataDirectory(data.root, "alpha")
    standby.prepare()
    runtime = RuntimeDirectory.of(standby)
    runtime.prepare()
    runtime.database_url.touch()
    assert url_file_of(data) == runtime.database_url
    with pytest.raises(DatabaseError, match="give its URL"):  # the file ends with the standby
        url_file_to_start_with(data)


def test_migrated_but_unused_database_is_free(data: DataDirectory, files: tuple[Path, Path]) -> None:
    migrate_postgres(files[0].read_text())
    prepare(data, files[0])
    assert is_postgres(data)


def test_running_service_notices_another_database(
    data: DataDirectory, files: tuple[Path, Path], server: PostgresServer
) -> None:
    _served(data, files[0])
    opened = open_database_of(data, files[0])
    with opened.read():
        pass

    server.create(NAME)  # in place of the old one, whose sessions end
    with pytest.raises(WrongDatabaseError, match="has no tables of Podium"), opened.read():
        pass
    server.drop(NAME)
    with pytest.raises(WrongDatabaseError, match="no longer exists"), opened.write():
        pass
    opened.close()
