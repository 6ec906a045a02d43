"""`podium db check` on PostgreSQL: the rows, and what PostgreSQL itself finds; read-only; a separate process.

`python -P -m podium.db.integrity.postgres_check [URL_FILE]` prints one line of JSON, or an error message and exits 3.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from alembic.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.exc import DatabaseError as SqlError

from podium.db.integrity import row_checks
from podium.db.schema.error_exit import exit_with_message
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.postgres_url_source import database_url
from podium.db.schema.schema_version import newest_schema
from podium.db.schema.unfinished_copy import refuse_unfinished

MAX_FINDINGS = 20
_INDEXES = (
    "SELECT c.oid, c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam"
    " WHERE c.relnamespace = current_schema()::regnamespace AND a.amname = 'btree' ORDER BY c.relname"
)
_TABLES = (
    "SELECT oid, relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
    " ORDER BY relname"
)
_INVALID = (
    "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
    " WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisvalid"
    " UNION ALL SELECT conname FROM pg_constraint"
    " WHERE connamespace = current_schema()::regnamespace AND NOT convalidated"
)
_AMCHECK = (
    "SELECT coalesce(bool_and(has_function_privilege(p.oid, 'execute')), false) FROM pg_proc p"
    " JOIN pg_depend d ON d.objid = p.oid AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid"
    " WHERE e.extname = 'amcheck' AND p.proname IN ('bt_index_check', 'verify_heapam')"
)
_WITHOUT_AMCHECK = (
    "tables and indexes were not read page by page: a superuser enables that in this database by CREATE EXTENSION"
    " amcheck, and GRANT EXECUTE ON FUNCTION bt_index_check(regclass, boolean), bt_index_check(regclass),"
    " verify_heapam TO its role"
)


@dataclass(frozen=True, slots=True)
class PostgresCheckResult:
    """The result. `problems` must be fixed; `advice` is optional."""

    path: str
    bytes: int
    schema: str | None
    server: str
    amcheck: bool  # tables and indexes were read page by page
    problems: tuple[str, ...]
    advice: tuple[str, ...]


def check(url: str) -> PostgresCheckResult:
    """Check a database. Raises `DatabaseError` if it cannot be read, or is an unfinished copy."""
    database = PostgresDatabase(url)
    try:
        with database.read() as connection:
            schema = MigrationContext.configure(connection).get_current_revision()
            refuse_unfinished(database.name, schema)
            problems = [*_invalid(connection), *_settings(connection)]
            if schema is None:
                problems.append("not a Podium database, or empty; give another URL")
            elif schema == newest_schema():
                problems += itertools.islice(_breaches(connection), MAX_FINDINGS)
            amcheck = bool(connection.execute(text(_AMCHECK)).scalar_one())
            size = connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one()
            server = connection.execute(text("SHOW server_version")).scalar_one()
        problems += itertools.islice(_damage(database) if amcheck else (), MAX_FINDINGS)
        advice = [*([] if amcheck else [_WITHOUT_AMCHECK]), *_outdated(schema)]
        return PostgresCheckResult(database.name, size, schema, server, amcheck, tuple(problems), tuple(advice))
    finally:
        database.close()


def _outdated(schema: str | None) -> Iterator[str]:
    if schema is not None and schema != newest_schema():
        yield f"schema {schema} is older than {newest_schema()}; run `podium db upgrade`, which the row checks need"


def _breaches(connection: Connection) -> Iterator[str]:
    """What `podium doctor` finds in the rows, without what may be about to change."""
    for breach in (each for each in row_checks.breaches(connection) if not each.passing):
        where = ", ".join(f"{name} {value}" for name, value in breach.rows.items())
        yield f"{breach.invariant}: {breach.wrong} ({where})"


def _invalid(connection: Connection) -> Iterator[str]:
    for name in connection.execute(text(_INVALID)).scalars():
        yield f"{name} is not valid: its creation was interrupted; drop it and create it again"


def _settings(connection: Connection) -> Iterator[str]:
    """Settings of the server that lose what the service has acknowledged, and damage that it has met."""
    for name, loss in (
        ("fsync", "can damage the database"),
        ("full_page_writes", "can damage the database"),
        ("synchronous_commit", "can lose accepted sweeps and finished trials"),
    ):
        if connection.execute(text(f"SHOW {name}")).scalar_one() == "off":
            yield f"{name} is off on the server: a power failure {loss}; set it to on"
    failures = "SELECT coalesce(checksum_failures, 0) FROM pg_stat_database WHERE datname = current_database()"
    if count := connection.execute(text(failures)).scalar_one():
        yield f"the server has met {count} damaged pages in it; check its disk, and restore a backup"


def _damage(database: PostgresDatabase) -> Iterator[str]:
    """What amcheck finds."""
    with database.read() as connection:
        tables = connection.execute(text(_TABLES)).all()
        indexes = connection.execute(text(_INDEXES)).all()
        for table in tables:
            found = connection.execute(text("SELECT blkno, msg FROM verify_heapam(:oid)"), {"oid": table.oid})
            yield from (f"damaged: page {row.blkno} of {table.relname}: {row.msg}" for row in found)
    for index in indexes:
        with database.read() as connection:
            try:
                connection.execute(text("SELECT bt_index_check(:oid, true)"), {"oid": index.oid})
            except SqlError as error:
                reason = str(error.orig).splitlines()[0]
                yield f"damaged: index {index.relname}: {reason}; run REINDEX INDEX {index.relname}"


def main() -> None:
    """Check the database whose URL is in a file, or in the environment."""
    with exit_with_message():
        found = check(database_url(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
        print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
