"""Possible commands per state, and the parameters of a clone."""

from __future__ import annotations

from typing import Any

import pytest

from podium.sweep.lifecycle.allowed_commands import (
    POSSIBLE_FOR_SWEEP,
    POSSIBLE_FOR_TRIAL,
    SweepCommand,
    TrialCommand,
    cloned_params,
    next_sweep_state,
    next_trial_request,
)
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import Params, Scalar
from podium.sweep.values.errors import InvalidSpecError, NotPossibleError
from podium.sweep.values.states import SWEEP_TRANSITIONS, SweepState, TrialRequest, TrialState
from tests.specs import spec


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("state", SweepState)
@pytest.mark.parametrize("command", SweepCommand)
def test_sweep_command_gives_a_transition_or_no_change(command: SweepCommand, state: SweepState, started: bool) -> None:
    try:
        after = next_sweep_state(command, state, started=started)
    except NotPossibleError as error:
        assert command not in POSSIBLE_FOR_SWEEP[state]
        assert error.possible == POSSIBLE_FOR_SWEEP[state]
    else:
        assert after is state or after in SWEEP_TRANSITIONS[state]


def test_every_state_has_its_commands() -> None:
    assert set(POSSIBLE_FOR_SWEEP) == set(SweepState)
    assert set(POSSIBLE_FOR_TRIAL) == set(TrialState)


def test_every_possible_command_succeeds() -> None:
    for state, commands in POSSIBLE_FOR_SWEEP.items():
        for command in set(commands) & set(SweepCommand):
            next_sweep_state(SweepCommand(command), state, started=True)
    for trial_state, commands in POSSIBLE_FOR_TRIAL.items():
        for command in set(commands) - {TrialCommand.CLONE}:
            request = next_trial_request(TrialCommand(command), trial_state, None, SweepState.RUNNING)
            assert request == TrialRequest(command)


def test_conflicting_request_is_rejected_while_another_is_pending() -> None:
    stop, retry = TrialRequest.STOP, TrialRequest.RETRY
    for command, requested in ((TrialCommand.RETRY, stop), (TrialCommand.STOP, retry)):
        with pytest.raises(NotPossibleError, match="until that is complete; possible: wait"):
            next_trial_request(command, TrialState.RUNNING, requested, SweepState.RUNNING)


CONDITIONAL: dict[str, Any] = {
    "lr": {"min": 0.001, "max": 0.1},
    "optimizer": {"values": ["adam", "sgd"]},
    "momentum": {"min": 0.0, "max": 0.99, "when": {"optimizer": "sgd"}},
    "nesterov": {"values": [True, False], "when": {"momentum": [0.5, 0.9]}},
}
ADAM: Params = {"lr": 0.01, "optimizer": "adam"}
SGD: Params = {"lr": 0.01, "optimizer": "sgd", "momentum": 0.9, "nesterov": True}


@pytest.fixture(scope="module")
def conditional() -> SweepSpec:
    return spec(parameters=CONDITIONAL)


@pytest.mark.parametrize(
    ("params", "changed", "cloned"),
    [
        (ADAM, {}, ADAM),
        (SGD, {}, SGD),
        (ADAM, {"lr": 0.02}, {"lr": 0.02, "optimizer": "adam"}),
        (SGD, {"optimizer": "adam"}, ADAM),  # parameters that become inactive are left out, with their dependents
        (SGD, {"momentum": 0.1}, {"lr": 0.01, "optimizer": "sgd", "momentum": 0.1}),
        (ADAM, {"optimizer": "sgd"}, {"lr": 0.01, "optimizer": "sgd"}),  # the search chooses the momentum
        (ADAM, {"optimizer": "sgd", "momentum": 0.5}, {"lr": 0.01, "optimizer": "sgd", "momentum": 0.5}),
    ],
    ids=str,
)
def test_clone_has_only_active_parameters(
    conditional: SweepSpec, params: Params, changed: dict[str, Scalar], cloned: Params
) -> None:
    assert cloned_params(conditional, params, changed) == cloned


@pytest.mark.parametrize(
    ("changed", "where", "words"),
    [
        ({"lrr": 0.01}, "lrr", "unknown parameter 'lrr'; did you mean 'lr'?"),
        ({"lr": 5.0}, "lr", "must be between 0.001 and 0.1, got 5.0"),
        ({"lr": "small"}, "lr", "must be a number, got 'small'"),
        ({"lr": float("nan")}, "lr", "must be a finite number, got nan"),
        ({"lr": 10**400}, "lr", "at most 2**53"),
        ({"lr": None}, "lr", "must be a number, got None"),
        ({"optimizer": "sdg"}, "optimizer", "got 'sdg'"),
        ({"momentum": 0.5}, "momentum", "active only if optimizer is 'sgd'"),
    ],
    ids=str,
)
def test_invalid_changed_value_is_rejected_with_location(
    conditional: SweepSpec, changed: dict[str, Scalar], where: str, words: str
) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        cloned_params(conditional, ADAM, changed)
    (problem,) = caught.value.problems
    assert problem.location == ("params", where)
    assert words in problem.message


def test_all_problems_are_reported_at_once(conditional: SweepSpec) -> None:
    with pytest.raises(InvalidSpecError) as caught:
        cloned_params(conditional, ADAM, {"lr": 7, "momentum": 0.5, "x": 1})
    assert {problem.location[1] for problem in caught.value.problems} == {"lr", "momentum", "x"}
