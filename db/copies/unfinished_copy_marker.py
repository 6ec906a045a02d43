"""Marks a database that is being copied into, instead of its schema; the processes of `podium db` and of `serve`.

The marker names the source in the state that it has at the start of the copy. It takes the place of the schema, so that
whatever opens the database refuses it, and is replaced by the schema once the copy is complete and has been verified.
"""

from __future__ import annotations

import hashlib

from sqlalchemy import Connection, delete, func, inspect, select, text

from podium.db.schema.database import Database
from podium.db.schema.schema_version import newest_schema
from podium.db.schema.tables import events, metadata, scheduler_lease, service
from podium.db.schema.unfinished_copy import COPYING, is_unfinished
from podium.sweep.values.errors import DatabaseError

_DIGITS = 24  # of the hash: the column has room for 32 characters


def marker_of(source: Connection, name: str) -> str:
    """The marker of copies of this source. Raises `DatabaseError` unless it has the schema of this version."""
    schema = _schema(source)
    if schema is None:
        raise DatabaseError(f"{name} is not a Podium database, or empty; there is nothing to copy")
    if is_unfinished(schema):
        raise DatabaseError(f"{name} is itself an unfinished copy; finish that one first")
    if schema != newest_schema():
        raise DatabaseError(
            f"{name} has schema {schema}, and this version of Podium copies schema {newest_schema()}; run "
            "`podium db upgrade` first, with the version of Podium that will use the copy"
        )
    state = [
        source.execute(select(service.c.name)).scalars().all(),
        source.execute(select(scheduler_lease.c.epoch)).scalars().all(),
        source.execute(select(func.max(events.c.id))).scalar(),
        *(source.execute(select(func.count()).select_from(table)).scalar() for table in metadata.sorted_tables),
    ]
    return COPYING + hashlib.sha256(repr(state).encode()).hexdigest()[:_DIGITS]


def mark(target: Database, marker: str, name: str) -> bool:
    """Mark the target, which has its tables; returns whether it has this mark already: the copy continues.

    Raises `DatabaseError` if it has rows, or is the unfinished copy of something else.
    """
    with target.write() as connection:
        schema = _schema(connection)
        if schema == marker:
            return True
        _refuse_content(connection, schema, name)
        connection.execute(delete(service))  # a new database has a random name
        _set_schema(connection, marker)
    return False


def finish(connection: Connection) -> None:
    """Replace the mark by the schema: the copy is complete."""
    _set_schema(connection, newest_schema())


def _refuse_content(connection: Connection, schema: str | None, name: str) -> None:
    if schema is None or is_unfinished(schema):
        raise DatabaseError(
            f"{name} has the unfinished copy of another database, or of this one before it was changed; empty or "
            "remove it, and start again"
        )
    if schema != newest_schema():
        raise DatabaseError(f"{name} has schema {schema} instead of {newest_schema()}; give an empty database")
    for table in metadata.sorted_tables:
        if table is not service and connection.execute(select(1).select_from(table).limit(1)).first():
            raise DatabaseError(f"{name} is not empty: it has rows in {table.name}; give an empty database")


def _schema(connection: Connection) -> str | None:
    """The schema of a database, or its mark; None if it is not Podium's."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    return found


def _set_schema(connection: Connection, schema: str) -> None:
    connection.execute(text("UPDATE alembic_version SET version_num = :schema"), {"schema": schema})
