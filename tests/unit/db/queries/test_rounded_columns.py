"""Rounding of columns to what a chart can show."""

from __future__ import annotations

from typing import Any

import pytest

from podium.db.queries.rounded_columns import FEW, rounded


def one(column: list[Any], digits: int | None) -> list[Any]:
    return rounded({"x": column}, digits)["x"]


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e-5, 1.0, 17.0, 1e3])
def test_values_keep_their_significant_digits(scale: float) -> None:
    column = [scale * (index + 1) / 7 for index in range(3 * FEW)]
    found = one(column, 5)
    assert found == [pytest.approx(value, rel=5e-5, abs=0) for value in column]
    if scale > 1e-15:
        assert found == [float(f"{value:.5g}") for value in column]


def test_digits_count_from_the_range_of_the_column_if_it_is_smaller() -> None:
    column = [1000 + index / 70_000 for index in range(3 * FEW)]
    found = one(column, 4)
    assert len(set(found)) == len(column)
    assert found == [pytest.approx(value, abs=1e-6, rel=0) for value in column]
    assert sum(len(str(value)) for value in found) < 0.8 * sum(len(str(value)) for value in column)


def test_integers_missing_values_and_zero_are_unchanged() -> None:
    column = [None, 0, 0.0, 123_456_789, 1_234_567.5, *(index / 7 for index in range(3 * FEW))]
    found = one(column, 3)
    assert found[:4] == [None, 0, 0.0, 123_456_789]
    assert [type(value) for value in found[:4]] == [type(value) for value in column[:4]]
    assert found[4] == 1_234_568.0  # no digit before the decimal point is lost
    assert found[6] == 0.143


def test_non_finite_values_are_unchanged() -> None:
    column = [float("inf"), float("-inf"), *(index / 7 for index in range(3 * FEW))]
    assert one(column, 3)[:2] == column[:2]
    assert one(column, 3)[3] == 0.143


@pytest.mark.parametrize(
    "column",
    [
        [index / 7 for index in range(FEW)],
        ["adam", *(index / 7 for index in range(3 * FEW))],
        [True, *(index / 7 for index in range(3 * FEW))],
        [None] * 3 * FEW,
        [],
    ],
)
def test_few_values_choices_and_missing_columns_are_unchanged(column: list[Any]) -> None:
    assert one(column, 3) == column


def test_without_digits_all_are_exact() -> None:
    column = [index / 7 for index in range(3 * FEW)]
    assert one(column, None) is column
