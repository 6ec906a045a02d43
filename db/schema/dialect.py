"""What statements for SQLite and for PostgreSQL differ in; every process that opens the database.

Most statements have one text for both: PostgreSQL gets SQLite's functions from `postgres_functions.sql`. Here is the
rest: statements that go to the driver as they are, and constructs that SQLAlchemy compiles for each database.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Table, TextClause, text, types
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.dialects.sqlite.dml import OnConflictDoNothing, OnConflictDoUpdate
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement, GenericFunction

__all__ = [
    "DialectText",
    "database_clock",
    "driver_dialect",
    "ending",
    "insert",
    "is_postgres",
    "json_number",
    "like",
    "named_marks",
    "row_insert",
    "row_update",
    "truncated",
    "with_strings",
]

POSTGRES = "postgresql"
_DIGITS = 308  # of an integer that is a float
_SQLITE = sqlite.dialect(paramstyle="named")
_MARK = re.compile(r"\?([0-9]*)")


def is_postgres(connection: Connection) -> bool:
    """Whether the connection is to PostgreSQL."""
    return connection.dialect.name == POSTGRES


def driver_dialect(connection: Connection) -> Dialect:
    """The dialect for statements that are given to the driver, with named values."""
    return connection.dialect if is_postgres(connection) else _SQLITE


@functools.cache
def named_marks(statement: str) -> str:
    """A statement with SQLite's marks `?` or `?1` for PostgreSQL's driver: values are named by position, from 1."""
    numbers = iter(range(1, statement.count("?") + 1))
    return _MARK.sub(lambda mark: f"%({mark[1] or next(numbers)})s", statement.replace("%", "%%"))


def row_insert(table: Table, columns: tuple[str, ...], dialect: Dialect) -> str:
    """For PostgreSQL: inserts rows that are given as one list per column, three times as fast as row by row."""
    names = ", ".join(map(dialect.identifier_preparer.quote, columns))  # "user" is a word of PostgreSQL
    lists = ", ".join(f"%s::{table.c[name].type.compile(dialect)}[]" for name in columns)
    return f"INSERT INTO {table.name} ({names}) SELECT * FROM unnest({lists})"  # noqa: S608 - our own names


@dataclass(frozen=True, slots=True)
class DialectText:
    """One statement with a text for each database, where none is right and fast on both."""

    sqlite: TextClause
    postgres: TextClause

    def on(self, connection: Connection) -> TextClause:
        """The text for this connection."""
        return self.postgres if is_postgres(connection) else self.sqlite


class truncated(GenericFunction[int]):  # noqa: N801 - called like a function
    """A number without its fraction. PostgreSQL's CAST rounds."""

    type = types.BigInteger()
    inherit_cache = True


@compiles(truncated, "sqlite")
def _truncated_by_sqlite(element: truncated, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **options)} AS INTEGER)"


@compiles(truncated, POSTGRES)
def _truncated_by_postgres(element: truncated, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST(trunc({compiler.process(element.clauses, **options)}) AS BIGINT)"


def with_strings(statement: str) -> DialectText:
    """A statement with `{strings}(:names)`: the function that lists a JSON list of strings, as `json_each` does ids."""
    on_sqlite, on_postgres = (text(statement.replace("{strings}", name)) for name in ("json_each", "json_strings"))
    return DialectText(on_sqlite, on_postgres)


def row_update(statement: str, columns: Sequence[Column[Any]], dialect: Dialect) -> str:
    """For PostgreSQL: an UPDATE for many rows of values, given as one array for each of the marks `?1`, `?2` and so on.

    It replaces `{rows}` of the statement, which stands before WHERE. The values have the types of `columns`.
    """
    lists = ", ".join(f"%s::{column.type.compile(dialect)}[]" for column in columns)
    names = ", ".join(f"value{number}" for number in range(1, len(columns) + 1))
    rows = f"FROM unnest({lists}) AS given ({names})"
    return _MARK.sub(r"given.value\1", statement).format(rows=rows)


class database_clock(GenericFunction[float]):  # noqa: N801 - called like a function
    """The clock of the database now, not at the start of the transaction, in seconds since 1970: `database_clock()`.

    On PostgreSQL that of its server, which all services of a database share.
    """

    type = types.Float()
    inherit_cache = True


@compiles(database_clock, "sqlite")
def _clock_of_sqlite(element: database_clock, compiler: SQLCompiler, **options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(database_clock, POSTGRES)
def _clock_of_postgres(element: database_clock, compiler: SQLCompiler, **options: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"


class json_number(GenericFunction[float]):  # noqa: N801 - called like a function
    """The number that JSON text is; call it only if it is one."""

    type = types.Float()
    inherit_cache = True


@compiles(json_number, "sqlite")
def _number_by_sqlite(element: json_number, compiler: SQLCompiler, **options: Any) -> str:
    return "json_extract({}, '$')".format(*_arguments(element, compiler, options))


@compiles(json_number, POSTGRES)
def _number_by_postgres(element: json_number, compiler: SQLCompiler, **options: Any) -> str:
    (value,) = _arguments(element, compiler, options)
    return f"CASE WHEN length({value}) <= {_DIGITS} THEN CAST({value} AS DOUBLE PRECISION) END"


class ending(GenericFunction[str]):  # noqa: N801 - called like a function
    """The last characters of text: `ending(column, number)`."""

    type = types.String()
    inherit_cache = True


@compiles(ending, "sqlite")
def _ending_by_sqlite(element: ending, compiler: SQLCompiler, **options: Any) -> str:
    return "substr({}, -({}))".format(*_arguments(element, compiler, options))


@compiles(ending, POSTGRES)
def _ending_by_postgres(element: ending, compiler: SQLCompiler, **options: Any) -> str:
    return "right({}, CAST({} AS INTEGER))".format(*_arguments(element, compiler, options))


class like(GenericFunction[bool]):  # noqa: N801 - called like a function
    """Whether text matches a pattern with `%`, `_` and the escape `\\`, whatever the case of ASCII letters."""

    type = types.Boolean()
    inherit_cache = True


@compiles(like, "sqlite")
def _like(element: like, compiler: SQLCompiler, **options: Any) -> str:
    return "{} LIKE {} ESCAPE '\\'".format(*_arguments(element, compiler, options))


@compiles(like, POSTGRES)
def _ilike(element: like, compiler: SQLCompiler, **options: Any) -> str:
    return "{} ILIKE {} ESCAPE '\\'".format(*_arguments(element, compiler, options))


def _arguments(element: FunctionElement[Any], compiler: SQLCompiler, options: dict[str, Any]) -> list[str]:
    return [compiler.process(each, **options) for each in element.clauses]


# `insert` is SQLite's. PostgreSQL's ON CONFLICT is the same, and its compiler looks for one more attribute.
@compiles(OnConflictDoNothing, POSTGRES)
def _ignore(element: Any, compiler: Any, **options: Any) -> str:
    element.constraint_target = None
    found: str = compiler.visit_on_conflict_do_nothing(element, **options)
    return found


@compiles(OnConflictDoUpdate, POSTGRES)
def _update(element: Any, compiler: Any, **options: Any) -> str:
    element.constraint_target = None
    found: str = compiler.visit_on_conflict_do_update(element, **options)
    return found
