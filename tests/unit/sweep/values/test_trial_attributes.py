"""Constraints and user attributes as a trial notes them: what is taken, what is refused, and how much."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.values.errors import BadReportError, NonFiniteError
from podium.sweep.values.trial_attributes import MAX_CONSTRAINTS, MAX_DEPTH, MAX_USER_ATTRS_BYTES, Notes, too_deep

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(NAMES, JSON, max_size=4))
def test_json_values_come_back_as_they_are(values: dict[str, Any]) -> None:
    notes = Notes()
    for name, value in values.items():
        notes.set_user_attr(name, value)
    assert notes.user_attrs == values
    assert json.loads(json.dumps(notes.user_attrs)) == values


def test_the_last_value_under_a_name_counts() -> None:
    notes = Notes()
    for value in (1.0, -2):
        notes.set_constraint("size", value)
        notes.set_user_attr("size", value)
    assert (notes.constraints, notes.user_attrs) == ({"size": -2.0}, {"size": -2})


def test_numbers_of_numpy_are_numbers() -> None:
    notes = Notes()
    notes.set_user_attr("loss", {"first": np.float32(0.5), "steps": np.int64(3)})
    assert notes.user_attrs == {"loss": {"first": 0.5, "steps": 3}}


@pytest.mark.parametrize("value", [float("nan"), {"x": float("inf")}, object(), {1, 2}, b"x", "\ud800", np.zeros(3)])
def test_what_is_no_json_value_is_refused(value: Any) -> None:
    notes = Notes()
    with pytest.raises(BadReportError, match="not a JSON value"):
        notes.set_user_attr("x", value)
    assert notes.user_attrs == {}


@pytest.mark.parametrize("name", ["", "x" * 201, "a\0b", "\ud800", 3, None])
def test_names_are_texts_that_a_database_takes(name: Any) -> None:
    with pytest.raises(BadReportError):
        Notes().set_user_attr(name, 1)
    with pytest.raises(BadReportError):
        Notes().set_constraint(name, 1)


def _nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"inner": value}
    return value


def test_an_attribute_nests_only_so_deep() -> None:
    notes = Notes()
    notes.set_user_attr("deep", _nested(MAX_DEPTH))
    with pytest.raises(BadReportError, match=f"nested more than {MAX_DEPTH} levels"):
        notes.set_user_attr("deeper", _nested(MAX_DEPTH + 1))
    assert list(notes.user_attrs) == ["deep"]


@pytest.mark.parametrize("depth", [260, 600, 5000])
def test_what_cannot_even_be_shown_is_refused_too(depth: int) -> None:
    with pytest.raises(BadReportError):
        Notes().set_user_attr("deep", _nested(depth))


@given(JSON, st.integers(0, 40))
def test_depth_is_counted(value: Any, more: int) -> None:
    def depth(of: Any) -> int:
        inner = of.values() if isinstance(of, dict) else of if isinstance(of, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    for _ in range(more):
        value = [value]
    assert too_deep(value) == (depth(value) > MAX_DEPTH)


def test_attributes_are_bounded_together() -> None:
    notes = Notes()
    notes.set_user_attr("a", "x" * (MAX_USER_ATTRS_BYTES // 2))
    notes.set_user_attr("a", "y" * (MAX_USER_ATTRS_BYTES // 2))  # in its place
    with pytest.raises(BadReportError, match="write larger data to a file"):
        notes.set_user_attr("b", "x" * (MAX_USER_ATTRS_BYTES // 2))
    assert list(notes.user_attrs) == ["a"]


def test_a_constraint_is_a_finite_number() -> None:
    with pytest.raises(NonFiniteError):
        Notes().set_constraint("size", float("nan"))
    with pytest.raises(BadReportError, match="not a number"):
        Notes().set_constraint("size", "large")


def test_constraints_are_bounded() -> None:
    notes = Notes()
    for index in range(MAX_CONSTRAINTS):
        notes.set_constraint(str(index), 0)
    notes.set_constraint("0", 1)
    with pytest.raises(BadReportError, match="at most"):
        notes.set_constraint("more", 0)
