"""The engines: durability, read-only readers, one writer at a time, and error messages."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from podium.db.schema.database import Database
from podium.db.schema.migrate import migrate
from podium.db.schema.sqlite_database import SqliteDatabase, sqlite_module
from podium.db.stores import event_outbox
from podium.db.stores.event_outbox import NewEvent
from podium.sweep.values.errors import DatabaseError, TooSlowError
from tests.databases import open_sqlite

pytestmark = pytest.mark.sqlite

_NORMAL, _FULL = 1, 2


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    """A migrated SQLite database."""
    opened = open_sqlite(tmp_path / "podium.sqlite3")
    yield opened
    opened.close()


def _kinds(database: Database) -> list[str]:
    with database.read() as connection:
        return [event["kind"] for event in event_outbox.after(connection, 0)]


@pytest.mark.parametrize(("durable", "synchronous"), [(True, _FULL), (False, _NORMAL)])
def test_only_durable_writes_wait_for_the_disk(database: SqliteDatabase, durable: bool, synchronous: int) -> None:
    with database.write(durable=durable) as connection:
        assert connection.execute(text("PRAGMA synchronous")).scalar_one() == synchronous
        assert connection.execute(text("PRAGMA foreign_keys")).scalar_one() == 1
        assert connection.execute(text("PRAGMA journal_mode")).scalar_one() == database.journal_mode.lower()
        event_outbox.add(connection, [NewEvent(1.0, "written")])
    assert _kinds(database) == ["written"]


def test_connection_of_writes_stays_open_until_one_fails(database: SqliteDatabase) -> None:
    with database.write() as first:
        event_outbox.add(first, [NewEvent(1.0, "first")])
    with database.write() as second, database.read():
        event_outbox.add(second, [NewEvent(2.0, "second")])
    assert second is first
    with contextlib.suppress(ZeroDivisionError), database.write() as third:
        event_outbox.add(third, [NewEvent(3.0, "third")])
        raise ZeroDivisionError
    assert third is first and third.closed, "nothing of a failed transaction is left in the next one"
    with database.write() as fourth:
        event_outbox.add(fourth, [NewEvent(4.0, "fourth")])
    assert fourth is not first
    database.close()
    assert fourth.closed
    assert _kinds(database) == ["first", "second", "fourth"]


@pytest.mark.parametrize("moment", range(1, 5))
def test_write_during_which_connections_are_closed_does_not_affect_the_next(
    database: SqliteDatabase, moment: int
) -> None:
    """As a reader in another thread does that has found damage. The last of the moments is after the commit."""
    left = [0]

    def close_at_moment() -> None:
        left[0] -= 1
        if left[0] == 0:
            other.close()

    other = SqliteDatabase(database.path, on_progress=close_at_moment)
    with other.write():
        pass
    left[0] = moment
    with contextlib.suppress(DatabaseError), other.write():
        pass
    assert left[0] <= 0
    with other.write() as connection:
        event_outbox.add(connection, [NewEvent(3.0, "next")])
    with other.write() as connection:
        event_outbox.add(connection, [NewEvent(4.0, "last")])
    assert _kinds(database) == ["next", "last"]
    other.close()


def test_write_ahead_log_is_used_only_with_a_correct_sqlite(database: SqliteDatabase) -> None:
    safe = sqlite_module().sqlite_version_info >= (3, 51, 3)
    assert database.journal_mode == ("WAL" if safe else "DELETE")


@pytest.mark.parametrize("statement", ["DELETE FROM events", "CREATE TABLE t (id INTEGER)", "DROP TABLE events"])
def test_reader_cannot_write(database: Database, statement: str) -> None:
    with pytest.raises(DatabaseError, match="readonly"), database.read() as connection:
        connection.execute(text(statement))


def test_reader_stops_at_its_time_limit(database: Database) -> None:
    endless = text("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n")
    with pytest.raises(TooSlowError, match="takes too long"), database.read(within_s=0.01) as connection:
        connection.execute(endless)
    some = text("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 300000) SELECT count(*) FROM n")
    with database.read() as connection:  # the same connection, with its full time limit again
        assert connection.execute(some).scalar_one() == 300_000


def test_reader_sees_one_snapshot_during_writes(database: Database) -> None:
    with database.read() as connection:
        assert event_outbox.after(connection, 0) == []
        with database.write(durable=False) as writer:
            event_outbox.add(writer, [NewEvent(1.0, "meanwhile")])
        assert event_outbox.after(connection, 0) == []
    assert _kinds(database) == ["meanwhile"]


@pytest.mark.parametrize("durable", [True, False])
def test_failed_transaction_writes_nothing(database: Database, durable: bool) -> None:
    with pytest.raises(KeyError), database.write(durable=durable) as connection:
        event_outbox.add(connection, [NewEvent(1.0, "lost")])
        raise KeyError
    assert _kinds(database) == []
    with database.write(durable=durable) as connection:
        event_outbox.add(connection, [NewEvent(1.0, "next")])
    assert _kinds(database) == ["next"]


def test_writers_in_threads_take_turns(database: Database) -> None:
    def write(number: int) -> None:
        for _ in range(5):
            with database.write(durable=False) as connection:
                event_outbox.add(connection, [NewEvent(float(number), f"from {number}")])

    threads = [threading.Thread(target=write, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(_kinds(database)) == 20


def test_refused_write_names_the_file_and_the_reason(database: Database) -> None:
    with (
        pytest.raises(DatabaseError, match=r"cannot write to .*podium\.sqlite3: no such table: t"),
        database.write() as c,
    ):
        c.execute(text("INSERT INTO t VALUES (1)"))


def test_file_that_is_not_a_database_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "podium.sqlite3"
    path.write_bytes(b"not a database at all" * 300)
    database = SqliteDatabase(path)
    with pytest.raises(DatabaseError, match=r"cannot read .*: .*not a database"), database.read() as connection:
        connection.execute(text("SELECT 1 FROM sqlite_master"))
    database.close()


def test_closing_leaves_one_file(tmp_path: Path) -> None:
    path = tmp_path / "podium.sqlite3"
    migrate(path)
    database = SqliteDatabase(path)
    with database.write() as connection:
        event_outbox.add(connection, [NewEvent(1.0, "kept")])
    assert _kinds(database) == ["kept"]
    database.close()
    assert {file.name for file in tmp_path.iterdir()} - {"migration.lock"} == {path.name}
    with contextlib.closing(sqlite_module().connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (1,)


@pytest.mark.parametrize("name", ["with space", "per%20cent", "quest?ion", "ha#sh", "ünï"])
def test_data_directory_may_have_any_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / "podium.sqlite3"
    path.parent.mkdir()
    migrate(path)
    assert path.stat().st_size > 0
    assert list(tmp_path.iterdir()) == [path.parent]
