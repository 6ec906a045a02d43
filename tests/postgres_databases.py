"""PostgreSQL databases of the current schema for tests, each a copy of a template."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from podium.db.schema.database import Database
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.postgres_schema_upgrade import migrate_postgres
from tests.postgres_server import new_server, postgres_server

NAME = "podium_test"


def open_postgres_database(prepare: Callable[[Database], None]) -> PostgresDatabase:
    """A database with what `prepare` writes, in place of that of the last test; its object is used again."""
    server = postgres_server()

    def fill(url: str) -> None:
        migrate_postgres(url)
        database = PostgresDatabase(url)
        prepare(database)
        database.close()

    found = _opened()
    found.close()
    server.create(NAME, server.template(prepare.__name__, fill))
    return found


def new_url_file(folder: Path) -> Path:
    """A file with the URL of an empty database, on a server of its own: services need many connections."""
    server = new_server(max_connections="100")
    server.create(NAME)
    file = folder / "database.url"
    file.touch(mode=0o600)
    file.write_text(server.url(NAME))
    return file


@functools.cache
def _opened() -> PostgresDatabase:
    return PostgresDatabase(postgres_server().url(NAME))
