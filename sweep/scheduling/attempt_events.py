"""Decisions on the reports and the ends of attempts. Pure; scheduler process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from podium.sweep.lifecycle.recorded_changes import ArtifactSaved, AttemptReleased, AttemptStarted, MetricPoint
from podium.sweep.scheduling.actions import ApplyRetention, CleanUpAttempt, ReadStudy, ReportValue, SuggestValue
from podium.sweep.scheduling.decision import Decision, Instant
from podium.sweep.scheduling.device_ledger import Slot
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.scheduler_state import SchedulerState
from podium.sweep.scheduling.search_answers import on_fallback_value
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import (
    DeviceReleased,
    Ended,
    Event,
    Logged,
    Reported,
    Saved,
    Started,
    StopRequested,
    StudyRequested,
    SuggestRequested,
)
from podium.sweep.values.states import COUNTED_TRIAL_STATES, SWEEP_TRANSITIONS, SweepState, TrialState

log = logging.getLogger("podium.scheduler")


def on_event(state: SchedulerState, slot: Slot, event: Event, now: Instant) -> Decision:
    """An event of a slot. Events of attempts that no longer count only free the slot."""
    trial = state.sweeps.current(event.key)
    if trial is not None and trial.device_id in (None, slot.device.device_id):  # None: not adopted after a restart
        return EVENT_HANDLERS[type(event)](state, slot, trial, event, now)
    if isinstance(event, DeviceReleased | Ended) and event.key == slot.ending:
        slot.finish_ending()
    elif isinstance(event, Ended):
        log.info("ignored the end of trial %d, attempt %d", event.key.trial_id, event.key.attempt)
    return Decision()


def _on_started(state: SchedulerState, slot: Slot, trial: LiveTrial, event: Started, now: Instant) -> Decision:
    trial.start(event)
    return Decision(changes=[AttemptStarted(event)])


def _on_reported(state: SchedulerState, slot: Slot, trial: LiveTrial, event: Reported, now: Instant) -> Decision:
    sweep = state.sweeps[trial.sweep_id]
    metric = sweep.spec.pruned_on.name
    sweep.record_metrics([metric])
    decision = Decision(changes=[MetricPoint(event.key, metric, event.step, event.value, event.at)])
    if trial.record_report(event.step):
        decision.actions.append(ReportValue(sweep.sweep_id, trial.number, event.key, event.step, event.value))
    else:
        slot.answer(event.key, event.step, prune=False)
    return decision


def _on_logged(state: SchedulerState, slot: Slot, trial: LiveTrial, event: Logged, now: Instant) -> Decision:
    state.sweeps[trial.sweep_id].record_metrics(list(event.values))
    return Decision(
        changes=[MetricPoint(event.key, name, event.step, value, event.at) for name, value in event.values.items()]
    )


def _on_saved(state: SchedulerState, slot: Slot, trial: LiveTrial, event: Saved, now: Instant) -> Decision:
    return Decision(changes=[ArtifactSaved(event)])


def _on_suggest_requested(
    state: SchedulerState, slot: Slot, trial: LiveTrial, event: SuggestRequested, now: Instant
) -> Decision:
    decision = on_fallback_value(state.sweeps, trial, event) if event.drawn else Decision()
    decision.actions.append(SuggestValue(trial.sweep_id, trial.number, event))
    return decision


def _on_study_requested(
    state: SchedulerState, slot: Slot, trial: LiveTrial, event: StudyRequested, now: Instant
) -> Decision:
    return Decision(actions=[ReadStudy(trial.sweep_id, event)])


def _on_stop_requested(
    state: SchedulerState, slot: Slot, trial: LiveTrial, event: StopRequested, now: Instant
) -> Decision:
    """A trial called `study.stop()`: running trials may finish, and no other trial of the sweep starts."""
    sweep = state.sweeps[trial.sweep_id]
    if SweepState.STOPPING not in SWEEP_TRANSITIONS[sweep.state]:
        return Decision()
    reason = f"trial {trial.number} called study.stop()"
    return Decision(changes=[sweep.set_state(SweepState.STOPPING, reason, now.wall_s)])


def _on_device_released(
    state: SchedulerState, slot: Slot, trial: LiveTrial, event: DeviceReleased, now: Instant
) -> Decision:
    """Its processes have ended and its files are being sent: the next attempt may start on its device.

    Ignored for an attempt that has left the device already, or whose end follows at once, after a restart.
    """
    if slot.trial is not trial:
        return Decision()
    sweep = state.sweeps[trial.sweep_id]
    slot.release_device(now.monotonic_s)
    state.shares.charge(sweep.sweep_id, now.monotonic_s - trial.placed_s, sweep.priority)
    device_s = sweep.release_device(trial, now.monotonic_s, now.wall_s - event.at)
    return Decision(changes=[AttemptReleased(trial.key, sweep.sweep_id, trial.number, device_s, event.at)])


def _on_ended(state: SchedulerState, slot: Slot, trial: LiveTrial, event: Ended, now: Instant) -> Decision:
    return end_attempt(state, trial, event, now)


EVENT_HANDLERS: Mapping[type, Callable[[SchedulerState, Slot, LiveTrial, Any, Instant], Decision]] = {
    Started: _on_started,
    Reported: _on_reported,
    Logged: _on_logged,
    Saved: _on_saved,
    SuggestRequested: _on_suggest_requested,
    StudyRequested: _on_study_requested,
    StopRequested: _on_stop_requested,
    DeviceReleased: _on_device_released,
    Ended: _on_ended,
}


def end_attempt(state: SchedulerState, trial: LiveTrial, event: Ended, now: Instant) -> Decision:
    """An attempt has ended: its device is free, and its trial has either ended or waits for the next attempt."""
    sweep = state.sweeps[trial.sweep_id]
    decision = Decision()
    slot = state.ledger.slot_of(trial)
    if slot is not None:
        if _is_full_node(slot, event):
            event = replace(event, state=TrialState.FAILED)  # an interruption would stop the trials of all machines
        slot.release(trial)
        if trial.device_s is None:
            state.shares.charge(sweep.sweep_id, now.monotonic_s - trial.placed_s, sweep.priority)
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
    """An attempt was lost together with its slot, which did not clean up."""
    decision = Decision(actions=[CleanUpAttempt(state.folder_of(trial))])
    decision += end_attempt(state, trial, attempt_ended(trial, cause, reason, now), now)
    return decision


def end_interrupted(state: SchedulerState, trial: LiveTrial, reason: str, now: Instant) -> Decision:
    """An attempt was lost together with the service: it is repeated, and does not count as a failure.

    If this happens too often, it does count: then the trial may be the cause.
    """
    trial.interrupt()
    if trial.was_interrupted_often:
        return end_lost(state, trial, Cause.INFRASTRUCTURE, reason, now)
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
