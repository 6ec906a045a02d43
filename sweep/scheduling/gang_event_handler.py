"""Decisions on the ranks of attempts on several devices: start, failure, stall, end. Pure; scheduler process."""

from __future__ import annotations

import math

from podium.sweep.lifecycle.database_changes import RankEnded
from podium.sweep.scheduling.assignment_builder import assignment_of, rank_assignment
from podium.sweep.scheduling.attempt_end_handler import end_attempt
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.live_slot import Slot
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.scheduler_state import SchedulerState
from podium.sweep.scheduling.search_and_cleanup_actions import CleanUpAttempt
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import DeviceReleased, Ended, Event, RankIdle, Sampled, StoreOpened
from podium.sweep.values.states import TrialState


def on_rank_event(state: SchedulerState, slot: Slot, trial: LiveTrial, event: Event, now: Instant) -> Decision | None:
    """An event of a slot of a gang; None if it is to be handled as that of an attempt on one device."""
    gang = trial.gang
    assert gang is not None
    rank = gang.rank_on(slot.device.device_id)
    if rank is None:
        return Decision()
    if isinstance(event, Ended):
        return end_rank(state, trial, rank=rank, event=event, now=now)
    if isinstance(event, StoreOpened):
        if rank == 0 and not gang.sent and math.isinf(gang.stop_s) and not trial.stopping:
            _start_ranks(state, trial, event.port)
        return Decision()
    if isinstance(event, RankIdle):
        gang.set_idle(rank, event.idle)
        if gang.is_stalled:
            _stop_stalled(state, trial)
        return Decision()
    if isinstance(event, Sampled):
        return None  # of each rank
    if isinstance(event, DeviceReleased) or rank > 0:  # its devices become free together
        return Decision()
    return None


def end_rank(state: SchedulerState, trial: LiveTrial, rank: int, event: Ended, now: Instant) -> Decision:
    """A rank has ended, or is lost with its slot."""
    gang = trial.gang
    assert gang is not None
    grace_s = state.sweeps[trial.sweep_id].spec.limits.grace_s
    if not gang.end(rank, event, now.monotonic_s, grace_s):
        return Decision()
    decision = Decision(changes=[RankEnded(trial.key, rank, event)])
    decision += advance(state, trial, now)
    return decision


def lose_rank(state: SchedulerState, trial: LiveTrial, slot: Slot, cause: Cause, reason: str, now: Instant) -> Decision:
    """A slot of a gang is lost."""
    gang = trial.gang
    assert gang is not None
    rank = gang.rank_on(slot.device.device_id)
    if rank is None:
        return Decision()
    event = Ended(trial.key, TrialState.FAILED, now.wall_s, now.wall_s, cause=cause, message=reason)
    return end_rank(state, trial, rank=rank, event=event, now=now)


def advance(state: SchedulerState, trial: LiveTrial, now: Instant) -> Decision:
    """End the attempt of a gang whose ranks have ended, or kill those that are left after a failure."""
    gang = trial.gang
    assert gang is not None
    if gang.is_over:
        left = any(not event.exit for event in gang.ended.values())  # by a slot that is gone
        decision = Decision(actions=[CleanUpAttempt(state.folder_of(trial))] if left else [])
        decision += end_attempt(state, trial, gang.outcome(), now)
        return decision
    if gang.due(now.monotonic_s):
        for slot in state.ledger.running_slots(trial):
            slot.stop(trial.key, Cause.CANCELLED, at_once=True)
    return Decision()


def advance_gangs(state: SchedulerState, now: Instant) -> Decision:
    """Kill the ranks whose time has come."""
    decision = Decision()
    for trial in list(state.ledger.gangs.values()):
        if trial.gang is not None and not trial.gang.killed and now.monotonic_s >= trial.gang.stop_s:
            decision += advance(state, trial, now)
    return decision


def next_due_s(state: SchedulerState) -> float:
    """When ranks are to be killed next; monotonic."""
    gangs = (trial.gang for trial in state.ledger.gangs.values())
    return min((gang.stop_s for gang in gangs if gang is not None and not gang.killed), default=math.inf)


def _start_ranks(state: SchedulerState, trial: LiveTrial, port: int) -> None:
    """Rank 0 serves the store: start the others."""
    gang, sweep = trial.gang, state.sweeps[trial.sweep_id]
    assert gang is not None
    gang.send()
    devices = [state.ledger[each.device_id].device for each in gang.devices]
    lead = assignment_of(sweep, trial, data=state.data, device=devices[0], devices=devices)
    for rank in range(1, gang.processes):
        state.ledger[devices[rank].device_id].run_rank(rank_assignment(lead, devices, rank, port))


def _stop_stalled(state: SchedulerState, trial: LiveTrial) -> None:
    gang = trial.gang
    assert gang is not None
    gang.kill()
    limit_s = state.sweeps[trial.sweep_id].spec.limits.stall_s
    message = f"no rank has reported, printed or computed for limits.stall_s ({limit_s:g} s): each waits for another"
    for slot in state.ledger.running_slots(trial):
        slot.stop(trial.key, Cause.STALLED, at_once=True, message=message)


def adopt_gang(state: SchedulerState, trial: LiveTrial, now: Instant) -> Decision | None:
    """At start: hold the devices of a gang whose ranks all run or have ended; None if one has been lost."""
    gang = trial.gang
    assert gang is not None
    running = {slot.device.device_id for slot in state.ledger.slots_of(trial)}
    if any(gang.devices[rank].device_id not in running for rank in gang.running):
        return None
    state.ledger.gangs[trial.trial_id] = trial
    for device in gang.devices:
        slot = state.ledger.get(device.device_id)
        if slot is not None:
            slot.hold_again(trial)
    return advance(state, trial, now)
