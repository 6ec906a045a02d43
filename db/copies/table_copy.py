"""Copies the rows of one table in the order of its key, from where the target is; the process of `podium db copy`."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, Table, func, literal, select, text, tuple_

from podium.db.copies.dialect_value_conversion import Row, TableDigest, TargetValues, digest_of
from podium.db.schema.database import Database
from podium.db.schema.dialect import is_postgres
from podium.db.stores.precompiled_sql_statements import RowInsert

BATCH = 5_000  # rows in one transaction


def copy_table(source: Connection, target: Database, table: Table, values: TargetValues, *, batch: int = BATCH) -> int:
    """Copy the rows that the target does not have yet; returns how many. Each transaction is a batch."""
    insert = RowInsert(table, [column.name for column in table.columns])
    copied = 0
    for rows in _batches(source, table, _last_key(target, table), batch):
        with target.write(durable=False) as connection:
            insert.execute(connection, [values.of(row) for row in rows])
        copied += len(rows)
    return copied


def source_digest(source: Connection, table: Table, values: TargetValues) -> TableDigest:
    """What the target should have."""
    return digest_of((row for rows in _batches(source, table, None, BATCH) for row in rows), values)


def target_digest(target: Connection, table: Table) -> TableDigest:
    """What the target has."""
    return digest_of(row for rows in _batches(target, table, None, BATCH) for row in rows)


def last_id(connection: Connection, table: Table) -> int:
    """The highest id that was ever given, as far as the database knows."""
    (key,) = table.primary_key.columns
    highest: int = connection.execute(select(func.coalesce(func.max(key), 0))).scalar_one()
    return max(highest, _last_of_sequence(connection, table))


def set_last_id(connection: Connection, table: Table, last: int) -> None:
    """Give higher ids to new rows."""
    if last == 0:
        return
    if is_postgres(connection):
        statement = "SELECT setval(pg_get_serial_sequence(:table, 'id'), :last)"
        connection.execute(text(statement), {"table": table.name, "last": last})
    elif _is_counted(table):
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :table"), {"table": table.name})
        statement = "INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)"
        connection.execute(text(statement), {"table": table.name, "last": last})


def _last_of_sequence(connection: Connection, table: Table) -> int:
    if is_postgres(connection):
        statement = "SELECT pg_sequence_last_value(pg_get_serial_sequence(:table, 'id')::regclass)"
    elif _is_counted(table):
        statement = "SELECT seq FROM sqlite_sequence WHERE name = :table"
    else:
        return 0
    return connection.execute(text(statement), {"table": table.name}).scalar() or 0


def _is_counted(table: Table) -> bool:
    """Whether SQLite never gives an id twice."""
    return bool(table.dialect_options["sqlite"]["autoincrement"])


def _batches(connection: Connection, table: Table, after: Row | None, size: int) -> Iterator[list[Row]]:
    """The rows after a key, in its order."""
    key = list(table.primary_key.columns)
    statement = select(table).order_by(*key)
    if after is not None:
        values = (literal(value, column.type) for value, column in zip(after, key, strict=True))
        statement = statement.where(tuple_(*key) > tuple_(*values))
    result = connection.execute(statement, execution_options={"yield_per": size})
    for rows in result.partitions():
        yield [tuple(row) for row in rows]


def _last_key(target: Database, table: Table) -> Row | None:
    """The highest key in the target; None if it has no row."""
    key = list(table.primary_key.columns)
    with target.read() as connection:
        found = connection.execute(select(*key).order_by(*(column.desc() for column in key)).limit(1)).first()
    return None if found is None else tuple(found)
