"""PostgreSQL that restarts, loses connections, or answers a commit no more; and what a URL may say."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from podium.db.schema.database import Database
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.postgres_schema_upgrade import migrate_postgres
from podium.db.stores import event_outbox
from podium.db.stores.event_outbox import NewEvent
from podium.sweep.runtime import fail_points
from podium.sweep.values.errors import DamagedError, DatabaseError
from tests.postgres_server import ADMIN, PostgresServer, new_server

pytestmark = pytest.mark.postgres

NAME = "podium_restarts"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server that tests may stop."""
    made = new_server(max_connections="8", superuser_reserved_connections="2")
    made.create(NAME)
    migrate_postgres(made.url(NAME))
    yield made
    made.stop(immediately=True)


@pytest.fixture
def database(server: PostgresServer) -> Iterator[PostgresDatabase]:
    """A database without events."""
    opened = PostgresDatabase(server.url(NAME))
    with opened.write() as connection:
        connection.execute(text("DELETE FROM events"))
    yield opened
    opened.close()


def add(database: Database, kind: str, *, durable: bool = True) -> None:
    with database.write(durable=durable) as connection:
        event_outbox.add(connection, [NewEvent(1.0, kind)])


def kinds(database: Database) -> list[str]:
    with database.read() as connection:
        return [event["kind"] for event in event_outbox.after(connection, 0)]


@pytest.mark.parametrize(("durable", "level"), [(True, "on"), (False, "off")])
def test_only_durable_writes_wait_for_the_disk(database: PostgresDatabase, durable: bool, level: str) -> None:
    with database.write(durable=durable) as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == level
    with database.write() as connection:  # the same connection
        assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == "on"


def test_only_writes_end_when_their_process_is_suspended(database: PostgresDatabase) -> None:
    show = text("SHOW idle_in_transaction_session_timeout")
    for _ in range(2):  # the second time with the same connections
        for write in (database.write, database.write_unordered):
            with write() as connection:
                assert connection.execute(show).scalar_one() == "10s"
        with database.read() as connection:
            assert connection.execute(show).scalar_one() == "0"


def test_restart_between_transactions_is_not_noticed(server: PostgresServer, database: PostgresDatabase) -> None:
    add(database, "before")
    assert kinds(database) == ["before"]
    server.stop()
    server.start()
    assert kinds(database) == ["before"]
    add(database, "after")
    assert kinds(database) == ["before", "after"]


def test_server_that_is_down_can_be_tried_again(server: PostgresServer, database: PostgresDatabase) -> None:
    add(database, "before")
    server.stop()
    for use in (lambda: add(database, "lost"), lambda: kinds(database)):
        with pytest.raises(DatabaseError, match="nothing was written, try again") as caught:
            use()
        assert type(caught.value) is DatabaseError
    server.start()
    assert kinds(database) == ["before"]


def test_connection_that_is_lost_before_the_commit_writes_nothing(
    server: PostgresServer, database: PostgresDatabase
) -> None:
    with pytest.raises(DatabaseError, match="try again") as caught, database.write() as connection:
        event_outbox.add(connection, [NewEvent(1.0, "lost")])
        pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        server.execute(f"SELECT pg_terminate_backend({pid}, 5000)")
        event_outbox.add(connection, [NewEvent(1.0, "lost too")])
    assert type(caught.value) is DatabaseError
    assert kinds(database) == []


@pytest.mark.parametrize("immediately", [True, False])
def test_commit_without_an_answer_has_an_unknown_outcome(
    server: PostgresServer, database: PostgresDatabase, immediately: bool
) -> None:
    with pytest.raises(DamagedError, match="may or may not have been written"), database.write() as connection:
        event_outbox.add(connection, [NewEvent(1.0, "unknown")])
        server.stop(immediately=immediately)
    server.start()
    add(database, "afterwards")
    assert kinds(database)[-1] == "afterwards"


def test_durable_writes_survive_a_crash(server: PostgresServer, database: PostgresDatabase) -> None:
    add(database, "fast", durable=False)
    add(database, "durable")
    server.stop(immediately=True)
    server.start()
    assert kinds(database) == ["fast", "durable"]


def test_ids_of_events_are_not_used_again_after_a_crash(server: PostgresServer, database: PostgresDatabase) -> None:
    add(database, "before")
    with database.read() as connection:
        _, last = event_outbox.id_range(connection)
    server.stop(immediately=True)
    server.start()
    add(database, "after")
    with database.read() as connection:
        assert event_outbox.id_range(connection)[1] > last


def test_server_without_a_free_connection_says_what_to_do(server: PostgresServer) -> None:
    many = [PostgresDatabase(server.url(NAME)) for _ in range(7)]
    with pytest.raises(DatabaseError, match=r"raise max_connections there|try again"):
        for each in many:
            kinds(each)
    for each in many:
        each.close()


def test_reader_of_a_standby_is_told_to_use_the_primary(server: PostgresServer, database: PostgresDatabase) -> None:
    server.execute(f"ALTER DATABASE {NAME} SET default_transaction_read_only = on")
    database.close()
    try:
        with pytest.raises(DatabaseError, match="connect to the primary server"):
            add(database, "refused")
    finally:
        server.execute(f"ALTER DATABASE {NAME} RESET default_transaction_read_only")
    database.close()


