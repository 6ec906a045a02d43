"""The specification of an ensemble: defaults, bounds, and the majority quorum."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from podium.ensemble.values.ensemble_spec import EnsembleRequest, Mode, Select, Split, majority


def test_defaults_are_between_graph_and_one_second() -> None:
    request = EnsembleRequest(sweep_id=1)
    assert (request.k, request.mode, request.deadline_ms) == (3, Mode.BETWEEN_GRAPH, 1000.0)
    assert (request.quorum, request.name) == (None, None)


@pytest.mark.parametrize("name", ["7", "0", "00", "9" * 40])
def test_name_of_digits_only_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="is ambiguous"):
        EnsembleRequest(sweep_id=1, name=name)
    for other in ("7a", "-7", "7.0", "٧"):
        assert EnsembleRequest(sweep_id=1, name=other).name == other


@given(st.integers(1, 1000))
def test_majority_is_the_smallest_number_above_half(members: int) -> None:
    assert 2 * majority(members) > members >= 2 * (majority(members) - 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": 1001},
        {"k": 1.5},
        {"k": True},
        {"k": "3"},
        {"force": 1},
        {"quorum": 0},
        {"deadline_ms": 0},
        {"deadline_ms": 600_001},
        {"deadline_ms": math.nan},
        {"deadline_ms": math.inf},
        {"name": ""},
        {"name": "x" * 121},
        {"mode": "both"},
        {"select": "best"},
        {"combine": "best"},
        {"fit_on": "train"},
        {"bags": -1},
        {"replicas": 0},
        {"placement": "alone"},
        {"devices": 0},
        {"devices": 65},
        {"precision": "int4"},
        {"precision": []},
        {"precision": ["int8", "int4", "int8"]},
        {"max_loss_increase": -0.1},
        {"max_loss_increase": math.nan},
        {"sweep_id": 0},
        {"sweep_id": 2**63},
        {"trials": [1, 2]},
    ],
    ids=str,
)
def test_invalid_specification_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        EnsembleRequest.model_validate({"sweep_id": 1, **wrong})
    assert caught.value.errors()[0]["loc"][:1] == tuple(wrong)


NAMED = {"sweep_id": None, "trial_ids": [3, 1, 2]}
CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"precision": ["int8", "float32"]}, "2 values for 3 members"),
    ({"devices": 2, "mode": "in_graph"}, "between_graph only"),
    ({"sweep_id": None}, "exactly one of sweep_id and trial_ids"),
    ({"trial_ids": [1]}, "exactly one of sweep_id and trial_ids"),
    ({"select": "explicit"}, "trial_ids"),
    ({"quorum": 4}, "quorum: 4 exceeds"),
    ({"k": 100, "replicas": 3}, "300 processes exceed the limit"),
    ({"fit_on": "test"}, "reserved for reported scores"),
    ({"fit_on": "validation"}, "force"),
    ({"combine": "stacking", "calibrate": True}, "fitted on the same rows"),
    ({"weights": [1, 1, 1]}, "one weight for each of trial_ids"),
    ({**NAMED, "select": "top_k"}, "must be explicit with trial_ids"),
    ({**NAMED, "k": 2}, "k: must be omitted"),
    ({**NAMED, "trial_ids": [1, 1]}, "must not contain duplicates"),
    ({**NAMED, "weights": [1, 1]}, "one weight for each"),
    ({**NAMED, "weights": [0, 0, 0]}, "must be positive"),
    ({**NAMED, "weights": [1, 1, 1], "combine": "median"}, "not supported by combine: median"),
]


@pytest.mark.parametrize(("wrong", "words"), CONTRADICTIONS, ids=str)
def test_contradictory_specification_is_refused_with_the_reason(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(words)):
        EnsembleRequest.model_validate({"sweep_id": 1, **wrong})


def test_named_trials_determine_k() -> None:
    request = EnsembleRequest.model_validate({**NAMED, "weights": [1, 0, 2]})
    assert (request.k, request.select) == (3, Select.EXPLICIT)


def test_forced_fits_are_allowed() -> None:
    assert EnsembleRequest(sweep_id=1, fit_on=Split.VALIDATION, force=True).fit_on is Split.VALIDATION
