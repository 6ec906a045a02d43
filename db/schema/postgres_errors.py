"""Translates PostgreSQL errors to Podium's errors, by SQLSTATE; every process that opens such a database."""

from __future__ import annotations

import re
from collections.abc import Callable

from psycopg import InterfaceError, OperationalError
from psycopg.conninfo import conninfo_to_dict

from podium.sweep.values.errors import DamagedError, DatabaseError, StorageFullError, TooSlowError

# https://www.postgresql.org/docs/current/errcodes-appendix.html
_FULL = "53100"
_TOO_MANY_CONNECTIONS = "53300"
_LOCKED = ("55P03", "40P01")  # lock_timeout, deadlock
_CANCELLED = "57014"  # by statement_timeout
_READ_ONLY = "25006"
_NO_DATABASE = "3D000"
_DROPPED = re.compile(r'database ".*" does not exist')  # of a server that writes other languages: unavailable
_CONSTRAINT = "23"
_DAMAGED = ("XX001", "XX002", "58030")  # corrupted data, corrupted index, I/O error
_GONE = ("57P01", "57P02", "57P03", "57P05", "25P03", "08")  # the server stopped or ended the session, or it broke


def where(url: str) -> str:
    """The database of a URL for messages, without its password."""
    parts = conninfo_to_dict(url)
    host = parts.get("host") or parts.get("hostaddr") or "this machine"
    return f"the PostgreSQL database {parts.get('dbname') or parts.get('user') or ''!r} on {host}"


def is_gone(error: BaseException | None) -> bool:
    """Whether the connection is lost, or could not be made."""
    code = _code(error)
    if code is None:  # libpq itself found that the connection is closed
        return isinstance(error, OperationalError | InterfaceError)
    return code.startswith(_GONE)


def is_dropped(error: OperationalError) -> bool:
    """Whether a connection failed because there is no such database, which libpq says without a code."""
    return _code(error) == _NO_DATABASE or _DROPPED.search(str(error)) is not None


def refusal(
    database: str, doing: str, error: BaseException | None, *, committing: bool = False, limited: bool = False
) -> DatabaseError:
    """Podium's error for a PostgreSQL error; `doing`: the failed operation, like `write to`.

    `committing`: COMMIT was sent. Without its answer nobody knows whether the transaction was written. `limited`: the
    transaction is a query of a user, with a time limit of its own.
    """
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    what, code = f"cannot {doing} {database}", _code(error) or ""
    if is_gone(error):
        if committing:
            return DamagedError(f"{what}: {first}; the last operation may or may not have been written")
        return DatabaseError(f"{what}: {first}; nothing was written, try again")
    if code == _CANCELLED and limited:
        return TooSlowError("the query takes too long; use fewer or simpler filter terms, or another order")
    return _by_code(code)(what, first)


def _by_code(code: str) -> Callable[[str, str], DatabaseError]:
    """How to explain an SQLSTATE, given what failed and PostgreSQL's message."""
    if code == _FULL:
        return lambda what, _: StorageFullError(f"{what}: the disk of its server is full; free some space there")
    if code.startswith(_DAMAGED):
        return lambda what, first: DamagedError(f"{what}: {first}; check the disk of its server")
    if code.startswith(_CONSTRAINT):  # the stored state differs from the expected one; a retry does not help
        return lambda what, first: DamagedError(f"{what}: {first}; nothing was written; the stored state has changed")
    if code in _LOCKED:
        return lambda what, _: DatabaseError(f"{what}: it is locked by another program; nothing was written, try again")
    if code == _TOO_MANY_CONNECTIONS:
        return lambda what, _: DatabaseError(
            f"{what}: its server has no free connection; raise max_connections there, or close other programs"
        )
    if code == _READ_ONLY:
        return lambda what, _: DatabaseError(f"{what}: its server is read-only; connect to the primary server")
    return lambda what, first: DatabaseError(f"{what}: {first}")


def _code(error: BaseException | None) -> str | None:
    code: str | None = getattr(error, "sqlstate", None)
    return code
