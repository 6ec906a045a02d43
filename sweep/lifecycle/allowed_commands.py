"""The commands that a sweep or trial accepts in each state, and the resulting state. Pure; api process."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from podium.sweep.spec import builtin_catalog
from podium.sweep.spec.search_space import Parameter
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import Params, Scalar
from podium.sweep.values.errors import InvalidSpecError, NotPossibleError, Problem
from podium.sweep.values.states import SweepState, TrialRequest, TrialState


class SweepCommand(StrEnum):
    """The commands for a sweep."""

    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    CANCEL = "cancel"
    EXTEND = "extend"


class TrialCommand(StrEnum):
    """The commands for a trial."""

    STOP = "stop"
    RETRY = "retry"
    CLONE = "clone"


_TRIAL_COMMANDS = ("trial retry", "trial clone")

POSSIBLE_FOR_SWEEP: Mapping[SweepState, tuple[str, ...]] = {
    SweepState.QUEUED: (SweepCommand.PAUSE, SweepCommand.STOP, SweepCommand.CANCEL, SweepCommand.EXTEND),
    SweepState.RUNNING: (SweepCommand.PAUSE, SweepCommand.STOP, SweepCommand.CANCEL, SweepCommand.EXTEND),
    SweepState.PAUSED: (SweepCommand.RESUME, SweepCommand.STOP, SweepCommand.CANCEL, SweepCommand.EXTEND),
    SweepState.STOPPING: (SweepCommand.CANCEL, SweepCommand.EXTEND),
    SweepState.FINISHED: (SweepCommand.EXTEND, *_TRIAL_COMMANDS),
    SweepState.FAILED: _TRIAL_COMMANDS,
    SweepState.CANCELLED: (),
}
POSSIBLE_FOR_TRIAL: Mapping[TrialState, tuple[str, ...]] = {
    TrialState.WAITING: (TrialCommand.STOP, TrialCommand.CLONE),
    TrialState.RUNNING: (TrialCommand.STOP, TrialCommand.CLONE),
    TrialState.FINISHED: (TrialCommand.CLONE,),
    TrialState.PRUNED: (TrialCommand.CLONE,),
    TrialState.FAILED: (TrialCommand.RETRY, TrialCommand.CLONE),
    TrialState.CANCELLED: (TrialCommand.RETRY, TrialCommand.CLONE),
}
_ALREADY: Mapping[SweepCommand, frozenset[SweepState]] = {
    SweepCommand.PAUSE: frozenset({SweepState.PAUSED}),
    SweepCommand.RESUME: frozenset({SweepState.QUEUED, SweepState.RUNNING}),
    SweepCommand.STOP: frozenset({SweepState.STOPPING}),
    SweepCommand.CANCEL: frozenset({SweepState.CANCELLED}),
    SweepCommand.EXTEND: frozenset({SweepState.QUEUED, SweepState.RUNNING, SweepState.PAUSED}),  # these continue anyway
}
_NEXT_STATE = {
    SweepCommand.PAUSE: SweepState.PAUSED,
    SweepCommand.STOP: SweepState.STOPPING,
    SweepCommand.CANCEL: SweepState.CANCELLED,
    SweepCommand.EXTEND: SweepState.QUEUED,
}
_PARTICIPLE = {
    "pause": "paused", "resume": "resumed", "stop": "stopped", "cancel": "cancelled", "extend": "extended",
    "retry": "retried", "clone": "cloned",
}  # fmt: skip


def next_sweep_state(command: SweepCommand, state: SweepState, *, started: bool) -> SweepState:
    """The state of a sweep after a command; unchanged if the command has no effect. Raises `NotPossibleError`."""
    if state in _ALREADY[command]:
        return state
    if command not in POSSIBLE_FOR_SWEEP[state]:
        raise NotPossibleError.of(f"a {state} sweep cannot be {_PARTICIPLE[command]}", POSSIBLE_FOR_SWEEP[state])
    if command is SweepCommand.RESUME:
        return SweepState.RUNNING if started else SweepState.QUEUED
    return _NEXT_STATE[command]


def next_trial_request(
    command: TrialCommand, state: TrialState, requested: TrialRequest | None, sweep: SweepState
) -> TrialRequest | None:
    """The request to the scheduler for a stop or a retry; None if there is nothing to do.

    Raises `NotPossibleError` if the state of the trial or its sweep does not allow it.
    """
    wanted = TrialRequest(command)
    if requested is wanted:
        return None
    if requested is not None:
        doing = {TrialRequest.STOP: "stopped", TrialRequest.RETRY: "retried"}[requested]
        raise NotPossibleError.of(
            f"this trial is being {doing}; it cannot be {_PARTICIPLE[command]} until that is complete", ["wait"]
        )

    if command is TrialCommand.STOP and state is TrialState.CANCELLED:
        return None
    if command is TrialCommand.RETRY and state in (TrialState.WAITING, TrialState.RUNNING):
        return None
    if command not in POSSIBLE_FOR_TRIAL[state]:
        raise NotPossibleError.of(f"a {state} trial cannot be {_PARTICIPLE[command]}", POSSIBLE_FOR_TRIAL[state])
    if command is TrialCommand.RETRY:
        check_accepts_trials(command, sweep)
    return wanted


def check_accepts_trials(command: TrialCommand, sweep: SweepState) -> None:
    """Raises `NotPossibleError` if trials of the sweep cannot be retried or cloned."""
    done = _PARTICIPLE[command]
    if sweep is SweepState.CANCELLED:
        raise NotPossibleError.of(f"trials of a cancelled sweep cannot be {done}", ())
    if sweep is SweepState.STOPPING:
        raise NotPossibleError.of(
            f"trials cannot be {done} while their sweep is stopping; wait until it has ended", ["wait"]
        )


def cloned_params(
    spec: SweepSpec,
    params: Params,
    changed: Mapping[str, Scalar],
    distributions: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Params:
    """The parameters of a trial with some of them changed, without those that become inactive.

    The search chooses parameters that become active. `distributions`: those of parameters that the trial's code
    defined. Raises `InvalidSpecError`.
    """
    cloned: Params = {}
    known = [*spec.parameters, *distributions]
    problems = [_unknown(known, name) for name in changed if name not in known]
    for name, parameter in spec.ordered():
        if not parameter.active(cloned):
            if name in changed:
                when = " and ".join(f"{other} is {value!r}" for other, value in (parameter.when or {}).items())
                problems.append(_problem(name, f"active only if {when}"))
            continue
        if name in changed and (complaint := parameter.invalid_reason(changed[name])):
            problems.append(_problem(name, complaint))
        if name in changed or name in params:
            cloned[name] = changed[name] if name in changed else params[name]
    for name, distribution in distributions.items():
        cloned[name] = changed.get(name, params[name])
        if complaint := Parameter.model_validate(dict(distribution)).invalid_reason(cloned[name]):
            problems.append(_problem(name, complaint))
    if problems:
        raise InvalidSpecError(problems, "")
    return cloned


def _unknown(known: list[str], name: str) -> Problem:
    return _problem(name, f"unknown parameter {name!r}; {builtin_catalog.did_you_mean(name, known)}")


def _problem(name: str, message: str) -> Problem:
    return Problem(("params", name), message)
