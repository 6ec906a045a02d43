"""When a sweep that waits for others is released, with which values, and the reasons for which it waits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.lifecycle.dependent_sweep_release import (
    BestTrial,
    FixedValues,
    HeldSweep,
    Predecessor,
    Release,
    release_or_wait,
    with_fixed_values,
)
from podium.sweep.values.states import TERMINAL_SWEEP_STATES, SweepState
from podium.sweep.values.sweep_wait_reason import Wait, WaitReason
from tests.specs import spec

FINISHED = SweepState.FINISHED
LR = {"lr": {"min": 0.001, "max": 0.1, "log": True}, "x": {"min": 0.0, "max": 1.0}}
FIX_LR = {"sweep": 1, "parameters": ["lr"]}


def held(
    *states: SweepState, best: dict[str, Any] | None = None, reason: str = "", state: SweepState = SweepState.QUEUED,
    **changes: Any,
) -> HeldSweep:  # fmt: skip
    ids = list(range(1, len(states) + 1))
    earlier = tuple(Predecessor(i, f"s{i}", each, reason) for i, each in zip(ids, states, strict=True))
    trial = None if best is None else BestTrial(70, 4, best)
    return HeldSweep(9, state, spec(after=ids, **changes).to_json(), earlier, trial)


def fixing(params: dict[str, Any] | None, **changes: Any) -> Release | Wait:
    return release_or_wait(held(FINISHED, best=params, **{"parameters": LR, "fix_from": FIX_LR, **changes}))


def test_sweep_is_released_when_all_predecessors_have_finished() -> None:
    assert release_or_wait(held(FINISHED, FINISHED)) == Release()


@pytest.mark.parametrize("state", sorted(set(SweepState) - TERMINAL_SWEEP_STATES))
def test_sweep_waits_for_each_unfinished_predecessor(state: SweepState) -> None:
    words = f"waiting for sweep 2 (s2) to finish; it is {state}"
    assert release_or_wait(held(FINISHED, state)) == Wait(WaitReason.PREDECESSOR, words)


def test_failed_predecessor_is_the_reason_before_unfinished_ones() -> None:
    step = release_or_wait(held(SweepState.RUNNING, SweepState.FAILED, reason="no trial finished"))
    words = "sweep 2 (s2) failed: no trial finished; release this sweep to start it anyway, or cancel it"
    assert step == Wait(WaitReason.PREDECESSOR_FAILED, words)


def test_cancelled_predecessors_are_all_named() -> None:
    step = release_or_wait(held(*[SweepState.CANCELLED] * 5))
    assert isinstance(step, Wait)
    assert step.message.startswith("sweep 1 (s1) was cancelled and sweep 2 (s2) was cancelled and ")
    assert " and 2 more; release this sweep" in step.message


@pytest.mark.parametrize("state", list(SweepState))
def test_client_releases_whatever_the_predecessors_are(state: SweepState) -> None:
    assert release_or_wait(held(state), by_client=True) == Release()


def test_values_are_those_of_the_best_trial() -> None:
    assert fixing({"lr": 0.02, "depth": 3}) == Release(FixedValues(1, 70, 4, {"lr": 0.02}))


@pytest.mark.parametrize("params, words", [
    (None, "sweep 1 (s1) has no finished trial that satisfies its constraints"),
    ({"depth": 3}, "the best trial of sweep 1 (s1), trial 4, has no value of lr"),
    ({"lr": 0.5}, "trial 4, has lr: 0.5, which this sweep does not allow: must be between 0.001 and 0.1, got 0.5"),
    ({"lr": "fast"}, "trial 4, has lr: 'fast', which this sweep does not allow: must be a number, got 'fast'"),
])  # fmt: skip
def test_sweep_waits_with_the_reason_for_which_there_are_no_values(params: dict[str, Any] | None, words: str) -> None:
    step = fixing(params)
    assert isinstance(step, Wait)
    assert step.reason is WaitReason.FIX_FROM
    assert words in step.message and step.message.endswith("cancel this sweep, and submit it with other values")


def test_client_cannot_release_without_values() -> None:
    waiting = held(SweepState.RUNNING, parameters=LR, fix_from=FIX_LR)
    step = release_or_wait(waiting, by_client=True)
    assert isinstance(step, Wait) and step.reason is WaitReason.FIX_FROM


def test_client_releases_with_the_best_values_so_far() -> None:
    waiting = held(SweepState.RUNNING, best={"lr": 0.02}, parameters=LR, fix_from=FIX_LR)
    assert release_or_wait(waiting, by_client=True) == Release(FixedValues(1, 70, 4, {"lr": 0.02}))


CONDITIONAL = {
    "optimizer": {"values": ["sgd", "adam"]},
    "momentum": {"min": 0.0, "max": 0.9, "when": {"optimizer": "sgd"}},
    "nesterov": {"values": [True, False], "when": {"momentum": [0.0, 0.9]}},
    "beta": {"min": 0.5, "max": 0.9, "when": {"optimizer": ["adam", "sgd"]}},
}
FIX_BOTH = {"sweep": 1, "parameters": ["optimizer", "momentum"]}


def test_parameters_whose_conditions_cannot_hold_are_removed() -> None:
    fixed = with_fixed_values(spec(parameters=CONDITIONAL, after=[1], fix_from=FIX_BOTH), {"optimizer": "adam"})
    assert list(fixed.parameters) == ["optimizer", "beta"]
    assert fixed.parameters["optimizer"].value == "adam"
    assert fixed.parameters["beta"].when is None
    assert (fixed.fix_from, fixed.after) == (None, [1])


def test_inactive_parameter_of_the_best_trial_needs_no_value() -> None:
    step = fixing({"optimizer": "adam"}, parameters=CONDITIONAL, fix_from=FIX_BOTH)
    assert step == Release(FixedValues(1, 70, 4, {"optimizer": "adam"}))


def test_active_parameter_of_the_best_trial_needs_a_value() -> None:
    step = fixing({"optimizer": "sgd"}, parameters=CONDITIONAL, fix_from=FIX_BOTH)
    assert isinstance(step, Wait) and "has no value of momentum" in step.message


@given(st.floats(0.001, 0.1), st.floats(0.0, 1.0))
def test_fixed_sweep_is_read_back_with_the_value_as_a_constant(lr: float, x: float) -> None:
    fixed = with_fixed_values(spec(parameters=LR, after=[1], fix_from=FIX_LR), {"lr": lr})
    assert type(fixed).model_validate_json(fixed.to_json()) == fixed
    assert fixed.parameters["lr"].choices() == [lr]
    assert fixed.parameters["x"].invalid_reason(x) is None


def test_fixed_values_are_read_back() -> None:
    values = FixedValues(1, 70, 4, {"lr": 0.1 + 0.2, "name": "ünï", "none": None})
    assert FixedValues.read(values.to_json()) == values
