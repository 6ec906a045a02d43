"""The request for an ensemble: its defaults, its bounds, and the majority."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ensemble.spec import SERVING, WANTED, EnsembleRequest, EnsembleState, Mode, majority


def test_the_defaults_are_three_processes_and_one_second() -> None:
    request = EnsembleRequest(sweep_id=1)
    assert (request.k, request.mode, request.deadline_ms) == (3, Mode.BETWEEN_GRAPH, 1000.0)
    assert (request.quorum, request.name) == (None, None)


@given(st.integers(1, 1000))
def test_the_majority_is_the_smallest_number_above_half(members: int) -> None:
    assert 2 * majority(members) > members >= 2 * (majority(members) - 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": 1001},
        {"k": 1.5},
        {"quorum": 0},
        {"deadline_ms": 0},
        {"deadline_ms": 600_001},
        {"deadline_ms": math.nan},
        {"deadline_ms": math.inf},
        {"name": ""},
        {"name": "x" * 121},
        {"mode": "both"},
        {"select": "greedy"},
        {"combine": "median"},
        {"sweep_id": 0},
        {"sweep_id": 2**63},
        {"sweep_id": None},
        {"trials": [1, 2]},
    ],
    ids=str,
)
def test_what_cannot_be_built_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        EnsembleRequest.model_validate({"sweep_id": 1, **wrong})
    assert caught.value.errors()[0]["loc"] == tuple(wrong)


def test_an_ensemble_that_answers_is_one_that_is_wanted() -> None:
    assert SERVING < WANTED
    assert {EnsembleState.STOPPED, EnsembleState.FAILED}.isdisjoint(WANTED)
