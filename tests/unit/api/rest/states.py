"""Bring sweeps and trials to a state by the same changes as the scheduler's."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from podium.db.stores import event_outbox
from podium.sweep.lifecycle.database_changes import AttemptEnded, SweepChanged, TrialPlanned
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import SweepState, TrialState
from tests.service_rig import AT, ServiceRig

V1 = "/api/v1"
Q, R, P, S = SweepState.QUEUED, SweepState.RUNNING, SweepState.PAUSED, SweepState.STOPPING
FINISHED, FAILED, CANCELLED = SweepState.FINISHED, SweepState.FAILED, SweepState.CANCELLED
PATHS = {
    Q: [Q], R: [Q, R], P: [Q, R, P], S: [Q, R, S],
    FINISHED: [Q, R, FINISHED], FAILED: [Q, R, FAILED], CANCELLED: [Q, R, CANCELLED],
}  # fmt: skip


def sweep_in(service: ServiceRig, state: SweepState, **changes: Any) -> int:
    """A sweep brought to a state by the same changes as the scheduler's."""
    sweep_id = service.sweep(**changes)
    move(service, sweep_id, *PATHS[state])
    return sweep_id


def move(service: ServiceRig, sweep_id: int, *path: SweepState) -> None:
    for old, new in pairwise(path):
        service.commit(SweepChanged(sweep_id, old, new, f"made {new}", AT))


def trial_in(service: ServiceRig, sweep_id: int, number: int, state: TrialState) -> int:
    """A trial brought to a state with one attempt, or without one if it waits."""
    if state is TrialState.WAITING:
        trial_id = 100 + number
        service.commit(TrialPlanned(trial_id, sweep_id, number, {"lr": 0.01}, "random", {}, AT))
        return trial_id
    trial_id = service.trial(sweep_id, number, None, model=False)
    if state is not TrialState.RUNNING:
        end_attempt(service, AttemptKey(trial_id, 1), sweep_id, number, state)
    return trial_id


def end_attempt(service: ServiceRig, key: AttemptKey, sweep_id: int, number: int, state: TrialState) -> None:
    cause = Cause.USER_ERROR if state is TrialState.FAILED else None
    value = 0.5 if state is TrialState.FINISHED else None
    ended = Ended(key, state, AT + 1, AT + 3, value=value, cause=cause, log_tail="the end")
    service.commit(AttemptEnded(ended, sweep_id, number, state))


def kinds(service: ServiceRig) -> list[str]:
    with service.database.read() as connection:
        return [event["kind"] for event in event_outbox.after(connection, 0)]
