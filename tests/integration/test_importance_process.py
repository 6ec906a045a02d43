"""The process that computes parameter importances."""

from __future__ import annotations

from typing import Any

import pytest

from podium.api.rest.sweeps.importance_process import AnalysisError, compute_in_subprocess
from podium.sweep.studies.parameter_importance import compute_importances

PARAMETERS = {"lr": {"min": 0.0, "max": 1.0}, "width": {"min": 8, "max": 64}}


def _document(trials: int) -> dict[str, Any]:
    """Trials whose value is their learning rate."""
    rates = [number / trials for number in range(trials)]
    found = [{"params": {"lr": rate, "width": 8 + number % 3}, "value": rate} for number, rate in enumerate(rates)]
    return {"parameters": PARAMETERS, "trials": found}


def test_importances_are_those_of_this_process() -> None:
    found = compute_in_subprocess(_document(trials=12))
    assert found == compute_importances(_document(trials=12))
    assert next(iter(found["importances"])) == "lr"


def test_error_is_that_of_the_computation() -> None:
    with pytest.raises(AnalysisError, match="all trials have the same value"):
        compute_in_subprocess({"parameters": {}, "trials": [{"params": {}, "value": 1.0}] * 2})
