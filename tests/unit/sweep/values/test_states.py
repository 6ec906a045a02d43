"""The states of sweeps and trials: final states, and checked transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from podium.sweep.values.errors import IllegalTransitionError
from podium.sweep.values.states import (
    COUNTED_TRIAL_STATES,
    SWEEP_TRANSITIONS,
    TERMINAL_SWEEP_STATES,
    TERMINAL_TRIAL_STATES,
    TRIAL_TRANSITIONS,
    SweepState,
    TrialState,
    check_sweep_transition,
    check_trial_transition,
)

TABLES = [
    (SweepState, SWEEP_TRANSITIONS, TERMINAL_SWEEP_STATES, check_sweep_transition),
    (TrialState, TRIAL_TRANSITIONS, TERMINAL_TRIAL_STATES, check_trial_transition),
]


def _reachable(transitions: Mapping[Any, frozenset[Any]], start: Any) -> set[Any]:
    found, left = {start}, [start]
    while left:
        new = transitions[left.pop()] - found
        found |= new
        left += new
    return found


@pytest.mark.parametrize(("states", "transitions", "over", "check"), TABLES, ids=["sweep", "trial"])
class TestTransitions:
    """Properties of both tables of transitions."""

    def test_every_state_is_in_the_table(self, states: Any, transitions: Any, over: Any, check: Any) -> None:
        assert set(transitions) == set(states)

    def test_terminal_state_continues_only_as_first_state(
        self, states: Any, transitions: Any, over: Any, check: Any
    ) -> None:
        waiting = next(iter(states))
        assert all(transitions[state] <= {waiting} for state in over)
        assert {state for state in states if not transitions[state]} <= over

    def test_every_state_can_be_reached(self, states: Any, transitions: Any, over: Any, check: Any) -> None:
        assert _reachable(transitions, next(iter(states))) == set(states)

    def test_every_state_can_reach_a_terminal_one(self, states: Any, transitions: Any, over: Any, check: Any) -> None:
        assert all(_reachable(transitions, state) & over for state in states)

    def test_check_agrees_with_the_table(self, states: Any, transitions: Any, over: Any, check: Any) -> None:
        for old in states:
            for new in states:
                if new in transitions[old]:
                    check(old, new)
                else:
                    with pytest.raises(IllegalTransitionError, match=f"from {old} to {new}"):
                        check(old, new)


def test_illegal_transition_error_lists_possible_ones() -> None:
    with pytest.raises(IllegalTransitionError, match="possible: cancelled, running"):
        check_trial_transition(TrialState.WAITING, TrialState.FINISHED)
    with pytest.raises(IllegalTransitionError, match=r"none .terminal state."):
        check_trial_transition(TrialState.FINISHED, TrialState.RUNNING)


def test_counted_states_are_terminal() -> None:
    assert COUNTED_TRIAL_STATES < TERMINAL_TRIAL_STATES


def test_counted_state_is_final() -> None:
    assert all(not TRIAL_TRANSITIONS[state] for state in COUNTED_TRIAL_STATES)
