"""Callable instances, partials and methods as the function of a sweep, in a real trial process."""

from __future__ import annotations

import pytest

from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import TrialState
from tests.driver import SlotDriver


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("objective", 0.5),
        ("bound", 0.5),
        ("of_class", 0.25),
        ("static", 0.25),
        ("yields", 0.25),
        ("slotted", 0.25),
        ("partial", 1.75),
        ("partial_config", 1.25),
        ("partial_of_instance", 0.5),
        ("partial_of_partial", 2.75),
    ],
)
def test_callable_works_as_function(slot: SlotDriver, name: str, value: float) -> None:
    ended = slot.result({"function": f"callables:{name}", "argument": None})
    assert (ended.state, ended.value, ended.message) == (TrialState.FINISHED, value, "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("takes_two", "takes_two requires data in addition to its first argument"),
        ("partial_short", "partial_short requires more in addition to its first argument"),
        ("partial_full", "partial_full takes no argument"),
        (
            "Objective",
            "callables.py: Objective is a class; write `objective = Objective(…)` below it, and name 'objective'",
        ),
        ("table", "callables.py: 'table' is not a function, but dict"),
    ],
)
def test_unusable_callable_fails_with_reason(slot: SlotDriver, name: str, message: str) -> None:
    ended = slot.result({"function": f"callables:{name}", "argument": None})
    assert (ended.state, ended.cause) == (TrialState.FAILED, Cause.USER_ERROR)
    assert message in ended.message
