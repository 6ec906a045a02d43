"""Opens the database of a service: SQLite's file in its data directory, or PostgreSQL's; every component."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from podium.db.schema.database_binding import is_postgres, recorded, url_file_of
from podium.db.schema.database_url import database_url
from podium.db.schema.engine import Database, SqliteDatabase
from podium.db.schema.schema_version import require_current
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import DatabaseError

if TYPE_CHECKING:
    from podium.db.schema.postgres_engine import PostgresDatabase

_D = TypeVar("_D", bound=Database)


def open_database(settings: ServiceSettings) -> Database:
    """The database of a service, with the schema of this version. Raises `DatabaseError`."""
    return open_postgres(settings) if settings.database_url_file else _current(SqliteDatabase(settings.data.database))


def open_postgres(settings: ServiceSettings) -> PostgresDatabase:
    """The database of a service that has PostgreSQL. See `open_database`."""
    return _current(_postgres(settings.data, Path(settings.database_url_file), settings.holder))


def open_database_of(data: DataDirectory, url_file: Path | None = None) -> Database:
    """The database of a data directory, also while no service runs, whatever its schema. Raises `DatabaseError`.

    `url_file`: with the URL of a PostgreSQL database; by default as the service was started.
    """
    if is_postgres(data, url_file):
        return _postgres(data, url_file_of(data, url_file))
    if not data.database.is_file():
        raise DatabaseError(f"there is no database in {data.root}; name another with --data-dir")
    return SqliteDatabase(data.database)


def _current(database: _D) -> _D:
    """The database if it has the schema of this version. Raises `DatabaseError`."""
    try:
        require_current(database)
    except DatabaseError:
        database.close()
        raise
    return database


def _postgres(data: DataDirectory, url_file: Path | None, holder: str = "") -> PostgresDatabase:
    url, binding = database_url(url_file), recorded(data)
    if binding is None:
        raise DatabaseError(
            f"{data.root} does not belong to a PostgreSQL database; a service that is started there with the URL of "
            "one records it"
        )
    from podium.db.schema.postgres_engine import PostgresDatabase  # only with PostgreSQL: imports psycopg

    return PostgresDatabase(url, service=binding.service, holder=holder)
