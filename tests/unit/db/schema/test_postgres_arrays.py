"""Arrays of the values of a column, as PostgreSQL reads them."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from sqlalchemy import BigInteger, Boolean, Float, String, Text
from sqlalchemy.types import TypeEngine

from podium.db.schema.postgres_arrays import array
from podium.db.schema.postgres_database import PostgresDatabase
from podium.sweep.values.errors import DatabaseError
from tests.postgres_server import postgres_server

pytestmark = pytest.mark.postgres

NAME = "podium_arrays"


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresDatabase]:
    """An empty database."""
    server = postgres_server()
    server.create(NAME)
    opened = PostgresDatabase(server.url(NAME))
    yield opened
    opened.close()
    server.drop(NAME)


def _read(database: PostgresDatabase, values: Sequence[Any], type_: TypeEngine[Any], name: str) -> list[Any]:
    with database.read() as connection:
        found = connection.exec_driver_sql(f"SELECT * FROM unnest(%s::{name}[])", (array(values, type_),))
        return list(found.scalars())


@pytest.mark.parametrize(
    "values",
    [[0], [1, -1, 2**63 - 1, -(2**63)], [7, None, -7], [None], [np.int64(5), 6], list(range(1_000))],
    ids=lambda values: str(values[:4]),
)
def test_integers(database: PostgresDatabase, values: list[Any]) -> None:
    assert _read(database, values, BigInteger(), "BIGINT") == values


@pytest.mark.parametrize(
    "values",
    [
        [0.1 + 0.2, 1 / 3, -1e308, sys.float_info.min, 5e-324, sys.float_info.max],
        [math.inf, -math.inf],
        [1.5, None],
        [3, 2.5],
        [np.float32(0.1), np.float64(0.1)],
        [np.float32(0.1), None],
    ],
    ids=str,
)
def test_floats_keep_every_bit(database: PostgresDatabase, values: list[Any]) -> None:
    assert _read(database, values, Float(), "FLOAT") == [None if value is None else float(value) for value in values]


def test_zero_keeps_its_sign(database: PostgresDatabase) -> None:
    (found,) = _read(database, [-0.0], Float(), "FLOAT")
    assert math.copysign(1, found) == -1


def test_nan_is_null(database: PostgresDatabase) -> None:
    assert _read(database, [math.nan, 1.0], Float(), "FLOAT") == [None, 1.0]


@pytest.mark.parametrize("type_", [String(), Text()])
def test_text_keeps_every_character(database: PostgresDatabase, type_: TypeEngine[Any]) -> None:
    values = ["", "NULL", 'a "quoted" {text}, with commas', "back\\slash", "two\nlines", "Größe", None]
    assert _read(database, values, type_, "TEXT") == values


def test_truth_values(database: PostgresDatabase) -> None:
    assert _read(database, [True, False, None], Boolean(), "BOOLEAN") == [True, False, None]


@pytest.mark.parametrize("value", [2**63, 2**70, 1.5])
def test_value_that_does_not_fit_is_refused_by_the_server(database: PostgresDatabase, value: float) -> None:
    with pytest.raises(DatabaseError):
        _read(database, [1, value], BigInteger(), "BIGINT")
