"""Values that a function may return, and the errors for others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium.sweep.values.errors import BadReportError, NonFiniteError
from podium.sweep.values.return_value_conversion import returned_values

ONE, TWO = ("accuracy",), ("accuracy", "seconds")


@pytest.mark.parametrize(
    "returned", [0.5, np.float32(0.5), [0.5], (0.5,), {"accuracy": 0.5}, {"x": 1, "accuracy": 0.5}]
)
def test_single_value_is_accepted_in_any_form(returned: Any) -> None:
    assert returned_values(returned, ONE) == (0.5,)


@pytest.mark.parametrize("returned", [(0.5, 3), [0.5, 3], {"seconds": 3, "accuracy": 0.5, "loss": "none"}])
def test_several_values_are_ordered_by_objective(returned: Any) -> None:
    assert returned_values(returned, TWO) == (0.5, 3.0)


@pytest.mark.parametrize(
    ("returned", "objectives", "message"),
    [
        (None, ONE, "returned nothing; return a number, or a dict with 'accuracy'"),
        ("high", ONE, "not a number"),
        ({"loss": 1}, ONE, "without 'accuracy'; return a number, or a dict with 'accuracy'"),
        ((1, 2), ONE, "2 values for 1"),
        (0.5, TWO, "the sweep has 2 objectives: return a tuple (accuracy, seconds), or a dict by these names"),
        ((0.5,), TWO, "1 values for 2"),
        ({"accuracy": 1}, TWO, "without 'seconds'"),
        ((0.5, "fast"), TWO, "its 'seconds' is 'fast': not a number"),
        ({"accuracy": None, "seconds": 1}, TWO, "its 'accuracy' is None: not a number"),
    ],
)
def test_invalid_return_value_is_rejected_with_fix(returned: Any, objectives: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadReportError) as caught:
        returned_values(returned, objectives)
    assert message in str(caught.value)
    assert not isinstance(caught.value, NonFiniteError)


@pytest.mark.parametrize("returned", [(0.5, float("nan")), {"accuracy": float("inf"), "seconds": 1}])
def test_each_value_must_be_finite(returned: Any) -> None:
    with pytest.raises(NonFiniteError):
        returned_values(returned, TWO)


def test_shown_value_is_truncated() -> None:
    with pytest.raises(BadReportError) as caught:
        returned_values(["x" * 100_000], TWO)
    assert len(str(caught.value)) < 1000
