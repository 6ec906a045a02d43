"""The device ledger: which slot is on which device, what runs there, and what to tell it next; pure, scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sweep.changes import DeviceChanged
from sweep.live import LiveTrial
from sweep.messages import Device, SlotPool
from sweep.trial import AttemptKey, Cause


@dataclass(slots=True)
class Slot:
    """A slot as the scheduler knows it."""

    device: Device
    lost: bool = False
    dedicated: str = ""  # why it takes no trials, where an ensemble has the device to itself
    trial: LiveTrial | None = None
    ending: AttemptKey | None = None  # an attempt that no longer counts, but still holds the device
    acknowledged: int = 0
    answered: bool = True  # whether it waits for our next call
    commands: list[dict[str, Any]] = field(default_factory=list)

    @property
    def free(self) -> bool:
        return self.open_to_trials and self.trial is None and self.ending is None

    @property
    def open_to_trials(self) -> bool:
        """Whether trials run here, now or later."""
        return not self.lost and not self.dedicated

    def stop(self, key: AttemptKey, cause: Cause) -> None:
        """Have the attempt killed."""
        self.commands.append({"kind": "stop", "key": [key.trial_id, key.attempt], "cause": cause.value})

    def drop(self, key: AttemptKey) -> None:
        """Have an attempt killed that no longer counts; the device is free when the slot says that it ended."""
        self.trial = None
        self.ending = key
        self.stop(key, Cause.CANCELLED)

    def answer(self, key: AttemptKey, step: int, prune: bool) -> None:
        """Tell the trial whether to give up at `step`."""
        self.commands.append({"kind": "answer", "key": [key.trial_id, key.attempt], "step": step, "prune": prune})

    def shown(self, at: float) -> DeviceChanged:
        """The device of a slot that is not lost, as the database should show it."""
        return self.changed("dedicated" if self.dedicated else "ready", self.dedicated, at)

    def changed(self, state: str, reason: str, at: float) -> DeviceChanged:
        """The device as the database should show it."""
        d = self.device
        return DeviceChanged(d.device_id, d.kind, d.position, d.node, d.visible, d.uuid, d.slot_pid, state, reason, at)


class Ledger:
    """All slots, by device."""

    def __init__(self) -> None:
        self._slots: dict[str, Slot] = {}
        self._dedicated: dict[str, str] = {}

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._slots.values())

    def __len__(self) -> int:
        """How many slots can work."""
        return sum(not slot.lost for slot in self)

    def __getitem__(self, device_id: str) -> Slot:
        return self._slots[device_id]

    def get(self, device_id: str) -> Slot | None:
        return self._slots.get(device_id)

    def open(self, device: Device) -> Slot:
        """A slot that came up, for the first time or again."""
        dedicated = self._dedicated.get(device.device_id, "")
        slot = self._slots[device.device_id] = Slot(device, dedicated=dedicated)
        return slot

    def dedicate(self, devices: dict[str, str]) -> list[Slot]:
        """From now on these devices take no trials, and why; all others do. Returns the slots for which it is new.

        A trial that runs goes on to its end.
        """
        self._dedicated = dict(devices)
        changed = [slot for slot in self if slot.dedicated != devices.get(slot.device.device_id, "")]
        for slot in changed:
            slot.dedicated = devices.get(slot.device.device_id, "")
        return changed

    def open_to_trials(self) -> list[Slot]:
        """The slots on which trials run, now or later."""
        return [slot for slot in self if slot.open_to_trials]

    def free(self) -> list[Slot]:
        """The slots that can take a trial now."""
        return [slot for slot in self if slot.free]

    def busy(self) -> list[Slot]:
        """The slots with a trial that counts."""
        return [slot for slot in self if slot.trial is not None]

    def send(self, pool: SlotPool) -> None:
        """Acknowledge and command, each slot in one call; asks for news at the same time."""
        for slot in self:
            if not slot.lost and (slot.answered or slot.commands):
                commands, slot.commands, slot.answered = slot.commands, [], False
                pool.send(slot.device.device_id, slot.acknowledged, commands)
