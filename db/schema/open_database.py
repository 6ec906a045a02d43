"""Opens the database of a service: SQLite's file in its data directory, or PostgreSQL's; every component."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from podium.db.schema.database import Database
from podium.db.schema.database_binding import is_postgres, recorded, url_file_of
from podium.db.schema.postgres_url_source import database_url
from podium.db.schema.schema_version import require_current
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.schema.transaction_observer import OnProgress
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import DatabaseError

if TYPE_CHECKING:
    from podium.db.schema.postgres_database import PostgresDatabase

_D = TypeVar("_D", bound=Database)


def open_database(settings: ServiceSettings, on_progress: OnProgress | None = None) -> Database:
    """The database of a service, with the schema of this version. Raises `DatabaseError`.

    `on_progress`: called between the parts of each transaction, in its thread. With PostgreSQL, a statement is then
    cancelled soon enough that the time between two calls is less than the limit of heartbeats.
    """
    if settings.database_url_file:
        return open_postgres(settings, on_progress)
    return _current(SqliteDatabase(settings.data.database, on_progress=on_progress))


def open_postgres(settings: ServiceSettings, on_progress: OnProgress | None = None) -> PostgresDatabase:
    """The database of a service that has PostgreSQL. See `open_database`."""
    from podium.db.schema.postgres_database import LOOP_STATEMENT_S, STATEMENT_S

    limits = (
        {"read_s": STATEMENT_S} if on_progress is None else {"read_s": LOOP_STATEMENT_S, "write_s": LOOP_STATEMENT_S}
    )
    url_file = Path(settings.database_url_file)
    return _current(_postgres(settings.data, url_file, holder=settings.holder, on_progress=on_progress, **limits))


def open_database_of(data: DataDirectory, url_file: Path | None = None) -> Database:
    """The database of a data directory, also while no service runs, whatever its schema. Raises `DatabaseError`.

    For programs, whose statements have no time limit. `url_file`: with the URL of a PostgreSQL database; by default as
    the service was started.
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


def _postgres(data: DataDirectory, url_file: Path | None, **options: Any) -> PostgresDatabase:
    url, binding = database_url(url_file), recorded(data)
    if binding is None:
        raise DatabaseError(
            f"{data.root} does not belong to a PostgreSQL database; a service that is started there with the URL of "
            "one records it"
        )
    from podium.db.schema.postgres_database import PostgresDatabase  # only with PostgreSQL: imports psycopg

    return PostgresDatabase(url, service=binding.service, **options)
