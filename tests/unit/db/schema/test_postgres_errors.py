"""Each error of PostgreSQL becomes one that says what happened and whether a retry helps."""

from __future__ import annotations

import psycopg
import pytest

from podium.db.schema.postgres_errors import is_gone, refusal, where
from podium.sweep.values.errors import DamagedError, DatabaseError, StorageFullError, TooSlowError

pytestmark = pytest.mark.postgres

CASES = [
    (psycopg.errors.DiskFull, StorageFullError, "the disk of its server is full"),
    (psycopg.errors.LockNotAvailable, DatabaseError, "locked by another program; nothing was written, try again"),
    (psycopg.errors.DeadlockDetected, DatabaseError, "locked by another program; nothing was written, try again"),
    (psycopg.errors.TooManyConnections, DatabaseError, "raise max_connections"),
    (psycopg.errors.ReadOnlySqlTransaction, DatabaseError, "connect to the primary server"),
    (psycopg.errors.UniqueViolation, DamagedError, "the stored state has changed"),
    (psycopg.errors.DataCorrupted, DamagedError, "check the disk"),
    (psycopg.errors.AdminShutdown, DatabaseError, "nothing was written, try again"),
    (psycopg.errors.ConnectionFailure, DatabaseError, "nothing was written, try again"),
    (psycopg.OperationalError, DatabaseError, "nothing was written, try again"),  # libpq's own, without a code
    (psycopg.errors.UndefinedTable, DatabaseError, "it failed$"),
]


@pytest.mark.parametrize(("error", "expected", "message"), CASES)
def test_errors_of_the_server(error: type[psycopg.Error], expected: type[DatabaseError], message: str) -> None:
    found = refusal("the database", "write to", error("it failed\nLINE 1: …"))
    assert type(found) is expected
    with pytest.raises(expected, match=f"^cannot write to the database: .*{message}"):
        raise found


def test_statement_that_is_cancelled_was_too_slow_only_for_a_query_with_a_limit() -> None:
    cancelled = psycopg.errors.QueryCanceled("canceling statement due to statement timeout")
    assert type(refusal("x", "read", cancelled, limited=True)) is TooSlowError
    assert type(refusal("x", "read", cancelled)) is DatabaseError
    assert type(refusal("x", "write to", cancelled)) is DatabaseError


@pytest.mark.parametrize(
    "error", [psycopg.OperationalError, psycopg.errors.AdminShutdown, psycopg.errors.CrashShutdown]
)
def test_lost_connection_in_a_commit_has_an_unknown_outcome(error: type[psycopg.Error]) -> None:
    found = refusal("x", "write to", error("server closed the connection unexpectedly"), committing=True)
    assert type(found) is DamagedError
    assert "may or may not have been written" in str(found)


def test_only_connections_that_the_server_closed_are_gone() -> None:
    assert is_gone(psycopg.errors.CannotConnectNow())
    assert not is_gone(psycopg.errors.LockNotAvailable())
    assert not is_gone(ValueError())


def test_messages_name_the_database_without_its_password() -> None:
    url = "postgresql://podium:secret@db.example:5433/results?sslmode=verify-full"
    assert where(url) == "the PostgreSQL database 'results' on db.example"
