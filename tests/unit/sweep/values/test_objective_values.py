"""What a function may return, and what it is told of anything else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from podium.sweep.values.errors import BadReportError, NonFiniteError
from podium.sweep.values.objective_values import returned_values

ONE, TWO = ("accuracy",), ("accuracy", "seconds")


@pytest.mark.parametrize(
    "returned", [0.5, np.float32(0.5), torch.tensor(0.5), [0.5], (0.5,), {"accuracy": 0.5}, {"x": 1, "accuracy": 0.5}]
)
def test_a_single_value(returned: Any) -> None:
    assert returned_values(returned, ONE) == (0.5,)


@pytest.mark.parametrize("returned", [(0.5, 3), [0.5, 3], {"seconds": 3, "accuracy": 0.5, "loss": "none"}])
def test_several_values_in_their_order(returned: Any) -> None:
    assert returned_values(returned, TWO) == (0.5, 3.0)


@pytest.mark.parametrize(
    ("returned", "objectives", "said"),
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
def test_anything_else_is_told_what_is_wanted(returned: Any, objectives: tuple[str, ...], said: str) -> None:
    with pytest.raises(BadReportError) as caught:
        returned_values(returned, objectives)
    assert said in str(caught.value)
    assert not isinstance(caught.value, NonFiniteError)


@pytest.mark.parametrize("returned", [(0.5, float("nan")), {"accuracy": float("inf"), "seconds": 1}])
def test_each_value_is_finite(returned: Any) -> None:
    with pytest.raises(NonFiniteError):
        returned_values(returned, TWO)


def test_what_is_shown_of_a_huge_answer_is_bounded() -> None:
    with pytest.raises(BadReportError) as caught:
        returned_values(["x" * 100_000], TWO)
    assert len(str(caught.value)) < 1000
