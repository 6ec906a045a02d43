"""`podium db copy`: every row arrives to the last bit, interrupted copies continue, anything else is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, delete, insert, select, text, update

from podium.db.copies.database_copy import COPIED, CopyResult, Direction, Place, copy, copy_database
from podium.db.integrity.main import audit
from podium.db.schema.database import Database
from podium.db.schema.integrity_check import check
from podium.db.schema.migrate import migrate
from podium.db.schema.online_backup import backup
from podium.db.schema.schema_version import newest_schema
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.schema.tables import events, metadata, metrics, scheduler_lease, service, sweeps, tokens
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DatabaseError
from tests.databases import empty, open_sqlite
from tests.filled_databases import fill
from tests.postgres_databases import NAME, open_separate_postgres_database
from tests.postgres_server import postgres_server

pytestmark = pytest.mark.postgres

Rows = dict[str, list[tuple[object, ...]]]


@pytest.fixture
def path(database_folder: Path) -> Iterator[Path]:
    """The file of an SQLite database, closed at the end."""
    for file in database_folder.iterdir():
        file.unlink()
    found = database_folder / "podium.sqlite3"
    yield found
    open_sqlite(found).close()


@pytest.fixture
def postgres() -> Iterator[Database]:
    """A migrated PostgreSQL database."""
    opened = open_separate_postgres_database(empty)
    yield opened
    opened.close()


@pytest.fixture
def url() -> str:
    """The URL of an empty PostgreSQL database."""
    postgres_server().create(NAME)
    return postgres_server().url(NAME)


def _filled_file(path: Path, *, rows: int = 8, more: tuple[float | str, ...] = ()) -> None:
    database = open_sqlite(path)
    with database.write() as connection:
        fill(connection, rows, more=more)
    database.close()


def _content(connection: Connection) -> Rows:
    """The rows of each table, with their types and every bit of their numbers."""
    return {
        table.name: sorted(tuple(map(repr, row)) for row in connection.execute(select(table)))
        for table in metadata.sorted_tables
    }


def _content_of(database: Database) -> Rows:
    with database.read() as connection:
        return _content(connection)


def _file_content(path: Path) -> Rows:
    database = SqliteDatabase(path)
    try:
        return _content_of(database)
    finally:
        database.close()


def _postgres_content(url: str) -> Rows:
    from podium.db.schema.postgres_database import PostgresDatabase

    database = PostgresDatabase(url)
    try:
        return _content_of(database)
    finally:
        database.close()


def _schema(connection: Connection) -> str:
    found: str = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    return found


def test_copy_to_postgres_and_back_has_every_row_to_the_last_bit(path: Path, url: str, tmp_path: Path) -> None:
    _filled_file(path)
    there = copy_database(path, "to-postgres", url)
    back = copy_database(tmp_path / "back.sqlite3", "from-postgres", url)
    tables = len(COPIED)
    assert (there.rows, there.copied, there.changed) == (8 * (tables - 1) + 1, 8 * (tables - 1) + 1, {})
    assert (back.rows, back.changed) == (there.rows, {})
    assert _postgres_content(url) == _file_content(path) == _file_content(tmp_path / "back.sqlite3")


def test_rows_that_the_target_stores_otherwise_are_counted(path: Path, url: str, tmp_path: Path) -> None:
    _filled_file(path, rows=2)
    database = open_sqlite(tmp_path / "nul.sqlite3")
    with database.write() as connection:
        fill(connection, 2)
        connection.execute(update(sweeps).where(sweeps.c.id == 1).values(description="a\0b"))
    database.close()
    assert copy_database(tmp_path / "nul.sqlite3", "to-postgres", url).changed == {"sweeps": 1}
    content = _postgres_content(url)["sweeps"]
    assert sum("'a\N{SYMBOL FOR NULL}b'" in row for row in content) == 1


def test_negative_zero_becomes_zero_in_sqlite(postgres: Database, tmp_path: Path) -> None:
    with postgres.write() as connection:
        fill(connection, 2)
        connection.execute(update(metrics).values(value=-0.0))
    postgres.close()
    done = copy_database(tmp_path / "back.sqlite3", "from-postgres", postgres_server().url(NAME))
    assert done.changed == {"metrics": 2}
    assert all("0.0" in row and "-0.0" not in row for row in _file_content(tmp_path / "back.sqlite3")["metrics"])


@pytest.mark.parametrize("deleted", [False, True])
def test_ids_go_on_after_the_highest_that_was_given(path: Path, url: str, tmp_path: Path, deleted: bool) -> None:
    database = open_sqlite(path)
    with database.write() as connection:
        connection.execute(insert(events), [{"at": 1.0, "kind": "a", "id": 2**40}])
        connection.execute(insert(tokens).values(id=7, name="a", role="admin", digest="d", created_at=1.0))
        if deleted:
            connection.execute(delete(events))
    database.close()
    copy_database(path, "to-postgres", url)
    copy_database(tmp_path / "back.sqlite3", "from-postgres", url)
    from podium.db.schema.postgres_database import PostgresDatabase

    for opened in (PostgresDatabase(url), SqliteDatabase(tmp_path / "back.sqlite3")):
        with opened.write() as connection:
            event = insert(events).values(at=2.0, kind="b").returning(events.c.id)
            token = insert(tokens).values(name="b", role="admin", digest="e", created_at=1.0).returning(tokens.c.id)
            assert connection.execute(event).scalar_one() == 2**40 + 1
            assert connection.execute(token).scalar_one() == 8
        opened.close()


# Interruptions. The test raises where a signal would kill the process: all that counts is what was committed.


class _InterruptedError(Exception):
    pass


def _interrupt_after(lines: int) -> Callable[[str], None]:
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if len(said) == lines:
            raise _InterruptedError

    return say


@pytest.mark.parametrize("direction", ["to-postgres", "from-postgres"])
def test_interrupted_copy_is_refused_by_everything_and_goes_on(
    path: Path, postgres: Database, tmp_path: Path, direction: Direction
) -> None:
    source, target = Place(open_sqlite(path), "the source"), Place(postgres, "the target")
    if direction == "from-postgres":
        source, target = target, source
    with source.database.write() as connection:
        fill(connection, 8)
    copied = 0
    lines = 1
    while True:
        try:
            done = copy(source, target, _interrupt_after(lines), batch=3)
        except _InterruptedError:
            lines += 5
            with target.database.read() as connection:
                assert _schema(connection).startswith("copy-")
            copied += 1
        else:
            break
    assert copied > 10
    assert done.copied == 0
    assert _content_of(target.database) == _content_of(source.database)
    with target.database.read() as connection:
        assert _schema(connection) == newest_schema()


def test_copy_goes_on_within_a_table(path: Path, postgres: Database) -> None:
    source, target = Place(open_sqlite(path), "the source"), Place(postgres, "the target")
    with source.database.write() as connection:
        fill(connection, 8)
    with pytest.raises(_InterruptedError):
        copy(source, target, _interrupt_after(1), batch=3)
    with source.database.read() as connection, target.database.write() as writing:
        first = COPIED[1]
        rows = connection.execute(select(first).order_by(*first.primary_key.columns).limit(5)).mappings().all()
        writing.execute(insert(first), [dict(row) for row in rows])
    done = copy(source, target, batch=3)
    assert done.rows - done.copied == 8 + 5 if first is not service else 5
    assert _content_of(target.database) == _content_of(source.database)


@pytest.fixture
def unfinished(path: Path, tmp_path: Path, postgres: Database) -> DataDirectory:
    """A data directory whose database is an unfinished copy."""
    with postgres.write() as connection:
        fill(connection, 2)
    data = DataDirectory(tmp_path / "data")
    data.prepare()
    target = Place(open_sqlite(data.database), str(data.database))
    with pytest.raises(_InterruptedError):
        copy(Place(postgres, "the source"), target, _interrupt_after(9))
    target.database.close()
    return data


def test_unfinished_copy_in_a_file_is_refused(unfinished: DataDirectory, tmp_path: Path, url: str) -> None:
    for use in (
        lambda: migrate(unfinished.database),
        lambda: check(unfinished.database),
        lambda: audit(unfinished),
        lambda: backup(unfinished.database, tmp_path / "copy.sqlite3"),
        lambda: copy_database(unfinished.database, "to-postgres", url),
    ):
        with pytest.raises(DatabaseError, match="unfinished copy"):
            use()
    assert not (tmp_path / "copy.sqlite3").exists()


def test_unfinished_copy_in_postgres_is_refused(path: Path, postgres: Database) -> None:
    from podium.db.schema.postgres_schema_upgrade import migrate_postgres

    source = Place(open_sqlite(path), "the source")
    with pytest.raises(_InterruptedError):
        copy(source, Place(postgres, "the target"), _interrupt_after(9))
    with pytest.raises(DatabaseError, match="unfinished copy"):
        migrate_postgres(postgres_server().url(NAME))


# Refusals.


def _refusal(path: Path, direction: Direction, url: str) -> str:
    with pytest.raises(DatabaseError) as raised:
        copy_database(path, direction, url)
    return str(raised.value)


def _copy(path: Path, url: str) -> CopyResult:
    return copy_database(path, "to-postgres", url)


def test_target_with_rows_is_refused(path: Path, url: str) -> None:
    _filled_file(path)
    _copy(path, url)
    assert "is not empty: it has rows in" in _refusal(path, "to-postgres", url)
    assert f"{path} is not empty" in _refusal(path, "from-postgres", url)


def test_source_that_changed_since_the_interruption_is_refused(path: Path, postgres: Database) -> None:
    source, target = Place(open_sqlite(path), "the source"), Place(postgres, "the target")
    with pytest.raises(_InterruptedError):
        copy(source, target, _interrupt_after(5))
    with source.database.write() as connection:  # a scheduler started
        connection.execute(insert(scheduler_lease).values(id=1, epoch=1, holder="process 1", taken_at=1.0, seen_at=1.0))
    with pytest.raises(DatabaseError, match="the target has the unfinished copy of another database, or of this one"):
        copy(source, target)


def test_target_with_other_rows_than_the_source_is_not_finished(path: Path, postgres: Database) -> None:
    source, target = Place(open_sqlite(path), "the source"), Place(postgres, "the target")
    with source.database.write() as connection:
        fill(connection)
    lines = 3 * len(COPIED) // 2  # all have been copied
    with pytest.raises(_InterruptedError):
        copy(source, target, _interrupt_after(lines))
    with target.database.write() as connection:
        connection.execute(update(metrics).where(metrics.c.step == 1).values(value=0.1 + 0.2))
    with pytest.raises(DatabaseError, match="the 8 rows of metrics are not those of the source"):
        copy(source, target)
    with target.database.read() as connection:
        assert _schema(connection).startswith("copy-")


def test_target_that_counts_other_trials_than_the_source_is_not_finished(path: Path, postgres: Database) -> None:
    source, target = Place(open_sqlite(path), "the source"), Place(postgres, "the target")
    with source.database.write() as connection:
        fill(connection)
    with pytest.raises(_InterruptedError):
        copy(source, target, _interrupt_after(3 * len(COPIED) // 2))
    with target.database.write() as connection:
        connection.execute(text("UPDATE trial_counts SET count = count + 1 WHERE sweep_id = 1"))
    with pytest.raises(DatabaseError, match="the numbers of trials by state are not those of the source"):
        copy(source, target)


def test_other_schema_is_refused(path: Path, url: str) -> None:
    database = open_sqlite(path)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0012'"))
    database.close()
    assert f"{path} has schema 0012" in _refusal(path, "to-postgres", url)
    assert "podium db upgrade" in _refusal(path, "to-postgres", url)


def test_missing_or_foreign_source_is_refused(path: Path, url: str, tmp_path: Path) -> None:
    assert f"there is no database at {tmp_path / 'none'}" in _refusal(tmp_path / "none", "to-postgres", url)
    assert "is not a Podium database, or empty" in _refusal(tmp_path / "new.sqlite3", "from-postgres", url)


def test_database_of_a_running_service_is_refused(path: Path, postgres: Database, tmp_path: Path) -> None:
    open_sqlite(path).close()
    url = postgres_server().url(NAME)
    with postgres.read():
        assert "is in use: Podium has another connection" in _refusal(path, "to-postgres", url)
        assert "is in use" in _refusal(tmp_path / "new.sqlite3", "from-postgres", url)


def test_nobody_writes_to_the_source_during_the_copy(path: Path, postgres: Database) -> None:
    source = Place(open_sqlite(path), "the source")
    other = SqliteDatabase(path, busy_s=0.01)
    refused = []

    def say(_: str) -> None:
        with pytest.raises(DatabaseError, match="locked"), other.write():
            pass
        refused.append(True)

    copy(source, Place(postgres, "the target"), say)
    other.close()
    assert len(refused) == 2 * len(COPIED)
