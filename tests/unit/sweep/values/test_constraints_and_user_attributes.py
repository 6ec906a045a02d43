"""Constraints and user attributes of a trial: valid values, rejected values, and limits."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.values.constraints_and_user_attributes import (
    MAX_CONSTRAINTS,
    MAX_DEPTH,
    MAX_USER_ATTRS_BYTES,
    TrialAttributes,
    too_deep,
)
from podium.sweep.values.errors import BadReportError, NonFiniteError

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(NAMES, JSON, max_size=4))
def test_json_values_are_unchanged(values: dict[str, Any]) -> None:
    notes = TrialAttributes()
    for name, value in values.items():
        notes.set_user_attr(name, value)
    assert notes.user_attrs == values
    assert json.loads(json.dumps(notes.user_attrs)) == values


def test_last_value_of_a_name_counts() -> None:
    notes = TrialAttributes()
    for value in (1.0, -2):
        notes.set_constraint("size", value)
        notes.set_user_attr("size", value)
    assert (notes.constraints, notes.user_attrs) == ({"size": -2.0}, {"size": -2})


def test_numpy_numbers_are_converted() -> None:
    notes = TrialAttributes()
    notes.set_user_attr("loss", {"first": np.float32(0.5), "steps": np.int64(3)})
    assert notes.user_attrs == {"loss": {"first": 0.5, "steps": 3}}


@pytest.mark.parametrize("value", [float("nan"), {"x": float("inf")}, object(), {1, 2}, b"x", "\ud800", np.zeros(3)])
def test_value_that_is_not_json_is_rejected(value: Any) -> None:
    notes = TrialAttributes()
    with pytest.raises(BadReportError, match="not a JSON value"):
        notes.set_user_attr("x", value)
    assert notes.user_attrs == {}


@pytest.mark.parametrize("name", ["", "x" * 201, "a\0b", "\ud800", 3, None])
def test_invalid_name_is_rejected(name: Any) -> None:
    with pytest.raises(BadReportError):
        TrialAttributes().set_user_attr(name, 1)
    with pytest.raises(BadReportError):
        TrialAttributes().set_constraint(name, 1)


def _nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"inner": value}
    return value


def test_nesting_of_attribute_is_limited() -> None:
    notes = TrialAttributes()
    notes.set_user_attr("deep", _nested(MAX_DEPTH))
    with pytest.raises(BadReportError, match=f"nested more than {MAX_DEPTH} levels"):
        notes.set_user_attr("deeper", _nested(MAX_DEPTH + 1))
    assert list(notes.user_attrs) == ["deep"]


@pytest.mark.parametrize("depth", [260, 600, 5000])
def test_very_deep_attribute_is_rejected(depth: int) -> None:
    with pytest.raises(BadReportError):
        TrialAttributes().set_user_attr("deep", _nested(depth))


@given(JSON, st.integers(0, 40))
def test_too_deep_agrees_with_definition(value: Any, more: int) -> None:
    def depth(of: Any) -> int:
        inner = of.values() if isinstance(of, dict) else of if isinstance(of, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    for _ in range(more):
        value = [value]
    assert too_deep(value) == (depth(value) > MAX_DEPTH)


def test_total_size_of_attributes_is_limited() -> None:
    notes = TrialAttributes()
    notes.set_user_attr("a", "x" * (MAX_USER_ATTRS_BYTES // 2))
    notes.set_user_attr("a", "y" * (MAX_USER_ATTRS_BYTES // 2))  # replaces it
    with pytest.raises(BadReportError, match="write larger data to a file"):
        notes.set_user_attr("b", "x" * (MAX_USER_ATTRS_BYTES // 2))
    assert list(notes.user_attrs) == ["a"]


def test_constraint_must_be_a_finite_number() -> None:
    with pytest.raises(NonFiniteError):
        TrialAttributes().set_constraint("size", float("nan"))
    with pytest.raises(BadReportError, match="not a number"):
        TrialAttributes().set_constraint("size", "large")


def test_number_of_constraints_is_limited() -> None:
    notes = TrialAttributes()
    for index in range(MAX_CONSTRAINTS):
        notes.set_constraint(str(index), 0)
    notes.set_constraint("0", 1)
    with pytest.raises(BadReportError, match="at most"):
        notes.set_constraint("more", 0)
