"""Requests the slots that the sweeps need, and releases those that are idle for long. Pure; scheduler process."""

from __future__ import annotations

from dataclasses import dataclass

from podium.sweep.lifecycle.slot_demand import ElasticPool, SlotDemand
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.live_slot import Slot
from podium.sweep.scheduling.scheduler_state import SchedulerState
from podium.sweep.values.device_state import DeviceState


def slot_demand(state: SchedulerState) -> SlotDemand:
    """How many more trials would start now if there were free slots; at least one slot if members wait for a device.

    Free slots serve the sweeps in their order; which sweep gets which slot is decided when it is placed.
    """
    if state.stopping or state.disk.reason:
        return SlotDemand()
    free = [slot.device for slot in state.ledger.free()]
    needed = {"gpu": 0, "cpu": 0, "auto": 0}
    for sweep in state.sweeps:
        missing = sweep.startable * sweep.spec.resources.most
        fitting = [device for device in free if sweep.fits(device)][:missing]
        free = [device for device in free if device not in fitting]
        needed[sweep.spec.resources.device] += missing - len(fitting)
    if state.members.wanted and not any(slot.available for slot in state.ledger) and not any(needed.values()):
        needed["auto"] = 1  # all members can share one
    return SlotDemand(needed["gpu"], needed["cpu"], needed["auto"])


@dataclass(frozen=True, slots=True)
class _Idle:
    """A slot without a trial."""

    events: int  # that it has reported: a short trial may have run between two checks
    since_s: float  # monotonic


class SlotAutoscaler:
    """Requests the slots that the sweeps need, and releases those that nothing has needed for long."""

    def __init__(self, pool: ElasticPool, release_s: float) -> None:
        """`release_s`: seconds without a trial, after which a slot is released."""
        self._pool = pool
        self._release_s = release_s
        self._idle: dict[str, _Idle] = {}  # by device
        self._released: list[str] = []  # not told to the pool yet

    def adjust(self, state: SchedulerState, now: Instant) -> Decision:
        """Request slots, and take those to release from the ledger."""
        self._pool.request(slot_demand(state))
        held = state.members.held
        idle = {
            slot.device.device_id: slot
            for slot in state.ledger
            if slot.is_releasable and slot.device.device_id not in held
        }
        self._idle = {device_id: self._idle_since(slot, now.monotonic_s) for device_id, slot in idle.items()}
        decision = Decision()
        for device_id, slot in idle.items():
            if reason := self._reason(slot, now.monotonic_s - self._idle[device_id].since_s):
                slot.lose()
                self._released.append(device_id)
                decision.changes.append(slot.device_change_to(DeviceState.LOST, reason, now.wall_s))
        return decision

    def after_commit(self) -> None:
        """Release the slots that the database shows as released."""
        released, self._released = self._released, []
        for device_id in released:
            self._pool.release(device_id)

    def _idle_since(self, slot: Slot, now_s: float) -> _Idle:
        known = self._idle.get(slot.device.device_id)
        return known if known is not None and known.events == slot.acknowledged else _Idle(slot.acknowledged, now_s)

    def _reason(self, slot: Slot, idle_s: float) -> str:
        if slot.leaving:
            return f"released: {slot.leaving}"
        return f"released after {self._release_s:g} s without a trial" if idle_s >= self._release_s else ""
