"""The schema of a new PostgreSQL database is that of SQLite's migrations, and other databases are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import sql
from sqlalchemy import text

from podium.db.queries import stored_service_name
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.postgres_schema_upgrade import migrate_postgres
from podium.db.schema.schema_version import newest_schema
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.sweep.values.errors import DatabaseError
from tests import drains_of_0015
from tests.databases import open_sqlite
from tests.described_schemas import described
from tests.postgres_server import PostgresServer, postgres_server

pytestmark = pytest.mark.postgres

NAME = "podium_schema"


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server with an empty database."""
    found = postgres_server()
    found.create(NAME)
    yield found
    found.drop(NAME)


@pytest.fixture
def postgres(server: PostgresServer) -> Iterator[PostgresDatabase]:
    """A new database of the current schema."""
    migrate_postgres(server.url(NAME))
    opened = PostgresDatabase(server.url(NAME))
    yield opened
    opened.close()


def test_new_database_has_the_tables_of_the_migrations(postgres: PostgresDatabase, tmp_path: Any) -> None:
    sqlite: SqliteDatabase = open_sqlite(tmp_path / "podium.sqlite3")
    with sqlite.read() as ours, postgres.read() as theirs:
        expected, found = described(ours), described(theirs)
    sqlite.close()
    assert found.keys() == expected.keys()
    for table, parts in expected.items():
        assert found[table] == parts, table


def test_integers_have_64_bits_and_floats_all_digits(postgres: PostgresDatabase) -> None:
    types = text("SELECT DISTINCT data_type FROM information_schema.columns WHERE table_schema = 'public'")
    with postgres.read() as connection:
        found = set(connection.execute(types).scalars())
    assert found == {"bigint", "double precision", "character varying", "text", "boolean"}


def test_second_migration_changes_nothing(server: PostgresServer) -> None:
    first, second = (migrate_postgres(server.url(NAME)) for _ in range(2))
    assert (first.before, first.now) == (None, newest_schema())
    assert (second.before, second.now) == (newest_schema(), newest_schema())


def test_drains_get_the_uuids_of_their_devices(server: PostgresServer, postgres: PostgresDatabase) -> None:
    drains_of_0015.assert_kept(postgres, lambda: migrate_postgres(server.url(NAME)))


def test_each_service_has_a_name_of_its_own(postgres: PostgresDatabase) -> None:
    with postgres.read() as connection:
        assert len(stored_service_name.read(connection)) == 12


def test_interrupted_creation_leaves_nothing(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("podium.db.schema.postgres_database.fail_point", interrupt)  # before the commit
    with pytest.raises(ZeroDivisionError):
        migrate_postgres(server.url(NAME))
    monkeypatch.undo()
    assert migrate_postgres(server.url(NAME)).before is None


REFUSED = [
    ("CREATE TABLE customers (id int)", r"is not Podium's \(it has customers\)"),
    ("UPDATE alembic_version SET version_num = '9999'", "was written by a newer Podium"),
]


@pytest.mark.parametrize(("statement", "message"), REFUSED)
def test_other_databases_are_refused(server: PostgresServer, statement: str, message: str) -> None:
    if "alembic" in statement:
        migrate_postgres(server.url(NAME))
    server.execute(statement, NAME)
    with pytest.raises(DatabaseError, match=message):
        migrate_postgres(server.url(NAME))


@pytest.mark.parametrize("options", ["LC_COLLATE 'C.UTF-8'", "LC_CTYPE 'C.UTF-8'", "ENCODING 'SQL_ASCII'"])
def test_other_collations_and_encodings_are_refused_with_what_to_do(server: PostgresServer, options: str) -> None:
    server.drop(NAME)
    create = sql.SQL("CREATE DATABASE {} OWNER podium TEMPLATE template0 ").format(sql.Identifier(NAME))
    server.execute(create + sql.SQL(options))
    with pytest.raises(DatabaseError, match=r"create another one: CREATE DATABASE podium .* LC_COLLATE 'C'"):
        migrate_postgres(server.url(NAME))
