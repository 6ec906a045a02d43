"""Statements that are given to the driver as text, compiled once for each kind of database; scheduler and api.

SQLAlchemy takes several times as long to look up and to prepare a statement as SQLite to execute it, and longer for the
parameters of many rows than SQLite for the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sqlalchemy import Column, Connection, CursorResult, Select, Table
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import Insert
from sqlalchemy.sql.expression import ClauseElement

from podium.db.schema.dialect import driver_dialect, is_postgres, named_marks, row_insert, row_update
from podium.db.schema.postgres_arrays import array
from podium.db.schema.transaction_observer import report_part

Row = tuple[Any, ...]


class Cursor(Protocol):
    """The result of a statement, of SQLAlchemy or of the driver."""

    @property
    def rowcount(self) -> int:
        """The number of rows that the statement changed."""

    def fetchone(self) -> Any:
        """The next row as a sequence; None if there is none."""

    def fetchall(self) -> Sequence[Any]:
        """All further rows."""


class DriverStatement:
    """One statement. Its values are passed by name, and must be of types that the driver stores as they are.

    On SQLite it bypasses SQLAlchemy, of which only the connection is used: the errors are those of the driver.
    """

    def __init__(self, statement: ClauseElement, columns: Sequence[str] | None = None) -> None:
        """`columns`: the columns that an INSERT sets."""
        self._statement = statement.inline() if isinstance(statement, Insert) else statement  # without RETURNING
        self._columns = None if columns is None else list(columns)
        self._compiled: dict[str, tuple[str, dict[str, Any]]] = {}

    def execute(self, connection: Connection, values: dict[str, Any]) -> Cursor:
        """Execute it once."""
        text, constants = self._for(connection)
        return _execute(connection, text, constants | values)

    def execute_many(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """Execute it for each row."""
        text, constants = self._for(connection)
        _execute(connection, text, [constants | row for row in rows] if constants else list(rows))

    def _for(self, connection: Connection) -> tuple[str, dict[str, Any]]:
        """Its text, and the values that are part of it."""
        name = connection.dialect.name
        if name not in self._compiled:
            self._compiled[name] = self._compile(driver_dialect(connection))
        return self._compiled[name]

    def _compile(self, dialect: Dialect) -> tuple[str, dict[str, Any]]:
        compiled = self._statement.compile(dialect=dialect, column_keys=self._columns)
        assert isinstance(compiled, SQLCompiler)  # a statement, not a type or a schema
        binds = {key: compiled.binds[key] for key in compiled.params}
        return str(compiled), {key: bind.value for key, bind in binds.items() if not bind.required}


class DriverSelect:
    """A SELECT as `DriverStatement`. Values are as the driver reads them: SQLite's booleans are integers."""

    def __init__(self, statement: Select[Any]) -> None:
        self._statement = DriverStatement(statement)

    def rows(self, connection: Connection, values: dict[str, Any]) -> Sequence[Any]:
        """All rows."""
        return self._statement.execute(connection, values).fetchall()


def _execute(connection: Connection, text: str, values: dict[str, Any] | list[dict[str, Any]]) -> Cursor:
    """Execute it once, or for each of several rows."""
    if is_postgres(connection):
        return connection.exec_driver_sql(text, values)
    pooled = connection.connection
    driver: Any = pooled.driver_connection
    report_part(pooled.info)
    result: Cursor = driver.execute(text, values) if isinstance(values, dict) else driver.executemany(text, values)
    report_part(pooled.info)
    return result


class DriverText:
    """One statement in SQL. Its values are passed by position, for the marks `?`, or `?1` and so on."""

    def __init__(self, text: str) -> None:
        self._text = text

    def execute(self, connection: Connection, values: Row) -> CursorResult[*tuple[Any, ...]]:
        """Execute it once."""
        if is_postgres(connection):
            return connection.exec_driver_sql(named_marks(self._text), _named(values))
        return connection.exec_driver_sql(self._text, values)

    def execute_many(self, connection: Connection, rows: Sequence[Row]) -> int:
        """Execute it for each row; returns the number of rows that were written."""
        if is_postgres(connection):
            return connection.exec_driver_sql(named_marks(self._text), [_named(row) for row in rows]).rowcount
        return connection.exec_driver_sql(self._text, list(rows)).rowcount


class RowInsert:
    """Inserts many rows at once. Rows whose key is there already are left out if they `may_exist`, else refused."""

    def __init__(self, table: Table, columns: Sequence[str], *, may_exist: bool = False) -> None:
        self._table, self._columns = table, tuple(columns)
        self._end = " ON CONFLICT DO NOTHING" if may_exist else ""
        self._by_array = ""  # for PostgreSQL, when it is needed first
        marks = ", ".join("?" * len(columns))
        names = ", ".join(columns)
        self._text = f"INSERT INTO {table.name} ({names}) VALUES ({marks}){self._end}"  # noqa: S608 - our own names

    def execute(self, connection: Connection, rows: Sequence[Row]) -> int:
        """Insert the rows; returns how many were not there."""
        if is_postgres(connection):
            if not self._by_array:
                self._by_array = row_insert(self._table, self._columns, connection.dialect) + self._end
            return connection.exec_driver_sql(self._by_array, self._lists(rows)).rowcount
        return connection.exec_driver_sql(self._text, list(rows)).rowcount

    def _lists(self, rows: Sequence[Row]) -> tuple[str | bytes, ...]:
        """The rows as one array per column."""
        columns = zip(self._columns, zip(*rows, strict=True), strict=True)
        return tuple(array(values, self._table.c[name].type) for name, values in columns)


class RowUpdate:
    """Updates many rows at once: one UPDATE in SQL with `{rows}` before WHERE, and marks `?1` and so on for values.

    No two rows of values may concern the same row of the table.
    """

    def __init__(self, text: str, columns: Sequence[Column[Any]]) -> None:
        """`columns`: those that have the types of the values."""
        self._text, self._columns = text, tuple(columns)
        self._by_row = text.format(rows="")
        self._by_array = ""  # for PostgreSQL, when it is needed first

    def execute(self, connection: Connection, rows: Sequence[Row]) -> int:
        """Execute it for all rows of values; returns the number of rows of the table that were there."""
        if is_postgres(connection):
            if not self._by_array:
                self._by_array = row_update(self._text, self._columns, connection.dialect)
            lists = zip(self._columns, zip(*rows, strict=True), strict=True)
            values = tuple(array(values, column.type) for column, values in lists)
            return connection.exec_driver_sql(self._by_array, values).rowcount
        return connection.exec_driver_sql(self._by_row, list(rows)).rowcount


def _named(values: Row) -> dict[str, Any]:
    return {str(position): value for position, value in enumerate(values, 1)}
