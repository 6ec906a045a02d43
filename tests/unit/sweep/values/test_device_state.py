"""Device states: precedence of conditions, transitions, and the values that are stored."""

from __future__ import annotations

import itertools

import pytest

from podium.sweep.values.device_state import (
    DEVICE_TRANSITIONS,
    STORED_DEVICE_STATES,
    DeviceState,
    RecordedState,
    check_device_transition,
    device_state,
)
from podium.sweep.values.errors import IllegalTransitionError


def test_stored_values_are_stable() -> None:
    assert sorted(STORED_DEVICE_STATES) == ["dedicated", "drained", "lost", "ready"]


@pytest.mark.parametrize(
    ("lost", "dedicated", "drained", "running", "state"),
    [
        (True, True, True, True, DeviceState.LOST),
        (False, True, True, True, DeviceState.DEDICATED),
        (False, False, True, True, DeviceState.DRAINED),
        (False, False, False, True, DeviceState.BUSY),
        (False, False, False, False, DeviceState.READY),
    ],
)
def test_conditions_have_a_precedence(
    lost: bool, dedicated: bool, drained: bool, running: bool, state: DeviceState
) -> None:
    assert device_state(lost=lost, dedicated=dedicated, drained=drained, running=running) is state


@pytest.mark.parametrize(("old", "new"), list(itertools.product(DeviceState, repeat=2)))
def test_only_listed_transitions_are_allowed(old: DeviceState, new: DeviceState) -> None:
    if new is old or new in DEVICE_TRANSITIONS[old]:
        check_device_transition(old, new)
    else:
        with pytest.raises(IllegalTransitionError, match=f"from {old} to {new}; possible: "):
            check_device_transition(old, new)


def test_every_state_can_become_lost_and_recover() -> None:
    for state in STORED_DEVICE_STATES - {DeviceState.LOST}:
        assert DeviceState.LOST in DEVICE_TRANSITIONS[state]
        assert state in DEVICE_TRANSITIONS[DeviceState.LOST]


def test_the_history_has_every_stored_state_and_three_of_the_service() -> None:
    recorded = {state.value for state in RecordedState}
    assert recorded - {state.value for state in STORED_DEVICE_STATES} == {"starting", "down", "gone"}
    assert {state.value for state in STORED_DEVICE_STATES} <= recorded
