"""Places trials while a sweep has trials of several devices: reservation and backfill. Pure; scheduler process.

The sweep that is furthest behind its share is served. If its next trial needs more devices than are free, it holds the
reservation from then on, until it starts: see `podium.sweep.scheduling.gang_reservation_and_backfill`. There is one
reservation at a time, which goes to the trial that has waited longest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from podium.sweep.scheduling.attempt_deadlines import ends_by_s, longest_s
from podium.sweep.scheduling.attempt_start import claims, start_attempt, start_gang
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.gang_reservation_and_backfill import (
    DeviceOutlook,
    Reservation,
    choose_devices,
    reserve,
    size_of_attempt,
)
from podium.sweep.scheduling.live_slot import Slot
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.scheduler_state import SchedulerState
from podium.sweep.scheduling.slots_per_attempt import SlotsPerAttempt
from podium.sweep.values.device import Device


@dataclass(frozen=True, slots=True)
class _Start:
    """A trial with the devices on which it starts: one, or those of a gang."""

    trial: LiveTrial
    devices: tuple[Device, ...]


def place(state: SchedulerState, now: Instant) -> Decision:
    """Start what can start without delaying the trial that holds the reservation."""
    decision = Decision()
    skipped: set[int] = set()
    while free := state.ledger.free():
        outlook = _outlook(state, now)
        start = _start_of_holder(state, outlook, now)
        holder = state.reservation.sweep_id
        if start is not None and holder is not None:
            state.reservation.withdraw()
            decision += _begin(state, state.sweeps[holder], start, now)
            continue
        ready = [
            sweep for sweep in state.sweeps if _next(state, sweep, free=free, outlook=outlook, now=now) is not None
        ]
        out = skipped if holder is None else skipped | {holder}
        chosen = state.shares.choose(claims(state, {sweep.sweep_id for sweep in ready}, now.monotonic_s), out)
        if chosen is None:
            break
        sweep = state.sweeps[chosen]
        start = _start_within(state, sweep, free=free, outlook=outlook, now=now)
        if start is not None:
            decision += _begin(state, sweep, start, now)
        elif _needs(state, sweep).several and holder is None:
            state.reservation.give(chosen)
        else:
            skipped.add(chosen)
    return decision


def reserved_devices(state: SchedulerState) -> dict[str, str]:
    """The devices among which the reservation is, with the reason why they are idle."""
    held = state.reservation
    if held.sweep_id is None or held.reservation is None or state.sweeps.get(held.sweep_id) is None:
        return {}
    reason = f"reserved for sweep {held.sweep_id}, whose next trial needs {held.reservation.count} devices"
    return dict.fromkeys(held.reservation.devices, reason)


def _begin(state: SchedulerState, sweep: LiveSweep, start: _Start, now: Instant) -> Decision:
    if _needs(state, sweep).several:
        return start_gang(state, start.devices, sweep=sweep, trial=start.trial, now=now)
    return start_attempt(state, state.ledger[start.devices[0].device_id], sweep=sweep, trial=start.trial, now=now)


def _start_of_holder(state: SchedulerState, outlook: list[DeviceOutlook], now: Instant) -> _Start | None:
    """The trial that holds the reservation, if it can start now; a reservation that no longer holds is withdrawn."""
    sweep = None if state.reservation.sweep_id is None else state.sweeps.get(state.reservation.sweep_id)
    trial = None if sweep is None else sweep.next(state.ledger.ending())
    if sweep is None or trial is None or not _may_start_another(sweep):
        state.reservation.withdraw()
        return None
    suitable = _suitable(state, outlook, sweep=sweep, trial=trial, now=now)
    if not state.reservation.update(reserve(suitable, _needs(state, sweep), now.monotonic_s)):
        return None
    devices = choose_devices(suitable, _needs(state, sweep), now.monotonic_s)
    return _Start(trial, devices) if devices else None


def _needs(state: SchedulerState, sweep: LiveSweep) -> SlotsPerAttempt:
    return sweep.needs(state.ledger.slots_per_device)


def _may_start_another(sweep: LiveSweep) -> bool:
    limit = sweep.spec.resources.max_concurrent
    return limit is None or sweep.devices.running < limit


def _next(
    state: SchedulerState, sweep: LiveSweep, free: list[Slot], outlook: list[DeviceOutlook], now: Instant
) -> LiveTrial | None:
    """The next trial of a sweep, if there are devices that it may run on: free ones, or enough for a gang later."""
    others, ending = state.ledger.others(sweep.fits), state.ledger.ending()
    if _needs(state, sweep).several:
        return sweep.next(ending) if size_of_attempt(outlook, _needs(state, sweep)) else None
    trials = (sweep.next_for(slot.device, others, ending, now.monotonic_s) for slot in free)
    return next((trial for trial in trials if trial is not None), None)


def _start_within(
    state: SchedulerState, sweep: LiveSweep, free: list[Slot], outlook: list[DeviceOutlook], now: Instant
) -> _Start | None:
    """The next trial of a sweep on free devices, if that delays no trial that waits for several."""
    reservation = state.reservation.reservation
    others_there, ending = state.ledger.others(sweep.fits), state.ledger.ending()
    end_s = now.monotonic_s + _longest_s(sweep)
    if _needs(state, sweep).several:
        trial = sweep.next(ending)
        assert trial is not None
        others = [] if reservation is None else [each for each in outlook if each.device_id not in reservation.devices]
        for among in (outlook, others):
            suitable = _suitable(state, among, sweep=sweep, trial=trial, now=now)
            devices = choose_devices(suitable, _needs(state, sweep), now.monotonic_s)
            if devices and _is_admitted(reservation, devices, end_s):
                return _Start(trial, devices)
        return None
    reserved = frozenset() if reservation is None else reservation.devices
    for slot in sorted(free, key=lambda slot: slot.device.device_id in reserved):
        trial = sweep.next_for(slot.device, others_there, ending, now.monotonic_s)
        if trial is not None and _is_admitted(reservation, (slot.device,), end_s):
            return _Start(trial, (slot.device,))
    return None


def _is_admitted(reservation: Reservation | None, devices: tuple[Device, ...], end_s: float) -> bool:
    return reservation is None or reservation.admits([device.device_id for device in devices], end_s)


def _suitable(
    state: SchedulerState, outlook: list[DeviceOutlook], sweep: LiveSweep, trial: LiveTrial, now: Instant
) -> list[DeviceOutlook]:
    """The devices for a gang: not the one on which its trial has just failed, if there are enough others."""
    wanted, others = _needs(state, sweep), state.ledger.others(sweep.fits)
    suitable = [each for each in outlook if not trial.avoids(each.device, others, now.monotonic_s)]
    enough = size_of_attempt(suitable, wanted) == size_of_attempt(outlook, wanted)
    return suitable if enough else outlook


def _outlook(state: SchedulerState, now: Instant) -> list[DeviceOutlook]:
    """The devices that accept trials."""
    return [DeviceOutlook(slot.device, _free_s(state, slot, now.monotonic_s)) for slot in state.ledger.available()]


def _free_s(state: SchedulerState, slot: Slot, now_s: float) -> float:
    """When a device is free at the latest, by the limits of its trial; infinity if it has none."""
    if slot.free:
        return now_s
    later_s = math.nextafter(now_s, math.inf)
    if slot.trial is None:
        return max(later_s, slot.ends_by_s)
    return max(later_s, ends_by_s(state.sweeps[slot.trial.sweep_id], slot.trial))


def _longest_s(sweep: LiveSweep) -> float:
    """The longest time that an attempt has its devices."""
    wanted = sweep.spec.resources
    processes = wanted.most if wanted.processes == "per_device" else 1
    return longest_s(sweep.spec.limits, processes=processes)
