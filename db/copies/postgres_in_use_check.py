"""Refuses a PostgreSQL database that a service uses; the programs of `podium db`."""

from __future__ import annotations

import time

from sqlalchemy import text

from podium.db.schema.database import Database
from podium.sweep.values.errors import DatabaseError

CLOSING_S = 1.0  # after which a connection is not one that is being closed
CHECK_S = 0.05
_SESSIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND application_name = 'podium'"
)


def refuse_service(database: Database, name: str) -> None:
    """Raises `DatabaseError` if other processes of Podium are connected; a session that is being closed ends soon."""
    until_s = time.monotonic() + CLOSING_S
    while sessions := _sessions(database):
        if time.monotonic() > until_s:
            many = "another connection" if sessions == 1 else f"{sessions} other connections"
            raise DatabaseError(f"{name} is in use: Podium has {many} to it; stop that service first")
        time.sleep(CHECK_S)


def _sessions(database: Database) -> int:
    with database.write() as connection:
        found: int = connection.execute(text(_SESSIONS)).scalar_one()
    return found
