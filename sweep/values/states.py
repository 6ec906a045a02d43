"""The states of sweeps and trials with their transitions, and the pending requests on a trial; every process."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from podium.sweep.values.errors import IllegalTransitionError


class SweepState(StrEnum):
    """The state of a sweep."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


SWEEP_TRANSITIONS: Mapping[SweepState, frozenset[SweepState]] = {
    SweepState.QUEUED: frozenset(
        {SweepState.RUNNING, SweepState.PAUSED, SweepState.STOPPING, SweepState.FAILED, SweepState.CANCELLED}
    ),
    SweepState.RUNNING: frozenset(
        {
            SweepState.QUEUED,
            SweepState.PAUSED,
            SweepState.STOPPING,
            SweepState.FINISHED,
            SweepState.FAILED,
            SweepState.CANCELLED,
        }
    ),
    SweepState.PAUSED: frozenset(
        {SweepState.QUEUED, SweepState.RUNNING, SweepState.STOPPING, SweepState.FAILED, SweepState.CANCELLED}
    ),
    SweepState.STOPPING: frozenset({SweepState.QUEUED, SweepState.FINISHED, SweepState.FAILED, SweepState.CANCELLED}),
    SweepState.FINISHED: frozenset({SweepState.QUEUED}),  # extended, or one of its trials is retried or cloned
    SweepState.FAILED: frozenset({SweepState.QUEUED}),  # one of its trials is retried or cloned
    SweepState.CANCELLED: frozenset(),
}
TERMINAL_SWEEP_STATES = frozenset({SweepState.FINISHED, SweepState.FAILED, SweepState.CANCELLED})


class TrialState(StrEnum):
    """The state of a trial."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    PRUNED = "pruned"
    FAILED = "failed"
    CANCELLED = "cancelled"


TRIAL_TRANSITIONS: Mapping[TrialState, frozenset[TrialState]] = {
    TrialState.WAITING: frozenset({TrialState.RUNNING, TrialState.CANCELLED}),
    TrialState.RUNNING: frozenset(
        {
            TrialState.WAITING,  # the attempt was lost; the trial is retried
            TrialState.FINISHED,
            TrialState.PRUNED,
            TrialState.FAILED,
            TrialState.CANCELLED,
        }
    ),
    TrialState.FINISHED: frozenset(),
    TrialState.PRUNED: frozenset(),
    TrialState.FAILED: frozenset({TrialState.WAITING}),  # retried on request
    TrialState.CANCELLED: frozenset({TrialState.WAITING}),
}
TERMINAL_TRIAL_STATES = frozenset({TrialState.FINISHED, TrialState.PRUNED, TrialState.FAILED, TrialState.CANCELLED})
COUNTED_TRIAL_STATES = frozenset({TrialState.FINISHED, TrialState.PRUNED})


def check_sweep_transition(old: SweepState, new: SweepState) -> None:
    """Raises `IllegalTransitionError` unless the transition from `old` to `new` is allowed."""
    if new not in SWEEP_TRANSITIONS[old]:
        possible = ", ".join(sorted(SWEEP_TRANSITIONS[old])) or "none (terminal state)"
        raise IllegalTransitionError(f"invalid sweep state transition from {old} to {new}; possible: {possible}")


def check_trial_transition(old: TrialState, new: TrialState) -> None:
    """Raises `IllegalTransitionError` unless the transition from `old` to `new` is allowed."""
    if new not in TRIAL_TRANSITIONS[old]:
        possible = ", ".join(sorted(TRIAL_TRANSITIONS[old])) or "none (terminal state)"
        raise IllegalTransitionError(f"invalid trial state transition from {old} to {new}; possible: {possible}")


class TrialRequest(StrEnum):
    """A pending command of a client on a trial."""

    STOP = "stop"
    RETRY = "retry"
