"""Fills every table of a database with rows, for copies and backups: extreme numbers, unusual text, NULL."""

from __future__ import annotations

import random
from typing import Any

from sqlalchemy import Boolean, Column, Connection, Float, Integer, String, Table, insert
from sqlalchemy.sql.sqltypes import TypeEngine

from podium.db.copies.dialect_value_conversion import TargetValues
from podium.db.copies.table_copy import source_digest
from podium.db.schema.database import Database
from podium.db.schema.tables import WRITTEN_BY_TRIGGERS, metadata, service

# SQLite has no negative zero, PostgreSQL no NUL: those that a database has are given by the test.
FLOATS = [0.1, -1.5e300, 5e-324, 1 / 3, 1.7976931348623157e308, float("inf"), 1e22, 2.0]
TEXTS = ["plain", "", 'it\'s "quoted" \\ {a,b}', "line\nbreak\ttab", "Größe 𝄞", "NULL", "\\x00", "[1, 2.0]"]
INTEGERS = [0, 1, -7, 2**31, 2**53 + 1, 2**63 - 1]


def fill(connection: Connection, rows: int = 8, *, more: tuple[float | str, ...] = ()) -> None:
    """Write `rows` rows into each table that no triggers write, with the values `more` among those of their type."""
    chance = random.Random(7)
    for table in metadata.sorted_tables:
        if table is not service and table not in WRITTEN_BY_TRIGGERS:
            made = [_row(table, number, rows, chance, more) for number in range(1, rows + 1)]
            connection.execute(insert(table), made)


def digests(database: Database) -> list[tuple[int, int]]:
    """Number and digest of the rows of each table; equal for equal rows in databases of both kinds."""
    with database.read() as connection:
        found = [source_digest(connection, table, TargetValues(postgres=True)) for table in metadata.sorted_tables]
    database.close()
    return [(each.rows, each.digest) for each in found]


def _row(table: Table, number: int, rows: int, chance: random.Random, more: tuple[Any, ...]) -> dict[str, Any]:
    return {column.name: _value(column, number, rows, chance, more) for column in table.columns}


def _value(column: Column[Any], number: int, rows: int, chance: random.Random, more: tuple[Any, ...]) -> Any:
    table: Table = column.table
    if column.foreign_keys:
        parent = next(iter(column.foreign_keys)).column
        return f"{parent.name} {number}" if isinstance(parent.type, String) else number
    if column.primary_key or _is_unique(table, column):
        return _distinct(column.type, column.name, number)
    if column.nullable and chance.random() < 0.3:
        return None
    return _any(column.type, chance, more)


def _is_unique(table: Table, column: Column[Any]) -> bool:
    return any(index.unique and column.name in index.columns for index in table.indexes) or any(
        column.name in getattr(constraint, "columns", ()) for constraint in table.constraints
    )


def _distinct(type_: TypeEngine[Any], name: str, number: int) -> Any:
    if isinstance(type_, String):
        return f"{name} {number}"
    return number + 0.25 if isinstance(type_, Float) else number


def _any(type_: TypeEngine[Any], chance: random.Random, more: tuple[Any, ...]) -> Any:
    if isinstance(type_, Boolean):
        return chance.random() < 0.5
    if isinstance(type_, Float):
        return chance.choice([*FLOATS, *(value for value in more if isinstance(value, float))])
    if isinstance(type_, String):
        return chance.choice([*TEXTS, *(value for value in more if isinstance(value, str))])
    assert isinstance(type_, Integer)
    return chance.choice(INTEGERS)
