"""Parameter importance."""

from __future__ import annotations

import random
from typing import Any

import pytest

from podium.sweep.studies.parameter_importance import compute_importances

PARAMETERS = {
    "lr": {"min": 1e-5, "max": 1.0, "log": True},
    "width": {"min": 8, "max": 64},
    "optimizer": {"values": ["sgd", "adam"]},
    "epochs": {"value": 3},
}


def document(value: str = "lr", trials: int = 40) -> dict[str, Any]:
    """Trials whose value is one of their parameters."""
    chance = random.Random(0)
    found = []
    for _ in range(trials):
        params: dict[str, Any] = {
            "lr": 10 ** chance.uniform(-5, 0),
            "width": chance.randint(8, 64),
            "optimizer": chance.choice(["sgd", "adam"]),
            "epochs": 3,
        }
        found.append(
            {"params": params, "value": float(params[value] == "sgd" if value == "optimizer" else params[value])}
        )
    return {"parameters": PARAMETERS, "trials": found}


@pytest.mark.parametrize("name", ["lr", "width", "optimizer"])
def test_deciding_parameter_is_first(name: str) -> None:
    found = compute_importances(document(name))
    shares = found["importances"]
    assert next(iter(shares)) == name
    assert shares[name] > 0.8
    assert sum(shares.values()) == pytest.approx(1.0)
    assert found["left_out"] == {"epochs": "same value in all trials"}


def test_single_outlier_does_not_dominate() -> None:
    asked = document("lr")
    asked["trials"][7]["value"] = 1e30
    assert compute_importances(asked)["importances"]["lr"] > 0.7


def test_rarely_active_parameters_are_left_out_and_unknown_spaces_are_inferred() -> None:
    asked = document("lr")
    asked["trials"][0]["params"]["momentum"] = 0.9
    for number, trial in enumerate(asked["trials"]):
        trial["params"]["seen"] = number / 10
        trial["params"]["mixed"] = number % 2 or "auto"
    found = compute_importances(asked)
    assert found["left_out"]["momentum"] == "active in only 1 of 40 trials"
    assert {"seen", "mixed"} <= found["importances"].keys()


def test_values_outside_range_of_file_are_included() -> None:
    asked = document("lr")
    asked["trials"][3]["params"]["lr"] = 7.5
    asked["trials"][4]["params"]["optimizer"] = "lion"
    assert "lr" in compute_importances(asked)["importances"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"value": 1.0}, "all trials have the same value"),
        ({"params": {"epochs": 3}}, "all trials have the same parameters"),
    ],
)
def test_indistinct_trials_are_rejected_with_reason(change: dict[str, Any], words: str) -> None:
    asked = document()
    asked["trials"] = [{**trial, **change} for trial in asked["trials"]]
    with pytest.raises(ValueError, match=words):
        compute_importances(asked)
