"""Decides, for each message, the changes to write and the actions to execute. Pure; scheduler process.

`decide` reads no clock, file or database, and waits for nothing: the same state, message and instant give the same
decision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from podium.sweep.lifecycle.scheduler_inbox_messages import (
    Message,
    PruneDecision,
    SearchFailed,
    SlotEvents,
    SlotLeaving,
    SlotLost,
    SlotOpened,
    Stop,
    StudyAnswered,
    TrialProposed,
    ValueSuggested,
    Wake,
)
from podium.sweep.runtime.attempt_directory import attempt_of_folder
from podium.sweep.scheduling import search_answer_handler
from podium.sweep.scheduling.attempt_deadlines import dropped_ends_by_s
from podium.sweep.scheduling.attempt_end_handler import attempt_ended, end_attempt, end_interrupted, end_lost
from podium.sweep.scheduling.attempt_event_handler import on_event
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.gang_event_handler import adopt_gang, lose_rank
from podium.sweep.scheduling.live_slot import Slot
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.scheduler_state import SchedulerState
from podium.sweep.scheduling.search_and_cleanup_actions import CleanUpAttempt
from podium.sweep.scheduling.sweep_endings import fail_sweep
from podium.sweep.scheduling.trial_placement import resend_attempt
from podium.sweep.spec.trial_limits import MAX_GRACE_S
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.device_state import DeviceState
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import SweepState


def decide(state: SchedulerState, message: Message, now: Instant) -> Decision:
    """Update the state for one message; returns what to write and what to execute."""
    return MESSAGE_HANDLERS[type(message)](state, message, now)


# Slots.


def is_foreign(state: SchedulerState, message: SlotOpened) -> bool:
    """Whether a slot reports an attempt that only has the numbers of one in the database.

    After a backup of the database was restored, numbers are assigned again, and a slot may have outlived that.
    """
    for key, folder in message.folders:
        _, nonce = attempt_of_folder(folder)
        trial = state.sweeps.current(key)
        if nonce and (not state.sweeps.knows(key) or (trial is not None and trial.nonce != nonce)):
            return True
    return False


def _on_slot_opened(state: SchedulerState, message: SlotOpened, now: Instant) -> Decision:
    """A slot is ready. An attempt that it already runs is adopted if it matches the database."""
    slot = state.ledger.open(message.device, now.monotonic_s)
    decision = Decision(changes=[slot.device_change(now.wall_s)])
    if (held := state.ledger.gang_on(message.device.device_id)) is not None:
        slot.hold_again(held)  # until the attempt that lost its rank here has ended
    for key in (message.sending, message.running):
        if key is not None:
            _adopt_attempt(state, slot, key, now, holds=key == message.running)
    decision += _on_slot_events(state, SlotEvents(message.device.device_id, message.events), now)
    return decision


def _adopt_attempt(state: SchedulerState, slot: Slot, key: AttemptKey, now: Instant, *, holds: bool) -> None:
    """`holds`: the device; otherwise it sends its files, which the database may not know yet: an event tells it."""
    trial = state.sweeps.current(key)
    if trial is None and holds:
        slot.drop(key, now.monotonic_s + MAX_GRACE_S)
    elif trial is None:
        slot.stop(key, Cause.CANCELLED)
    if trial is None:
        return
    if trial.gang is not None:
        _adopt_rank(state, slot, trial, now)
        return
    state.sweeps[trial.sweep_id].adopt(trial, slot.device, now.monotonic_s)
    slot.adopt(trial, now.monotonic_s)
    if trial.stopping:
        slot.stop(key, Cause.CANCELLED)


def _adopt_rank(state: SchedulerState, slot: Slot, trial: LiveTrial, now: Instant) -> None:
    gang = trial.gang
    assert gang is not None
    rank = gang.rank_on(slot.device.device_id)
    if rank is None or rank not in gang.running:
        slot.drop(trial.key, now.monotonic_s + state.sweeps[trial.sweep_id].spec.limits.grace_s)
        return
    if trial.device_id is None:
        state.sweeps[trial.sweep_id].adopt(trial, slot.device, now.monotonic_s)
        trial.lead(gang.devices[0].device_id)
    slot.adopt(trial, now.monotonic_s)
    if trial.stopping:
        slot.stop(trial.key, Cause.CANCELLED)


def _on_slot_lost(state: SchedulerState, message: SlotLost, now: Instant) -> Decision:
    slot, decision = state.ledger.get(message.device_id), Decision()
    if slot is None or slot.lost:
        return decision
    slot.lose()
    if slot.ending is not None and slot.ending_folder is not None:
        decision.actions.append(CleanUpAttempt(slot.ending_folder))
    decision.changes.append(slot.device_change_to(DeviceState.LOST, message.reason, now.wall_s))
    for trial in slot.attempts:  # the files of one that was sending are gone
        if trial.gang is not None:
            decision += lose_rank(state, trial, slot=slot, cause=message.cause, reason=message.reason, now=now)
        else:
            decision += end_lost(state, trial, cause=message.cause, reason=message.reason, now=now)
    return decision


def _on_slot_leaving(state: SchedulerState, message: SlotLeaving, now: Instant) -> Decision:
    """Its trials, if there are any, continue; the slot is released at their ends."""
    slot = state.ledger.get(message.device_id)
    if slot is None or slot.lost:
        return Decision()
    slot.leave(message.reason)
    return Decision(changes=[slot.device_change(now.wall_s)])


def _on_slot_events(state: SchedulerState, message: SlotEvents, now: Instant) -> Decision:
    slot, decision = state.ledger.get(message.device_id), Decision()
    if slot is not None:
        for event in slot.receive(message.events):
            decision += on_event(state, slot, event, now)
    return decision


# Answers of searches and of the study reader.


def _on_trial_proposed(state: SchedulerState, message: TrialProposed, now: Instant) -> Decision:
    return search_answer_handler.on_trial_proposed(state.sweeps, message, now)


def _on_prune_decision(state: SchedulerState, message: PruneDecision, now: Instant) -> Decision:
    trial, decision = search_answer_handler.on_prune_decision(state.sweeps, message)
    slot = None if trial is None else state.ledger.slot_of(trial)
    if slot is not None:
        slot.answer(message.key, message.step, message.verdict.prune)
    return decision


def _on_value_suggested(state: SchedulerState, message: ValueSuggested, now: Instant) -> Decision:
    trial, decision = search_answer_handler.on_value_suggested(state.sweeps, message)
    slot = None if trial is None else state.ledger.slot_of(trial)
    if slot is not None:
        slot.suggest(message.request, message.value, message.error)
    return decision


def _on_study_answered(state: SchedulerState, message: StudyAnswered, now: Instant) -> Decision:
    trial = state.sweeps.current(message.request.key)
    slot = None if trial is None else state.ledger.slot_of(trial)
    if slot is not None:
        slot.answer_study(message)
    return Decision()


def _on_search_failed(state: SchedulerState, message: SearchFailed, now: Instant) -> Decision:
    if state.sweeps.sender(message) is None:
        return Decision()
    return fail_sweep(state, message.sweep_id, f"the search failed: {message.reason}", now)


# The service.


def _on_wake(state: SchedulerState, message: Wake, now: Instant) -> Decision:
    """The scheduler reads the database before the messages; see `Scheduler.step`."""
    return Decision()


def _on_stop(state: SchedulerState, message: Stop, now: Instant) -> Decision:
    state.stop()
    for slot, trial in state.ledger.attempts():
        slot.stop(trial.key, Cause.CANCELLED)
    return Decision()


MESSAGE_HANDLERS: Mapping[type, Callable[[SchedulerState, Any, Instant], Decision]] = {
    SlotOpened: _on_slot_opened,
    SlotLost: _on_slot_lost,
    SlotLeaving: _on_slot_leaving,
    SlotEvents: _on_slot_events,
    TrialProposed: _on_trial_proposed,
    PruneDecision: _on_prune_decision,
    ValueSuggested: _on_value_suggested,
    StudyAnswered: _on_study_answered,
    SearchFailed: _on_search_failed,
    Wake: _on_wake,
    Stop: _on_stop,
}


def resolve_orphans(state: SchedulerState, has_started: Callable[[Path], bool], now: Instant) -> Decision:
    """At start: attempts that run according to the database, but on no slot.

    The previous scheduler may have died between the commit and the call of the slot. Such an attempt has not started:
    its slot gets it now. The others were interrupted. `has_started`: whether a slot has received the attempt of a
    folder.
    """
    decision = Decision()
    for trial in state.sweeps.trials:
        if state.sweeps.current(trial.key) is not trial:
            continue
        if trial.gang is not None:
            decision += _resolve_gang(state, trial, now)
            continue
        if trial.device_id is not None:
            continue
        slot = None if trial.placed_on is None else state.ledger.get(trial.placed_on)
        if slot is not None and _may_resend(state, slot, trial, has_started):
            decision += resend_attempt(state, slot, trial, now)
        else:
            decision += end_interrupted(state, trial, "lost while the scheduler was not running", now)
    return decision


def _resolve_gang(state: SchedulerState, trial: LiveTrial, now: Instant) -> Decision:
    """Continue a gang all of whose ranks are there; otherwise what is left of it is killed, and then it is repeated."""
    adopted = adopt_gang(state, trial, now)
    if adopted is not None:
        return adopted
    by_s = dropped_ends_by_s(state.sweeps[trial.sweep_id], trial, now.monotonic_s)
    state.ledger.drop(trial, by_s, state.folder_of(trial))
    return end_interrupted(state, trial, "ranks were lost while the scheduler was not running", now)


def _may_resend(state: SchedulerState, slot: Slot, trial: LiveTrial, has_started: Callable[[Path], bool]) -> bool:
    """Whether an attempt has certainly not started. The folder of one on another machine is not on this one."""
    if not slot.free or trial.stopping or slot.device.is_remote:
        return False
    return not has_started(state.folder_of(trial))


def suspend(state: SchedulerState, now: Instant) -> Decision:
    """At the end of the service: nothing that no longer runs stays `running` in the database."""
    decision = Decision()
    for trial in dict.fromkeys(trial for _, trial in state.ledger.attempts()):  # one may have several devices
        decision += end_attempt(state, trial, attempt_ended(trial, Cause.CANCELLED, "the service stopped", now), now)
    for sweep in state.sweeps:
        if sweep.state is SweepState.RUNNING:
            reason = "the service stopped; the sweep continues at the next start"
            decision.changes.append(sweep.set_state(SweepState.QUEUED, reason, now.wall_s))
    return decision
