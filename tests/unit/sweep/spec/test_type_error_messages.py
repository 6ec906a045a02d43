"""Messages for values of the wrong type: the expected type, the value, and what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.errors import InvalidSpecError
from tests.specs import document

EXAMPLE = "{lr: {min: 1e-4, max: 0.1, log: true}}"


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        ({"run_cap": "60"}, ["run_cap: must be an integer, got '60'; remove the quotes"]),
        ({"run_cap": 60.0}, ["run_cap: must be an integer, got 60.0; write 60"]),
        ({"name": 3}, ["name: must be a string, got 3; quote it"]),
        ({"name": ""}, ["name: must not be empty"]),
        ({"limits": []}, ["limits: must be a mapping, got []"]),
        ({"parameters": [1]}, [f"parameters: must be a mapping, got [1]; write {EXAMPLE}"]),
        ({"priority": 1000}, ["priority: must be at most 100, got 1000"]),
        ({"parameters": {"x": {"min": "1e-4", "max": 1}}}, [
            "parameters.x.min: must be a number, got '1e-4'; remove the quotes"
        ]),
        ({"parameters": {"x": {"min": 0, "max": 1, "log": "yes"}}}, [
            "parameters.x.log: must be a boolean (true or false), got 'yes'; write true"
        ]),
        ({"parameters": {"x": {"values": 3}}}, ["parameters.x.values: must be a list, got 3; write [3]"]),
        ({"parameters": {"x": {"values": [[1]]}}}, [
            "parameters.x.values.0: must be a scalar (string, number, boolean or null), got [1]"
        ]),
        ({"parameters": {"y": {"value": 1}, "x": {"value": 1, "when": {"y": [[1]]}}}}, [
            "parameters.x.when.y.0: must be a scalar (string, number, boolean or null), got [1]"
        ]),
        ({"program": {"function": "train"}}, [
            "program.function: must be MODULE:FUNCTION, such as train:objective; got 'train'"
        ]),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_type_is_reported_once_with_fix(changes: dict[str, Any], messages: list[str]) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(document(**changes))
    assert [f"{problem.key}: {problem.message}" for problem in caught.value.problems] == messages
