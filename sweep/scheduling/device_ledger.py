"""The device ledger: which slot is on which device, what runs there, and what to tell it next; pure, scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podium.sweep.lifecycle.scheduler_messages import Device, SlotPool, StudyRead
from podium.sweep.lifecycle.state_changes import DeviceChanged
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.values.trial import AttemptKey, Cause, Scalar, Wanted

FAILURES_IN_A_ROW = 3  # after so many different trials a device is set aside


@dataclass(slots=True)
class Slot:
    """A slot as the scheduler knows it."""

    device: Device
    lost: bool = False
    dedicated: str = ""  # why it takes no trials, where an ensemble has the device to itself
    aside: str = ""  # why it takes no trials until somebody returns it
    idle: str = ""  # why it has no trial although it could
    sent_s: float = 0.0  # when it was called last; monotonic
    ending_since_s: float = 0.0
    ending_folder: Path | None = None
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
        return not self.lost and not self.closed

    @property
    def closed(self) -> str:
        """Why it takes no trials although it is up; "" where it does."""
        return self.dedicated or (f"set aside ({self.aside})" if self.aside else "")

    def stop(self, key: AttemptKey, cause: Cause) -> None:
        """Have the attempt killed."""
        self.commands.append({"kind": "stop", "key": [key.trial_id, key.attempt], "cause": cause.value})

    def drop(self, key: AttemptKey, now_s: float) -> None:
        """Have an attempt killed that no longer counts; the device is free when the slot says that it ended."""
        self.trial = None
        self.ending, self.ending_since_s = key, now_s
        self.stop(key, Cause.CANCELLED)

    def answer(self, key: AttemptKey, step: int, prune: bool) -> None:
        """Tell the trial whether to give up at `step`."""
        self.commands.append({"kind": "answer", "key": [key.trial_id, key.attempt], "step": step, "prune": prune})

    def suggest(self, wanted: Wanted, value: Scalar, error: str) -> None:
        """Tell the trial what was chosen for a parameter that it wants, or why nothing was."""
        key = [wanted.key.trial_id, wanted.key.attempt]
        self.commands.append({"kind": "suggested", "key": key, "name": wanted.name, "value": value, "error": error})

    def answer_study(self, read: StudyRead) -> None:
        """Tell the trial what it asked of its study."""
        key = [read.asked.key.trial_id, read.asked.key.attempt]
        said = {"request": read.asked.request, "answer": read.answer, "error": read.error}
        self.commands.append({"kind": "study", "key": key, **said})

    def shown(self, at: float) -> DeviceChanged:
        """The device of a slot that is not lost, as the database should show it."""
        if self.dedicated:
            return self.changed("dedicated", self.dedicated, at)
        return self.changed("set aside", self.aside, at) if self.aside else self.changed("ready", self.idle, at)

    def changed(self, state: str, reason: str, at: float) -> DeviceChanged:
        """The device as the database should show it."""
        d = self.device
        return DeviceChanged(d.device_id, d.kind, d.position, d.node, d.visible, d.uuid, d.slot_pid, state, reason, at)


class Ledger:
    """All slots, by device."""

    def __init__(self) -> None:
        self._slots: dict[str, Slot] = {}
        self._dedicated: dict[str, str] = {}
        self._aside: dict[str, str] = {}
        self._failed: dict[str, list[int]] = {}  # by device: the trials that it failed since one went well there

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
        dedicated, aside = self._dedicated.get(device.device_id, ""), self._aside.get(device.device_id, "")
        slot = self._slots[device.device_id] = Slot(device, dedicated=dedicated, aside=aside)
        return slot

    def close(self, dedicated: dict[str, str], aside: dict[str, str]) -> list[Slot]:
        """From now on these devices take no trials, and why; all others do. Returns the slots for which it is new.

        A trial that runs goes on to its end. A device that is taken back starts with a clean account.
        """
        for device_id in self._aside.keys() - aside.keys():
            self._failed.pop(device_id, None)
        self._dedicated, self._aside = dict(dedicated), dict(aside)
        changed = []
        for slot in self:
            closed = dedicated.get(slot.device.device_id, ""), aside.get(slot.device.device_id, "")
            if (slot.dedicated, slot.aside) != closed:
                slot.dedicated, slot.aside = closed
                changed.append(slot)
        return changed

    def blame(self, device_id: str, trial_id: int, reason: str) -> str | None:
        """A device failed a trial that is not to blame; why it is set aside, if that was one too many."""
        failed = self._failed.setdefault(device_id, [])
        if trial_id not in failed:
            failed.append(trial_id)
        if len(failed) < FAILURES_IN_A_ROW or device_id in self._aside:
            return None
        why = self._aside[device_id] = f"{len(failed)} trials in a row failed here, the last one so: {reason}"
        if (slot := self.get(device_id)) is not None:
            slot.aside = why
        return why

    def praise(self, device_id: str) -> None:
        """A device did its part for a trial, whatever became of that."""
        self._failed.pop(device_id, None)

    def open_to_trials(self) -> list[Slot]:
        """The slots on which trials run, now or later."""
        return [slot for slot in self if slot.open_to_trials]

    def free(self) -> list[Slot]:
        """The slots that can take a trial now."""
        return [slot for slot in self if slot.free]

    def busy(self) -> list[Slot]:
        """The slots with a trial that counts."""
        return [slot for slot in self if slot.trial is not None]

    def send(self, pool: SlotPool, now_s: float) -> None:
        """Acknowledge and command, each slot in one call; asks for news at the same time."""
        for slot in self:
            if not slot.lost and (slot.answered or slot.commands):
                commands, slot.commands, slot.answered, slot.sent_s = slot.commands, [], False, now_s
                pool.send(slot.device.device_id, slot.acknowledged, commands)
