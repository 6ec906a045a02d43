"""Integers that float32 cannot represent, compared with exact arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.api.http import float32_conversion
from podium.api.http.float32_conversion import as_float32, first_inexact

KINDS = ["i4", "u4", "i8", "u8"]


def is_exact(value: int) -> bool:
    """Whether 24 bits are enough for the value without its trailing zero bits."""
    odd = abs(value)
    while odd and odd % 2 == 0:
        odd //= 2
    return odd < 2**24


@given(st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), st.lists(integers(kind), min_size=1))))
def test_first_inexact_integer_equals_that_of_exact_arithmetic(case: tuple[str, list[int]]) -> None:
    kind, values = case
    expected = next((n for n, value in enumerate(values) if not is_exact(value)), None)
    assert first_inexact(np.array(values, kind)) == expected
    if expected is None:
        assert [int(value) for value in as_float32(np.array(values, kind))] == values


def integers(kind: str) -> st.SearchStrategy[int]:
    """Integers of this type; many with few bits, near the limits of exactness."""
    limits = np.iinfo(kind)
    shifted = st.builds(lambda odd, shift: odd << shift, st.integers(0, 2**25), st.integers(0, 38))
    within = shifted.filter(lambda value: limits.min <= value <= limits.max)
    return st.integers(int(limits.min), int(limits.max)) | within


def test_large_arrays_are_checked_in_chunks() -> None:
    values = np.full(3 * float32_conversion.CHUNK, 2**25)
    assert first_inexact(values.reshape(3, -1)) is None
    values[[-2, -1]] = 2**24 + 1
    assert first_inexact(values.reshape(3, -1)) == len(values) - 2


@pytest.mark.parametrize(
    "array", [np.zeros((0, 3), "i8"), np.array([2**24 + 1.0]), np.array([True]), np.array([65535], "u2")]
)
def test_other_types_are_not_checked(array: np.ndarray[Any, Any]) -> None:
    assert first_inexact(array) is None
