"""Trials: final states, checked transitions, and assignments that are the same after JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.values.errors import IllegalTransitionError
from podium.sweep.values.trial import (
    COUNTED_TRIAL_STATES,
    INFRASTRUCTURE_CAUSES,
    SWEEP_TRANSITIONS,
    TERMINAL_SWEEP_STATES,
    TERMINAL_TRIAL_STATES,
    TRIAL_TRANSITIONS,
    Assignment,
    Cause,
    Limits,
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


def test_counted_states_are_terminal_and_infrastructure_causes_are_causes() -> None:
    assert COUNTED_TRIAL_STATES < TERMINAL_TRIAL_STATES
    assert set(Cause) > INFRASTRUCTURE_CAUSES
    assert Cause.USER_ERROR not in INFRASTRUCTURE_CAUSES


_FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.builds(
        Assignment,
        params=st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | _FINITE | st.text()),
        program=st.just({"function": "a:b"}),
        split=st.just({"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}),
        limits=st.builds(Limits, *[_FINITE] * len(fields(Limits))),
    )
)
def test_assignment_is_unchanged_after_json_round_trip(assignment: Assignment) -> None:
    assert Assignment.from_dict(json.loads(json.dumps(assignment.to_dict()))) == assignment


def test_counted_state_is_final() -> None:
    assert all(not TRIAL_TRANSITIONS[state] for state in COUNTED_TRIAL_STATES)
