"""A PostgreSQL database of each schema that had some, with the rows of a service, becomes a current one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from podium.db.integrity import postgres_check, row_checks
from podium.db.schema.migrate import MigrationResult
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.postgres_schema_upgrade import migrate_postgres
from podium.db.schema.schema_version import newest_schema
from podium.db.schema.tables import metadata
from tests.databases import open_sqlite
from tests.described_schemas import described
from tests.postgres_server import PostgresServer, postgres_server
from tests.recorded_schemas import postgres_recorded, restore_postgres

pytestmark = pytest.mark.postgres

NAME = "podium_upgrade"
Columns = dict[str, list[str]]
Content = dict[str, list[tuple[Any, ...]]]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server with an empty database."""
    found = postgres_server()
    found.create(NAME)
    yield found
    found.drop(NAME)


def columns_of(database: PostgresDatabase) -> Columns:
    """The columns of each table."""
    with database.read() as connection:
        found = inspect(connection)
        tables = [name for name in found.get_table_names() if name != "alembic_version"]
        return {name: [column["name"] for column in found.get_columns(name)] for name in tables}


def content(database: PostgresDatabase, columns: Columns) -> Content:
    """All rows of these columns of each table, in a fixed order."""
    with database.read() as connection:
        return {
            name: sorted(
                (tuple(row) for row in connection.execute(text(f"SELECT {', '.join(map(quoted, of))} FROM {name}"))),
                key=repr,
            )
            for name, of in columns.items()
        }


def quoted(name: str) -> str:
    return f'"{name}"'


@dataclass(frozen=True)
class Upgraded:
    """A database after its upgrade, with its columns and rows before, and the rows of these columns now."""

    database: PostgresDatabase
    schema: str
    result: MigrationResult
    columns: Columns
    before: Content
    after: Content


@pytest.fixture(params=postgres_recorded())
def upgraded(request: pytest.FixtureRequest, server: PostgresServer, tmp_path: Path) -> Iterator[Upgraded]:
    """Each recorded database, upgraded."""
    restore_postgres(request.param, server.url(NAME), tmp_path / "recorded.sqlite3")
    database = PostgresDatabase(server.url(NAME))
    columns = columns_of(database)
    before = content(database, columns)
    result = migrate_postgres(server.url(NAME))
    yield Upgraded(database, request.param, result, columns, before, content(database, columns))
    database.close()


def test_first_schema_on_postgres_is_recorded() -> None:
    assert postgres_recorded()[0] == "0014"


def test_upgrade_keeps_every_row_and_makes_a_sound_database_of_the_newest_schema(
    upgraded: Upgraded, server: PostgresServer, tmp_path: Path
) -> None:
    assert (upgraded.result.before, upgraded.result.now) == (upgraded.schema, newest_schema())
    assert len(upgraded.before["trials"]) > 10 and len(upgraded.before["metrics"]) > 20
    assert upgraded.after == upgraded.before
    now = columns_of(upgraded.database)
    assert now.keys() == metadata.tables.keys()
    rows = content(upgraded.database, now)

    sqlite = open_sqlite(tmp_path / "new.sqlite3")
    with sqlite.read() as new, upgraded.database.read() as connection:
        assert described(connection) == described(new)
        assert list(row_checks.breaches(connection)) == []
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == newest_schema()
    sqlite.close()
    assert postgres_check.check(server.url(NAME)).problems == ()
    again = migrate_postgres(server.url(NAME))
    assert (again.before, again.now) == (newest_schema(), newest_schema())
    assert content(upgraded.database, now) == rows
