"""Opens the database of a service: SQLite's file in its data directory, or PostgreSQL's; every component."""

from __future__ import annotations

from pathlib import Path

from podium.db.schema.database_url import database_url
from podium.db.schema.engine import Database, SqliteDatabase
from podium.db.schema.schema_version import require_current
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import DatabaseError


def open_database(settings: ServiceSettings) -> Database:
    """The database of a service, with the schema of this version. Raises `DatabaseError`."""
    database = _opened(settings)
    try:
        require_current(database)
    except DatabaseError:
        database.close()
        raise
    return database


def _opened(settings: ServiceSettings) -> Database:
    if not settings.database_url_file:
        return SqliteDatabase(settings.data.database)
    url = database_url(Path(settings.database_url_file))
    from podium.db.schema.postgres_engine import PostgresDatabase  # only with PostgreSQL: imports psycopg

    return PostgresDatabase(url)
