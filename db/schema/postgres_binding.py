"""Binds a PostgreSQL database and a data directory to each other; the process that prepares the database.

Either is refused with another one: rows name files of the directory. A directory and an empty database are bound by the
first start; a copy of the database of the directory, by `podium db copy`, as well.
"""

from __future__ import annotations

import contextlib

from sqlalchemy import Connection, text

from podium.db.schema.database import Database
from podium.db.schema.database_binding import DatabaseBinding, recorded
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.postgres_schema_upgrade import existing_schema
from podium.db.schema.sqlite_database import connect_read_only, sqlite_module
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DatabaseError, WrongDatabaseError

_IN_USE = "SELECT EXISTS (SELECT 1 FROM tokens) OR EXISTS (SELECT 1 FROM sweeps)"
_LAST_EVENT = "SELECT coalesce(max(id), 0) FROM events"


def check(data: DataDirectory, url: str) -> None:
    """Raises `DatabaseError` if the database and the data directory do not belong to each other. Changes nothing."""
    database, binding = PostgresDatabase(url), recorded(data)
    try:
        with database.read() as connection:
            name = None if existing_schema(connection, database.name) is None else _service(connection)
            if binding is not None:
                _check_bound(data, binding, database, name)
            elif name is None or not connection.execute(text(_IN_USE)).scalar_one():
                _check_unused(data, database)
            else:
                _check_copied(data, database, name, connection.execute(text(_LAST_EVENT)).scalar_one())
    finally:
        database.close()


def bind(data: DataDirectory, url: str, url_file: str) -> None:
    """Record the database in the data directory; `url_file`: see `DatabaseBinding`. Raises `DatabaseError`."""
    database = PostgresDatabase(url)
    try:
        with database.read() as connection:
            name = _service(connection)
    finally:
        database.close()
    made = DatabaseBinding(name, database.name, url_file)
    if made != recorded(data):
        made.save(data)


def _service(connection: Connection) -> str:
    """The name of the service that has its rows there."""
    found: str = connection.execute(text("SELECT name FROM service")).scalar_one()
    return found


def _check_bound(data: DataDirectory, binding: DatabaseBinding, database: Database, name: str | None) -> None:
    if name == binding.service:
        return
    found = "is empty" if name is None else f"belongs to the service {name}"
    raise WrongDatabaseError(
        f"{database.name} {found}, and {data.root} to the service {binding.service}, whose database was "
        f"{binding.database}; give its URL, or restore a backup of it there, or choose another --data-dir"
    )


def _check_unused(data: DataDirectory, database: Database) -> None:
    """The database has no rows: the data directory must be new as well."""
    if data.database.exists() and data.database.stat().st_size > 0:
        raise DatabaseError(
            f"the database of {data.root} is {data.database.name}; copy it to {database.name} by "
            f"`podium db copy to-postgres --data-dir {data.root}`, or choose another --data-dir"
        )
    if data.trials.is_dir() and any(data.trials.iterdir()):
        raise DatabaseError(
            f"{database.name} is empty, but {data.trials} holds results of trials; restore a backup of their database, "
            "or choose another --data-dir"
        )


def _check_copied(data: DataDirectory, database: Database, name: str, last_event: int) -> None:
    """The database has rows: they must be copied from the file in the data directory, and the file not used since."""
    service, newest = _of_file(data)
    if service != name:
        raise WrongDatabaseError(
            f"{database.name} belongs to the service {name}, whose data directory is another one than {data.root}; "
            f"give that one by --data-dir (one that was moved has a file {data.database_binding.name}), or the URL of "
            "an empty database"
        )
    if newest > last_event:
        raise DatabaseError(
            f"{data.database} has been used since it was copied to {database.name}; copy it again, to an empty database"
        )


def _of_file(data: DataDirectory) -> tuple[str | None, int]:
    """The name of the service in SQLite's file, and the id of its last event; (None, 0) if there is none."""
    if not data.database.is_file():
        return None, 0
    try:
        with contextlib.closing(connect_read_only(data.database)) as connection:
            name = connection.execute("SELECT name FROM service").fetchone()
            newest = connection.execute(_LAST_EVENT).fetchone()
    except sqlite_module().Error:
        return None, 0
    return (None if name is None else name[0]), newest[0]
