"""The device ledger: the slot on each device, and why devices accept no trials. Pure; scheduler process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path

from podium.sweep.lifecycle.scheduler_interfaces import SlotPool
from podium.sweep.scheduling.live_slot import Slot, SlotSets
from podium.sweep.scheduling.live_trial import LiveTrial, OtherDevices
from podium.sweep.values.device import Device, shared_id
from podium.sweep.values.drained_devices import DeviceDrain, drains_of

FAILURES_IN_A_ROW = 3  # of different trials; then a device is drained


class DeviceLedger:
    """All slots, by device."""

    def __init__(self) -> None:
        self._slots: dict[str, Slot] = {}
        self._dedicated: dict[str, str] = {}
        self._drained: tuple[DeviceDrain, ...] = ()
        # What was requested last; None if devices were drained since.
        self._closed: tuple[dict[str, str], tuple[DeviceDrain, ...]] | None = ({}, ())
        self._sets = SlotSets()
        self._failed: dict[str, list[int]] = {}  # by device: the trials that failed there since the last success
        self.slots_per_device = 1
        self.gangs: dict[int, LiveTrial] = {}  # by id: the trials whose attempts have several devices

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._slots.values())

    def __len__(self) -> int:
        """The number of slots that are up."""
        return sum(not slot.lost for slot in self)

    def open_here(self) -> int:
        """The number of slots that are up on this machine; in any thread."""
        return sum(not slot.lost and not slot.device.is_remote for slot in list(self._slots.values()))

    def __getitem__(self, device_id: str) -> Slot:
        return self._slots[device_id]

    def get(self, device_id: str) -> Slot | None:
        return self._slots.get(device_id)

    def slot_of(self, trial: LiveTrial) -> Slot | None:
        """The slot of a trial's attempt: it is on the device, or sends its files."""
        return None if trial.device_id is None else self._slots.get(trial.device_id)

    def slots_of(self, trial: LiveTrial) -> list[Slot]:
        """The slots on all devices of a trial's attempt."""
        if trial.gang is None:
            slot = self.slot_of(trial)
            return [] if slot is None else [slot]
        found = (self._slots.get(device.device_id) for device in trial.gang.devices)
        return [slot for slot in found if slot is not None and slot.trial is trial]

    def gang_on(self, device_id: str) -> LiveTrial | None:
        """The trial of several devices that has this one."""
        return next((trial for trial in self.gangs.values() if trial.gang and trial.gang.has(device_id)), None)

    def running_slots(self, trial: LiveTrial) -> list[Slot]:
        """The slots with a process of a trial's attempt."""
        gang = trial.gang
        if gang is None:
            return self.slots_of(trial)
        running = {gang.devices[rank].device_id for rank in gang.running}
        return [slot for slot in self.slots_of(trial) if slot.device.device_id in running]

    def deciding_slot(self, trial: LiveTrial) -> Slot | None:
        """The slot that the end of a trial's attempt says something about: of the rank that failed first."""
        gang = trial.gang
        return self.slot_of(trial) if gang is None else self._slots.get(gang.devices[gang.failed_rank()].device_id)

    def release(self, trial: LiveTrial) -> None:
        """A trial's attempt has ended: its devices are free."""
        for slot in self.slots_of(trial):
            slot.release(trial)
        if trial.gang is not None:
            self.gangs.pop(trial.trial_id, None)

    def drop(self, trial: LiveTrial, ends_by_s: float, folder: Path) -> None:
        """A trial's attempt no longer counts: kill it. Its devices become free when its processes have ended."""
        running = self.running_slots(trial)
        for slot in running:
            slot.drop(trial.key, ends_by_s, folder)
        self.release(trial)

    def open(self, device: Device, now_s: float) -> Slot:
        """Add a slot that came up, for the first time or again."""
        dedicated, drain_reason = self._reserved(device), self._why_drained(device.device_id, device.uuid)
        self.slots_per_device = device.slots
        before = self.get(device.device_id)
        slot = self._slots[device.device_id] = Slot(
            device, len(self._slots) if before is None else before.number, self._sets,
            dedicated=dedicated, drain_reason=drain_reason, sent_s=now_s,
        )  # fmt: skip
        self._sets.forget_available()
        self._sets.vacated.add(device.device_id)
        self._sets.to_call.add(device.device_id)
        return slot

    def close(self, dedicated: dict[str, str], drained: Iterable[DeviceDrain]) -> list[Slot]:
        """From now on exactly these devices accept no trials; returns the slots for which that changed.

        A running trial continues. The failures of a device that is returned are forgotten.
        """
        requested = (dict(dedicated), tuple(drained))
        if requested == self._closed:  # nearly always
            return []
        self._closed = requested
        before = [device_id for device_id in self._failed if self._is_drained(device_id)]
        self._dedicated, self._drained = requested
        for device_id in before:
            if not self._is_drained(device_id):
                del self._failed[device_id]
        return [
            slot
            for slot in self
            if slot.set_closed(self._reserved(slot.device), self._why_drained(slot.device.device_id, slot.device.uuid))
        ]

    def _is_drained(self, device_id: str) -> bool:
        return bool(self._why_drained(device_id, self._uuid(device_id)))

    def _why_drained(self, device_id: str, uuid: str | None) -> str:
        return next((each.reason for each in drains_of(device_id, uuid, self._drained)), "")

    def _uuid(self, device_id: str) -> str | None:
        slot = self.get(device_id)
        return None if slot is None else slot.device.uuid

    def _reserved(self, device: Device) -> str:
        """Why an ensemble reserves a device, with all its slots; "" if none does."""
        return next((why for name, why in self._dedicated.items() if shared_id(name) == device.shared_id), "")

    def record_failure(self, device_id: str, trial_id: int, reason: str) -> str | None:
        """A trial failed because of its device; returns why the device is drained, if it had too many failures."""
        failed = self._failed.setdefault(device_id, [])
        if trial_id not in failed:
            failed.append(trial_id)
        if len(failed) < FAILURES_IN_A_ROW or self._is_drained(device_id):
            return None
        why = f"{len(failed)} consecutive trials failed here, the last one with {reason}"
        self._drained = (*self._drained, DeviceDrain(device_id, self._uuid(device_id) or "", why))
        self._closed = None
        if (slot := self.get(device_id)) is not None:
            slot.set_closed(slot.dedicated, why)
        return why

    def record_success(self, device_id: str) -> None:
        """A device worked for a trial, whatever the result of the trial."""
        self._failed.pop(device_id, None)

    def available(self) -> Sequence[Slot]:
        """The slots that accept trials, now or later. Each step needs them, and they rarely change."""
        return self._sets.available(self)

    def free(self) -> list[Slot]:
        """The slots that can accept a trial now."""
        vacated = self._sets.vacated
        vacant = [slot for device_id in vacated if (slot := self._slots[device_id]).is_vacant]
        if len(vacant) < len(vacated):
            vacated.intersection_update([slot.device.device_id for slot in vacant])
        return _in_order(slot for slot in vacant if slot.available)

    def others(self, fits: Callable[[Device], bool]) -> OtherDevices:
        """Whether a trial that avoids a device has another one that accepts trials, and that `fits`."""
        available = [slot.device for slot in self.available() if fits(slot.device)]
        return OtherDevices(device=len(available) > 1, node=len({device.node for device in available}) > 1)

    def ending(self) -> frozenset[int]:
        """The trials of which an attempt that no longer counts still occupies a device: they cannot start yet."""
        return frozenset(slot.ending.trial_id for slot in self if slot.ending is not None and not slot.lost)

    def attempts(self) -> list[tuple[Slot, LiveTrial]]:
        """The attempts that count and have not ended, each with its slot: on the device, or sending files."""
        return [(slot, trial) for slot in self for trial in slot.attempts]

    def send(self, pool: SlotPool, now_s: float) -> None:
        """Acknowledge events and send commands, each slot in one call, which also requests the next events."""
        for slot in _in_order(self._slots[device_id] for device_id in self._sets.to_call):
            if not slot.lost:
                pool.send(slot.device.device_id, slot.acknowledged, slot.take_commands(now_s))
        self._sets.to_call.clear()


def _in_order(slots: Iterable[Slot]) -> list[Slot]:
    return sorted(slots, key=attrgetter("number"))
