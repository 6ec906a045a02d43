"""Statements that the scheduler executes for every trial, compiled once and given to the driver as text; scheduler.

SQLAlchemy takes several times as long to look up and to prepare a statement as SQLite to execute it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, CursorResult
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ClauseElement

_DIALECT = sqlite.dialect(paramstyle="named")


class DriverStatement:
    """One statement. Its values are passed by name, and must be of types that the driver stores as they are."""

    def __init__(self, statement: ClauseElement, columns: Sequence[str] | None = None) -> None:
        """`columns`: the columns that an INSERT sets."""
        compiled = statement.compile(dialect=_DIALECT, column_keys=None if columns is None else list(columns))
        self._text = str(compiled)
        assert isinstance(compiled, SQLCompiler)  # a statement, not a type or a schema
        binds = {name: compiled.binds[name] for name in compiled.params}
        self._constants = {name: bind.value for name, bind in binds.items() if not bind.required}

    def execute(self, connection: Connection, values: dict[str, Any]) -> CursorResult[Any]:
        """Execute it once."""
        return connection.exec_driver_sql(self._text, self._constants | values)

    def execute_many(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """Execute it for each row."""
        connection.exec_driver_sql(self._text, [self._constants | row for row in rows])
