"""Places trials on free slots, plans the asks, and explains why sweeps and devices wait. Pure; scheduler process."""

from __future__ import annotations

from collections.abc import Sequence

from podium.sweep.scheduling import gang_aware_placement
from podium.sweep.scheduling.assignment_builder import assignment_of
from podium.sweep.scheduling.attempt_start import claims, start_attempt
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.live_slot import Slot
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import NO_OTHERS, LiveTrial, OtherDevices
from podium.sweep.scheduling.scheduler_state import SchedulerState
from podium.sweep.scheduling.search_and_cleanup_actions import AskTrial
from podium.sweep.scheduling.wait_and_idle_reasons import sweep_wait_reason
from podium.sweep.values.states import SweepState

WAITS_S = 5.0  # a sweep without a running trial for longer is waiting, rather than between two trials


def place_trials(state: SchedulerState, now: Instant) -> Decision:
    """Give each free slot a ready trial of the sweep that is furthest behind its share.

    A slot on a device that an ensemble reserved, or that is drained, is not free.
    """
    decision = Decision()
    if state.disk.reason:
        return decision
    if any(sweep.needs(state.ledger.slots_per_device).several for sweep in state.sweeps):
        return gang_aware_placement.place(state, now)
    free = state.ledger.free()
    if not free:
        return decision
    others = _other_devices(state, now)
    ending = state.ledger.ending()
    for slot in free:
        ready = {
            sweep.sweep_id: trial
            for sweep in state.sweeps
            if (trial := sweep.next_for(slot.device, others[sweep.sweep_id], ending, now.monotonic_s)) is not None
        }
        chosen = state.shares.choose(claims(state, ready.keys(), now.monotonic_s))
        if chosen is not None:
            decision += start_attempt(state, slot, sweep=state.sweeps[chosen], trial=ready[chosen], now=now)
        elif all(sweep.next(ending) is None for sweep in state.sweeps):
            break  # the other slots get none either
    return decision


def _other_devices(state: SchedulerState, now: Instant) -> dict[int, OtherDevices]:
    """By sweep: whether a trial that avoids a device has another one. Sweeps with the same needs share the answer.

    Without such trials the answer does not matter, and the slots are not counted.
    """
    needs = {sweep.sweep_id: (sweep.spec.resources.device, sweep.spec.resources.node) for sweep in state.sweeps}
    asking = [sweep for sweep in state.sweeps if sweep.avoids_devices(now.monotonic_s)]
    found = {needs[sweep.sweep_id]: sweep.fits for sweep in asking}
    others = {need: state.ledger.others(fits) for need, fits in found.items()}
    return {sweep_id: others.get(need, NO_OTHERS) for sweep_id, need in needs.items()}


def resend_attempt(state: SchedulerState, slot: Slot, trial: LiveTrial, now: Instant) -> Decision:
    """Send an attempt that is in the database to the slot on its device, which has not received it."""
    sweep = state.sweeps[trial.sweep_id]
    sweep.adopt(trial, slot.device, now.monotonic_s)
    slot.run(trial, assignment_of(sweep, trial, state.data, slot.device))
    return Decision(changes=state.availability.begin(slot, now.wall_s))


def plan_asks(state: SchedulerState, now: Instant) -> Decision:
    """Ask in advance, so that a trial is ready when a slot becomes free, or when a gang's turn comes."""
    free, slots = state.ledger.free(), state.ledger.available()
    decision = Decision()
    for sweep in state.sweeps:
        counts = _usable(sweep, free), _usable(sweep, slots)
        width = sweep.needs(state.ledger.slots_per_device).most
        for _ in range(sweep.asks_due(*(count if width == 1 else max(1, count // width) for count in counts))):
            sweep.asks.begin(now.monotonic_s)
            decision.actions.append(AskTrial(sweep.sweep_id, deadline_s=sweep.asks.deadline_s))
    return decision


def _usable(sweep: LiveSweep, slots: Sequence[Slot]) -> int:
    """The number of slots for the trials of a sweep; for one that is pinned to a node, there."""
    return len(slots) if sweep.spec.resources.node is None else sum(sweep.fits(slot.device) for slot in slots)


def explain_waits(state: SchedulerState, now: Instant) -> Decision:
    """Set the reasons why sweeps wait and devices are idle."""
    sweeps, decision = list(state.sweeps), Decision()
    for sweep in sweeps:
        explained = bool(sweep.reason) or sweep.wait is not None
        waits = now.monotonic_s - sweep.devices.idle_since_s >= WAITS_S or explained
        wait = sweep_wait_reason(sweep, list(state.ledger), state.disk.reason) if waits else None
        if sweep.state in (SweepState.QUEUED, SweepState.RUNNING, SweepState.STOPPING):
            decision.changes.extend(sweep.explain(wait, now.wall_s))
    reserved = gang_aware_placement.reserved_devices(state)
    decision.changes.extend(state.availability.explain(sweeps, state.disk.reason, now.wall_s, reserved))
    return decision