def test_options_of_libpq_in_the_url_are_respected(server: PostgresServer) -> None:
    named = PostgresDatabase(f"{server.url(NAME)}&application_name=of-a-test")
    with named.read() as connection:
        assert connection.execute(text("SHOW application_name")).scalar_one() == "of-a-test"
    named.close()


@pytest.mark.parametrize(
    ("option", "of_readers", "of_writers"),
    [("", "1min", "20s"), ("&options=-c%20statement_timeout%3D1234", "1234ms", "1234ms"),
     ("&options=-c%20statement_timeout%3D0", "0", "0")],
    ids=["none", "in the URL", "no limit in the URL"],
)  # fmt: skip
def test_statements_have_the_time_limit_of_the_url_or_of_their_session(
    server: PostgresServer, option: str, of_readers: str, of_writers: str
) -> None:
    limited = PostgresDatabase(server.url(NAME) + option, read_s=60.0, write_s=20.0)
    show = text("SHOW statement_timeout")
    with limited.read() as connection:
        assert connection.execute(show).scalar_one() == of_readers
    with limited.read(within_s=5.0) as connection:
        assert connection.execute(show).scalar_one() not in ("0", of_readers)
    with limited.read() as connection:  # the same session
        assert connection.execute(show).scalar_one() == of_readers
    with limited.write() as connection:
        assert connection.execute(show).scalar_one() == of_writers
    limited.close()


def test_statements_have_the_time_limit_of_the_server(server: PostgresServer) -> None:
    server.execute(f"ALTER DATABASE {NAME} SET statement_timeout = '7s'")
    limited = PostgresDatabase(server.url(NAME), read_s=60.0)
    with limited.read() as connection:
        assert connection.execute(text("SHOW statement_timeout")).scalar_one() == "7s"
    limited.close()
    server.execute(f"ALTER DATABASE {NAME} RESET statement_timeout")


def test_statement_that_exceeds_the_limit_of_its_session_is_cancelled(server: PostgresServer) -> None:
    limited = PostgresDatabase(server.url(NAME), read_s=0.05, write_s=0.05)
    for transaction in (limited.read, limited.write, limited.write_unordered):
        with pytest.raises(DatabaseError, match="statement timeout") as caught, transaction() as connection:
            connection.execute(text("SELECT pg_sleep(600)"))
        assert type(caught.value) is DatabaseError, "nobody has asked for too much"
    limited.close()


@pytest.mark.parametrize("write", ["write", "write_unordered"])
def test_transaction_sees_what_was_committed_while_it_waited_for_the_lock(server: PostgresServer, write: str) -> None:
    """Else a replaced scheduler would read its own epoch from a snapshot of before the takeover."""
    serializable = PostgresDatabase(f"{server.url(NAME)}&options=-c%20default_transaction_isolation%3Dserializable")
    with getattr(serializable, write)() as connection:
        assert connection.execute(text("SHOW transaction_isolation")).scalar_one() == "read committed"
    serializable.close()


def test_connection_that_must_be_encrypted_is_never_plain() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = new_server(listen_addresses="127.0.0.1", port=str(port))
    plain = PostgresDatabase(f"postgresql://{ADMIN}@127.0.0.1:{port}/{ADMIN}")
    with plain.read() as connection:
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
    plain.close()
    encrypted = PostgresDatabase(f"postgresql://{ADMIN}@127.0.0.1:{port}/{ADMIN}?sslmode=require")
    with pytest.raises(DatabaseError, match="does not support SSL"):
        kinds(encrypted)
    server.stop()


def test_fail_points_surround_a_commit(database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[str] = []
    monkeypatch.setattr("podium.db.schema.postgres_database.fail_point", passed.append)
    add(database, "one")
    assert passed == [fail_points.commit_point("before"), fail_points.commit_point("after")]


def test_listener_is_called_after_a_commit_with_events(database: PostgresDatabase) -> None:
    told = threading.Event()
    database.on_events(told.set)
    _wait_until_told(database, told)

    with pytest.raises(ZeroDivisionError), database.write() as connection:
        event_outbox.add(connection, [NewEvent(1.0, "rolled back")])
        raise ZeroDivisionError
    with database.write() as connection:
        connection.execute(text("UPDATE service SET name = name"))  # no event
    assert not told.wait(0.5)
    with database.write() as connection:
        event_outbox.add(connection, [NewEvent(1.0, "committed")])
        assert not told.wait(0.2)
    assert told.wait(10)


def test_listener_continues_after_a_restart(server: PostgresServer, database: PostgresDatabase) -> None:
    told = threading.Event()
    database.on_events(told.set)
    _wait_until_told(database, told)
    server.stop(immediately=True)
    server.start()
    _wait_until_told(database, told)


def _wait_until_told(database: PostgresDatabase, told: threading.Event) -> None:
    """Add events until the listener tells of one: then it listens."""
    for _ in range(100):
        add(database, "listening")
        if told.wait(0.3):
            break
    else:
        raise AssertionError("the listener is never called")
    while told.wait(0.3):  # by the events before
        told.clear()
