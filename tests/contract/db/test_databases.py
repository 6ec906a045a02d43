"""The contract of a database: transactions write one after another, and readers see snapshots in the order of ids."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from sqlalchemy import Connection, func, insert, literal, select, text

from podium.db.schema.database import Database
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.schema.tables import events
from podium.db.stores import event_outbox, metrics, scheduler_lease
from podium.db.stores.event_outbox import NewEvent
from podium.db.stores.precompiled_sql_statements import DriverSelect, DriverStatement
from podium.sweep.values.errors import DamagedError, DatabaseError, FencedError, TooSlowError
from tests.postgres_databases import NAME
from tests.postgres_server import postgres_server

ENDLESS = text("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n")
SOME = text("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 300000) SELECT count(*) FROM n")


def of_another_process(
    database: Database, busy_s: float = 30.0, on_progress: Callable[[], None] | None = None
) -> Database:
    """The same database as another process opens it."""
    if isinstance(database, SqliteDatabase):
        return SqliteDatabase(database.path, busy_s=busy_s, on_progress=on_progress)
    return PostgresDatabase(postgres_server().url(NAME), busy_s=busy_s, on_progress=on_progress)


def add(connection: Connection, kind: str) -> None:
    event_outbox.add(connection, [NewEvent(1.0, kind)])


def kinds(database: Database) -> list[str]:
    with database.read() as connection:
        return [event["kind"] for event in event_outbox.after(connection, 0)]


@pytest.mark.parametrize("durable", [True, False])
def test_writes_are_there_after_the_transaction(database: Database, durable: bool) -> None:
    with database.write(durable=durable) as connection:
        add(connection, "one")
        add(connection, "two")
    other = of_another_process(database)
    assert kinds(other) == ["one", "two"]
    other.close()


def test_failed_transaction_writes_nothing(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.write() as connection:
        add(connection, "one")
        raise ZeroDivisionError
    with pytest.raises(DatabaseError, match="cannot write to"), database.write() as connection:
        add(connection, "one")
        connection.execute(text("INSERT INTO nothing (id) VALUES (1)"))
    assert kinds(database) == []


def test_row_that_breaks_a_constraint_means_that_the_state_has_changed(database: Database) -> None:
    twice = text("INSERT INTO events (id, at, kind) VALUES (1, 1, 'written')")
    orphan = text("INSERT INTO trial_tags (trial_id, tag) VALUES (7, 'x')")
    insert_event = DriverStatement(insert(events), ("id", "at", "kind"))
    for statements in ([twice, twice], [orphan]):
        with pytest.raises(DamagedError, match="nothing was written"), database.write() as connection:
            for statement in statements:
                connection.execute(statement)
    with pytest.raises(DamagedError, match="nothing was written"), database.write() as connection:
        for _ in range(2):
            insert_event.execute(connection, {"id": 1, "at": 1.0, "kind": "written"})
    assert kinds(database) == []


def test_progress_is_reported_around_each_wait_of_a_transaction(database: Database) -> None:
    threads: list[int] = []
    other = of_another_process(database, on_progress=lambda: threads.append(threading.get_ident()))
    for number in range(2):  # the second time with the same connections
        threads.clear()
        with other.write() as connection:
            started = len(threads)
            add(connection, f"{number}")
            added = len(threads)
        ended = len(threads)
        with other.read() as connection:
            assert len(threads) >= ended + 2, "before and after BEGIN"
            connection.execute(text("SELECT 1"))
            assert len(threads) >= ended + 4, "before and after the statement"
        assert started >= 2 and added >= started + 2
        assert ended >= added + 2, "before and after COMMIT"
    assert set(threads) == {threading.get_ident()}
    other.close()
    assert kinds(database) == ["0", "1"]


@pytest.mark.parametrize("statement", ["DELETE FROM events", "CREATE TABLE t (id INTEGER)", "DROP TABLE events"])
def test_reader_cannot_write(database: Database, statement: str) -> None:
    with pytest.raises(DatabaseError, match=r"read-?only"), database.read() as connection:
        connection.execute(text(statement))


def test_reader_stops_at_its_time_limit(database: Database) -> None:
    with pytest.raises(TooSlowError, match="takes too long"), database.read(within_s=0.02) as connection:
        connection.execute(ENDLESS)
    with pytest.raises(TooSlowError, match="takes too long"), database.read(within_s=0.02) as connection:
        while True:  # many short statements have the time of one
            connection.execute(text("SELECT 1")) and connection.execute(SOME)
    counted = select(literal(1).label("n")).cte(recursive=True)
    counted = counted.union_all(select(counted.c.n + 1))
    with pytest.raises(TooSlowError, match="takes too long"), database.read(within_s=0.02) as connection:
        DriverSelect(select(func.count()).select_from(counted)).rows(connection, {})
    with database.read() as connection:  # the same connection, without a limit
        assert connection.execute(SOME).scalar_one() == 300_000


def test_reader_sees_one_snapshot_during_writes(database: Database) -> None:
    with database.read() as connection:
        assert event_outbox.after(connection, 0) == []
        with database.write(durable=False) as writer:
            add(writer, "meanwhile")
        assert event_outbox.after(connection, 0) == []
    assert kinds(database) == ["meanwhile"]


def test_second_writer_waits_and_sees_what_the_first_wrote(database: Database) -> None:
    other = of_another_process(database)
    seen: list[str] = []

    def write() -> None:
        with other.write() as connection:
            seen.extend(event["kind"] for event in event_outbox.after(connection, 0))

    with database.write() as connection:
        second = threading.Thread(target=write)
        second.start()
        second.join(0.1)
        assert second.is_alive()
        add(connection, "first")
    second.join(30)
    other.close()
    assert seen == ["first"]


def test_writer_that_waits_too_long_is_told_so(database: Database) -> None:
    other = of_another_process(database, busy_s=0.05)
    waited_too_long = pytest.raises(DatabaseError, match=r"locked by .*; nothing was written, try again")
    with database.write(), waited_too_long, other.write():
        raise AssertionError("two writers at once")
    with other.write() as connection:
        add(connection, "afterwards")
    other.close()
    assert kinds(database) == ["afterwards"]


def test_poller_misses_no_event_of_concurrent_writers(database: Database) -> None:
    """Ids are in the order of commits: a poller that has seen one never finds a lower one later."""
    writers, each = 3, 20

    def write(name: str) -> None:
        own = of_another_process(database)
        for number in range(each):
            with own.write(durable=number % 2 == 0) as connection:
                add(connection, f"{name}-{number}")
        own.close()

    threads = [threading.Thread(target=write, args=(str(name),)) for name in range(writers)]
    for thread in threads:
        thread.start()
    followed, last, running = [], 0, True
    while running:
        running = any(thread.is_alive() for thread in threads)
        with database.read() as connection:
            new = event_outbox.after(connection, last)
        followed += [event["kind"] for event in new]
        last = new[-1]["id"] if new else last
    assert sorted(followed) == sorted(f"{name}-{number}" for name in range(writers) for number in range(each))


def test_replaced_scheduler_cannot_write(database: Database) -> None:
    with database.write() as connection:
        first = scheduler_lease.take(connection, "process 1", 1.0)
        assert scheduler_lease.take(connection, "process 2", 2.0, after=7) == max(first, 7) + 1
    with pytest.raises(FencedError), database.write() as connection:
        add(connection, "old")
        scheduler_lease.check(connection, first)
    assert kinds(database) == []


def test_closed_database_opens_again(database: Database) -> None:
    with database.write() as connection:
        add(connection, "one")
    database.close()
    assert kinds(database) == ["one"]


def test_points_of_a_batch_are_written_once(database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("INSERT INTO sweeps (id, name, state, spec, metric, goal, run_cap, created_at)"
                                " VALUES (1, 's', 'running', '{}', 'loss', 'minimize', 1, 1)"))  # fmt: skip
        connection.execute(text("INSERT INTO trials (id, sweep_id, number, state, sampler, created_at)"
                                " VALUES (1, 1, 0, 'running', 'random', 1)"))  # fmt: skip
        rows = [
            (1, 1, name, step, value, 1.0) for step, value in ((0, 0.5), (1, 1), (0, 9.0)) for name in ('a"\\,{}', "b")
        ]
        metrics.add_rows(connection, rows)
        metrics.add_rows(connection, rows)
        assert metrics.of_trial(connection, 1) == {name: [(0, 0.5), (1, 1.0)] for name in ('a"\\,{}', "b")}
