"""What is said of a value of the wrong kind: what it is to be, what it is, and what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.values.errors import InvalidSpecError
from tests.specs import document

EXAMPLE = "{lr: {min: 1e-4, max: 0.1, log: true}}"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"run_cap": "60"}, ["run_cap: is a whole number, not '60'; leave the quotes out"]),
        ({"run_cap": 60.0}, ["run_cap: is a whole number, not 60.0; write 60"]),
        ({"name": 3}, ["name: is text, not 3; put it in quotes"]),
        ({"name": ""}, ["name: is empty; write something"]),
        ({"limits": []}, ["limits: is a block of keys, not []"]),
        ({"parameters": [1]}, [f"parameters: is a mapping of keys to values, not [1]; write {EXAMPLE}"]),
        ({"priority": 1000}, ["priority: is at most 100, not 1000"]),
        ({"parameters": {"x": {"min": "1e-4", "max": 1}}}, [
            "parameters.x.min: is a number, not '1e-4'; leave the quotes out"
        ]),
        ({"parameters": {"x": {"min": 0, "max": 1, "log": "yes"}}}, [
            "parameters.x.log: is true or false, not 'yes'; write true"
        ]),
        ({"parameters": {"x": {"values": 3}}}, ["parameters.x.values: is a list, not 3; write [3]"]),
        ({"parameters": {"x": {"values": [[1]]}}}, [
            "parameters.x.values.0: is a single value (text, a number, true, false or null), not [1]"
        ]),
        ({"parameters": {"y": {"value": 1}, "x": {"value": 1, "when": {"y": [[1]]}}}}, [
            "parameters.x.when.y.0: is a single value (text, a number, true, false or null), not [1]"
        ]),
        ({"program": {"function": "train"}}, [
            "program.function: is MODULE:FUNCTION, not 'train'; write train:objective, say"
        ]),
    ],
    ids=str,
)  # fmt: skip
def test_it_is_said_once_and_in_plain_words(changes: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(document(**changes))
    assert [f"{problem.key}: {problem.message}" for problem in caught.value.problems] == said
