"""Decisions on the ends of attempts: whether the trial ends as well, or runs again. Pure; scheduler process."""

from __future__ import annotations

from dataclasses import replace

from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.live_slot import Slot
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.scheduler_state import SchedulerState
from podium.sweep.scheduling.search_and_cleanup_actions import ApplyRetention, CleanUpAttempt
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import COUNTED_TRIAL_STATES, TrialState


def end_attempt(state: SchedulerState, trial: LiveTrial, event: Ended, now: Instant) -> Decision:
    """An attempt has ended: its device is free, and its trial has either ended or waits for the next attempt."""
    sweep = state.sweeps[trial.sweep_id]
    decision = Decision()
    slot = state.ledger.deciding_slot(trial)
    if slot is not None and _is_full_node(slot, event):
        event = replace(event, state=TrialState.FAILED)  # an interruption would stop the trials of all machines
    state.ledger.release(trial)
    if slot is not None and trial.device_id is not None and trial.device_s is None:
        held_s = (now.monotonic_s - trial.placed_s) * trial.width
        state.shares.charge(sweep.sweep_id, held_s, sweep.priority)
        decision.changes.extend(state.availability.record_outcome(slot, trial, event, now.wall_s))
    event = state.disk.apply(trial, event, now)
    repeat = not trial.stopping and _is_repeated(state, trial, event, sweep)
    if repeat and event.state is TrialState.CANCELLED and event.cause is Cause.CANCELLED:
        event = replace(event, message="the service stopped")  # no client requested it
    decision += state.sweeps.end_attempt(trial, event, now, repeat=repeat)
    if slot is not None and (event.cause is Cause.NODE_LOST or _is_full_node(slot, event)):
        trial.avoid_node(slot.device.node)
    ended_interval = sweep.population is not None and event.state is TrialState.WAITING
    if ended_interval or (event.state in COUNTED_TRIAL_STATES and sweep.spec.keep.removes_something):
        decision.actions.append(ApplyRetention(sweep.sweep_id))
    return decision


def _is_full_node(slot: Slot, event: Ended) -> bool:
    """Whether an attempt ended because the disk of another machine is full."""
    return slot.device.is_remote and event.cause is Cause.DISK_FULL


def end_lost(state: SchedulerState, trial: LiveTrial, cause: Cause, reason: str, now: Instant) -> Decision:
    """An attempt on one device was lost together with its slot, which did not clean up."""
    decision = Decision(actions=[CleanUpAttempt(state.folder_of(trial))])
    decision += end_attempt(state, trial, attempt_ended(trial, cause, reason, now), now)
    return decision


def end_interrupted(state: SchedulerState, trial: LiveTrial, reason: str, now: Instant) -> Decision:
    """An attempt was lost together with the service: it is repeated, and does not count as a failure.

    If this happens too often, it does count: then the trial may be the cause.
    """
    trial.interrupt()
    if trial.was_interrupted_often:
        return end_lost(state, trial, cause=Cause.INFRASTRUCTURE, reason=reason, now=now)
    decision = Decision(actions=[CleanUpAttempt(state.folder_of(trial))])
    at = now.wall_s
    event = Ended(trial.key, TrialState.CANCELLED, at, at, cause=Cause.INFRASTRUCTURE, message=reason)
    decision += state.sweeps.end_attempt(trial, event, now, repeat=not trial.stopping)
    return decision


def attempt_ended(trial: LiveTrial, cause: Cause, reason: str, now: Instant) -> Ended:
    """The end of an attempt that the scheduler itself decides."""
    state = TrialState.CANCELLED if cause is Cause.CANCELLED else TrialState.FAILED
    return Ended(trial.key, state, now.wall_s, now.wall_s, cause=cause, message=reason)


def _is_repeated(state: SchedulerState, trial: LiveTrial, event: Ended, sweep: LiveSweep) -> bool:
    if event.state is TrialState.WAITING:
        return True  # for its next interval
    if event.state is TrialState.CANCELLED:
        return state.stopping or event.cause is Cause.DISK_FULL
    return event.state is TrialState.FAILED and trial.record_failure(event, sweep.spec)
