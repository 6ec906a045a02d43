"""Decisions on the events of attempts. Pure; scheduler process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from podium.sweep.lifecycle.database_changes import (
    ArtifactSaved,
    AttemptReleased,
    AttemptStarted,
    MetricPoint,
    UsageSampled,
)
from podium.sweep.scheduling.attempt_end_handler import end_attempt
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.gang_event_handler import on_rank_event
from podium.sweep.scheduling.live_slot import Slot
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.scheduler_state import SchedulerState
from podium.sweep.scheduling.search_and_cleanup_actions import ReadStudy, ReportValue, SuggestValue
from podium.sweep.scheduling.search_answer_handler import on_fallback_value
from podium.sweep.values.slot_events import (
    DeviceReleased,
    Ended,
    Event,
    Logged,
    RankIdle,
    Reported,
    Sampled,
    Saved,
    Started,
    StopRequested,
    StoreOpened,
    StudyRequested,
    SuggestRequested,
)
from podium.sweep.values.states import SWEEP_TRANSITIONS, SweepState

log = logging.getLogger("podium.scheduler")


def on_event(state: SchedulerState, slot: Slot, event: Event, now: Instant) -> Decision:
    """An event of a slot. Events of attempts that no longer count only free the slot."""
    trial = state.sweeps.current(event.key)
    if trial is not None and trial.gang is not None:
        decision = on_rank_event(state, slot, trial=trial, event=event, now=now)
        return EVENT_HANDLERS[type(event)](state, slot, trial, event, now) if decision is None else decision
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
    elif sweep.spec.early_terminate.prunes:  # otherwise the trial waits for no answer
        slot.answer(event.key, event.step, prune=False)
    return decision


def _on_logged(state: SchedulerState, slot: Slot, trial: LiveTrial, event: Logged, now: Instant) -> Decision:
    state.sweeps[trial.sweep_id].record_metrics(list(event.values))
    return Decision(
        changes=[MetricPoint(event.key, name, event.step, value, event.at) for name, value in event.values.items()]
    )


def _on_sampled(state: SchedulerState, slot: Slot, trial: LiveTrial, event: Sampled, now: Instant) -> Decision:
    return Decision(changes=[UsageSampled(event)])


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


def _on_gang_only(state: SchedulerState, slot: Slot, trial: LiveTrial, event: Event, now: Instant) -> Decision:
    """An attempt on one device has no other ranks."""
    return Decision()


def _on_ended(state: SchedulerState, slot: Slot, trial: LiveTrial, event: Ended, now: Instant) -> Decision:
    return end_attempt(state, trial, event, now)


EVENT_HANDLERS: Mapping[type, Callable[[SchedulerState, Slot, LiveTrial, Any, Instant], Decision]] = {
    Started: _on_started,
    Reported: _on_reported,
    Logged: _on_logged,
    Sampled: _on_sampled,
    Saved: _on_saved,
    SuggestRequested: _on_suggest_requested,
    StudyRequested: _on_study_requested,
    StopRequested: _on_stop_requested,
    StoreOpened: _on_gang_only,
    RankIdle: _on_gang_only,
    DeviceReleased: _on_device_released,
    Ended: _on_ended,
}
