"""Decides the next trial of each free slot, the asks, and the reasons for waiting. Pure; scheduler process."""

from __future__ import annotations

from collections.abc import Iterable

from podium.sweep.lifecycle.recorded_changes import AttemptPlaced
from podium.sweep.scheduling.actions import AskTrial
from podium.sweep.scheduling.assignment_builder import assignment_of
from podium.sweep.scheduling.decision import Decision, Instant
from podium.sweep.scheduling.device_ledger import Slot
from podium.sweep.scheduling.fair_share import Claim
from podium.sweep.scheduling.intervals import begin_interval
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial, OtherDevices
from podium.sweep.scheduling.scheduler_state import SchedulerState
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
    available = [slot.device for slot in state.ledger.available()]
    others = OtherDevices(device=len(available) > 1, node=len({device.node for device in available}) > 1)
    for slot in state.ledger.free():
        ready = {
            sweep.sweep_id: trial
            for sweep in state.sweeps
            if (trial := sweep.next_for(slot.device, others, now.monotonic_s)) is not None
        }
        chosen = state.shares.choose(_claims(state, ready.keys(), now.monotonic_s))
        if chosen is not None:
            decision += _start(state, slot, state.sweeps[chosen], ready[chosen], now)
    return decision


def _claims(state: SchedulerState, ready: Iterable[int], now_s: float) -> list[Claim]:
    return [
        Claim(
            sweep.sweep_id, sweep.devices.running, sweep.spec.resources.max_concurrent, sweep.priority,
            sweep.devices.used_s(now_s), sweep.held_s(now_s), sweep.sweep_id in ready,
        )
        for sweep in state.sweeps
        if sweep.devices.running or sweep.sweep_id in ready
    ]  # fmt: skip


def _start(state: SchedulerState, slot: Slot, sweep: LiveSweep, trial: LiveTrial, now: Instant) -> Decision:
    device = slot.device
    sweep.place(trial, device.device_id, now.monotonic_s, state.next_nonce(trial))
    decision = Decision(changes=begin_interval(sweep, trial, now))
    slot.run(trial, assignment_of(sweep, trial, state.data, slot.device))
    decision.changes.extend(state.availability.begin(slot, now.wall_s))
    if sweep.state is SweepState.QUEUED:
        decision.changes.append(sweep.set_state(SweepState.RUNNING, "", now.wall_s))
    elif sweep.state is SweepState.STOPPING:
        decision.changes.extend(sweep.explain(None, now.wall_s))
    decision.changes.append(
        AttemptPlaced(trial.key, sweep.sweep_id, trial.number, device.device_id, device.node, now.wall_s, trial.nonce)
    )
    return decision


def resend_attempt(state: SchedulerState, slot: Slot, trial: LiveTrial, now: Instant) -> Decision:
    """Send an attempt that is in the database to the slot on its device, which has not received it."""
    sweep = state.sweeps[trial.sweep_id]
    sweep.adopt(trial, slot.device.device_id, now.monotonic_s)
    slot.run(trial, assignment_of(sweep, trial, state.data, slot.device))
    return Decision(changes=state.availability.begin(slot, now.wall_s))


def plan_asks(state: SchedulerState) -> Decision:
    """Ask in advance, so that a trial is ready when a slot becomes free."""
    free, slots = len(state.ledger.free()), len(state.ledger.available())
    decision = Decision()
    for sweep in state.sweeps:
        for _ in range(sweep.asks_due(free, slots)):
            sweep.asks.begin()
            decision.actions.append(AskTrial(sweep.sweep_id, deadline_s=sweep.asks.deadline_s))
    return decision


def explain_waits(state: SchedulerState, now: Instant) -> Decision:
    """Set the reasons why sweeps wait and devices are idle."""
    sweeps, decision = list(state.sweeps), Decision()
    for sweep in sweeps:
        explained = bool(sweep.reason) or sweep.wait is not None
        waits = now.monotonic_s - sweep.devices.idle_since_s >= WAITS_S or explained
        wait = sweep_wait_reason(sweep, list(state.ledger), state.disk.reason) if waits else None
        if sweep.state in (SweepState.QUEUED, SweepState.RUNNING, SweepState.STOPPING):
            decision.changes.extend(sweep.explain(wait, now.wall_s))
    decision.changes.extend(state.availability.explain(sweeps, state.disk.reason, now.wall_s))
    return decision
