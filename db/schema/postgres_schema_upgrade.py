"""Creates and upgrades a PostgreSQL database; one process at a time.

A new database gets the tables of the code and the version of the newest migration: PostgreSQL is supported since schema
0014, and what earlier migrations moved has never been in such a database. Later migrations run on both databases.
"""

from __future__ import annotations

import importlib.resources
import secrets
from typing import Any

from alembic import command
from sqlalchemy import Connection, insert, inspect, select, text

from podium.db.schema.dialect import database_clock
from podium.db.schema.migrate import MigrationResult, alembic_config
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.schema_version import known_schema, newest_schema
from podium.db.schema.tables import leader_lease, metadata, service
from podium.sweep.values.errors import DatabaseError

IN_USE_S = 10.0  # after the last renewal of the lease; see `podium.db.stores.leader_lease`
OLDEST = 14  # version of PostgreSQL: aggregates of any type
_FUNCTIONS = importlib.resources.files("podium.db.schema") / "postgres_functions.sql"
_SETTINGS = (
    "SELECT pg_encoding_to_char(encoding) AS encoding, datcollate AS collation, datctype AS character_type"
    " FROM pg_database WHERE datname = current_database()"
)
_CREATE = "CREATE DATABASE podium TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"


def migrate_postgres(url: str) -> MigrationResult:
    """Create or upgrade the tables of the database, in one transaction. Raises `DatabaseError` if that is not safe."""
    database = PostgresDatabase(url)
    try:
        with database.write() as connection:
            _check_server(connection, database.name)
            before = existing_schema(connection, database.name)
            if before is None:
                _create(connection)
            elif before != newest_schema():
                _refuse_running(connection, database.name)
                command.upgrade(_config(connection), "head")
            connection.exec_driver_sql(_FUNCTIONS.read_text())
        return MigrationResult(database.name, before, newest_schema())
    finally:
        database.close()


def _create(connection: Connection) -> None:
    for table in metadata.tables.values():
        for index in table.indexes:  # here: the option of PostgreSQL imports its dialect, in every process
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
    metadata.create_all(connection)
    connection.execute(insert(service).values(id=1, name=secrets.token_hex(6)))
    command.stamp(_config(connection), "head")


def _config(connection: Connection) -> Any:
    config = alembic_config()
    config.attributes["connection"] = connection
    return config


def _check_server(connection: Connection, name: str) -> None:
    """Raises `DatabaseError` if text would be compared or stored otherwise than in SQLite, or PostgreSQL is too old."""
    driver: Any = connection.connection.driver_connection
    if driver.info.server_version < OLDEST * 10_000:
        raise DatabaseError(f"{name} is on PostgreSQL {driver.info.server_version // 10_000}; Podium needs {OLDEST}")
    found = connection.execute(text(_SETTINGS)).one()
    if found.encoding != "UTF8" or {found.collation, found.character_type} - {"C", "POSIX"}:
        raise DatabaseError(
            f"{name} has the encoding {found.encoding} and the collation {found.collation}, and Podium needs UTF8 and "
            f"C; create another one: {_CREATE}"
        )


def _refuse_running(connection: Connection, name: str) -> None:
    """Raises `DatabaseError` if a service of the earlier schema leads, also on another machine."""
    if inspect(connection).has_table(leader_lease.name):
        since = select(leader_lease.c.host, leader_lease.c.url).where(
            leader_lease.c.renewed_at > database_clock() - IN_USE_S
        )
        if (leader := connection.execute(since).one_or_none()) is not None:
            raise DatabaseError(
                f"{name} is used by the service {leader.url} on {leader.host}, which has an earlier version of Podium; "
                "stop all services before an upgrade"
            )


def existing_schema(connection: Connection, name: str) -> str | None:
    """The schema of the database; None if it is empty.

    Raises `DatabaseError` if it is not Podium's, newer than this version, or an unfinished copy.
    """
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return None
    if not tables >= {"alembic_version", "sweeps"}:
        raise DatabaseError(
            f"{name} is not Podium's (it has {', '.join(sorted(tables)[:3])}); give an empty database, or Podium's"
        )
    schema: str = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    return known_schema(name, schema)
