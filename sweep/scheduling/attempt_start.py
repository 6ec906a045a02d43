"""Starts the next attempt of a trial, on one device or on several. Pure; scheduler process."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from podium.sweep.lifecycle.database_changes import AttemptPlaced, Change
from podium.sweep.scheduling.assignment_builder import assignment_of
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.fair_share import Claim
from podium.sweep.scheduling.gang import Gang
from podium.sweep.scheduling.live_slot import Slot
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.population_intervals import begin_interval
from podium.sweep.scheduling.scheduler_state import SchedulerState
from podium.sweep.values.device import Device, GangDevice
from podium.sweep.values.states import SweepState


def claims(state: SchedulerState, ready: Collection[int], now_s: float) -> list[Claim]:
    """What the sweeps claim of the devices; `ready`: those with a trial that can start."""
    return [
        Claim(
            sweep.sweep_id, sweep.devices.running, sweep.spec.resources.max_concurrent, sweep.priority,
            sweep.devices.used_s(now_s), sweep.held_s(now_s), sweep.sweep_id in ready,
        )
        for sweep in state.sweeps
        if sweep.devices.running or sweep.sweep_id in ready
    ]  # fmt: skip


def start_attempt(state: SchedulerState, slot: Slot, sweep: LiveSweep, trial: LiveTrial, now: Instant) -> Decision:
    """Start the next attempt of a trial on the device of a free slot."""
    device = slot.device
    sweep.place(trial, device, now.monotonic_s, state.next_nonce(trial))
    decision = Decision(changes=begin_interval(sweep, trial, now))
    slot.run(trial, assignment_of(sweep, trial, state.data, device))
    decision.changes.extend(state.availability.begin(slot, now.wall_s))
    decision.changes.extend(_running(sweep, now))
    decision.changes.append(
        AttemptPlaced(
            trial.key,
            sweep.sweep_id,
            trial.number,
            device.device_id,
            device.node,
            now.wall_s,
            trial.nonce,
            width=trial.width,
        )
    )
    return decision


def start_gang(
    state: SchedulerState, devices: Sequence[Device], sweep: LiveSweep, trial: LiveTrial, now: Instant
) -> Decision:
    """Start the next attempt of a trial on several free devices: rank 0 now, the others when its store is open."""
    gang = Gang.of((GangDevice(device.device_id, device.node) for device in devices), sweep.spec.resources)
    lead = devices[0]
    sweep.place(trial, lead, now_s=now.monotonic_s, nonce=state.next_nonce(trial), gang=gang)
    state.ledger.gangs[trial.trial_id] = trial
    decision = Decision()
    for device in devices:
        slot = state.ledger[device.device_id]
        slot.hold(trial)
        decision.changes.extend(state.availability.begin(slot, now.wall_s))
    state.ledger[lead.device_id].run_rank(assignment_of(sweep, trial, data=state.data, device=lead, devices=devices))
    decision.changes.extend(_running(sweep, now))
    decision.changes.append(
        AttemptPlaced(
            trial.key,
            sweep.sweep_id,
            trial.number,
            lead.device_id,
            lead.node,
            now.wall_s,
            trial.nonce,
            gang.devices,
            trial.width,
        )
    )
    return decision


def _running(sweep: LiveSweep, now: Instant) -> list[Change]:
    if sweep.state is SweepState.QUEUED:
        return [sweep.set_state(SweepState.RUNNING, "", now.wall_s)]
    return sweep.explain(None, now.wall_s) if sweep.state is SweepState.STOPPING else []
