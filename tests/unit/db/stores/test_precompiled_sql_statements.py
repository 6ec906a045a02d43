"""Statements for the driver: constants are part of them, and a missing value is an error."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

import pytest
from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    bindparam,
    create_engine,
    insert,
    select,
    update,
)

from podium.db.stores.id_list import LISTED, listed
from podium.db.stores.precompiled_sql_statements import DriverSelect, DriverStatement

THINGS = Table("things", MetaData(), Column("id", Integer, primary_key=True), Column("name", String))


@pytest.fixture
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        THINGS.create(connection)
        connection.execute(insert(THINGS), [{"id": 1, "name": "a"}, {"id": 2, "name": "a"}])
        yield connection


def test_constants_and_values_are_bound(connection: Connection) -> None:
    change = update(THINGS).where(THINGS.c.id == bindparam("b_id"), THINGS.c.name == "a").values(name="b")
    statement = DriverStatement(change)
    assert statement.execute(connection, {"b_id": 2}).rowcount == 1
    assert statement.execute(connection, {"b_id": 2}).rowcount == 0
    assert connection.execute(THINGS.select()).all() == [(1, "a"), (2, "b")]


def test_insert_sets_its_columns_in_every_row(connection: Connection) -> None:
    DriverStatement(insert(THINGS), ("id", "name")).execute_many(
        connection, [{"id": 3, "name": None}, {"name": "d", "id": 4}]
    )
    assert connection.execute(THINGS.select()).all()[2:] == [(3, None), (4, "d")]


def test_missing_value_is_an_error(connection: Connection) -> None:
    with pytest.raises(sqlite3.ProgrammingError):
        DriverStatement(insert(THINGS), ("id", "name")).execute(connection, {"id": 3})


@pytest.mark.parametrize(("ids", "expected"), [([], []), ([2], [2]), ([2, 7, 1], [1, 2]), (range(1000), [1, 2])])
def test_rows_are_those_of_the_listed_ids(connection: Connection, ids: Sequence[int], expected: list[int]) -> None:
    things = DriverSelect(select(THINGS.c.id, THINGS.c.name).where(THINGS.c.id.in_(LISTED)).order_by(THINGS.c.id))
    assert [tuple(row) for row in things.rows(connection, listed(ids))] == [(id_, "a") for id_ in expected]
