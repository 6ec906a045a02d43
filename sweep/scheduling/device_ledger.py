"""The device ledger: the slot on each device, its attempt, and the commands to send next. Pure; scheduler process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from podium.sweep.lifecycle.database_changes import DeviceChanged
from podium.sweep.lifecycle.scheduler_inbox_messages import StudyAnswered
from podium.sweep.lifecycle.scheduler_interfaces import SlotPool
from podium.sweep.protocol.slot_commands import (
    PruneAnswer,
    SlotCommand,
    StartAttempt,
    StopAttempt,
    StudyAnswer,
    SuggestAnswer,
)
from podium.sweep.scheduling.live_trial import LiveTrial, OtherDevices
from podium.sweep.spec.trial_limits import MAX_GRACE_S
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey, Scalar
from podium.sweep.values.device import Device, shared_id
from podium.sweep.values.device_state import DeviceState, check_device_transition, device_state
from podium.sweep.values.drained_devices import DeviceDrain, drains_of
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Event, SuggestRequested

FAILURES_IN_A_ROW = 3  # of different trials; then a device is drained


@dataclass(slots=True)
class Slot:
    """A slot as the scheduler knows it. Only its own methods change it.

    They also add its device to two sets of the ledger, so that a step need not ask every slot.
    """

    device: Device
    number: int = 0  # its position in the ledger
    vacated: set[str] = field(default_factory=set)  # devices whose attempts have left them
    to_call: set[str] = field(default_factory=set)  # devices whose slots have answered the last call, or have commands
    lost: bool = False
    dedicated: str = ""  # why it accepts no trials, if an ensemble reserves the device
    drain_reason: str = ""  # why it accepts no trials until an operator returns it
    leaving: str = ""  # why it accepts no trials until it is released: its node is about to be removed
    idle: str = ""  # why it has no trial although it is available
    sent_s: float = 0.0  # time of the last call; monotonic
    trial: LiveTrial | None = None  # on the device
    sending: LiveTrial | None = None  # its attempt has left the device, and its files are being sent
    sending_since_s: float = 0.0
    ending: AttemptKey | None = None  # an attempt that no longer counts but still occupies the device
    ends_by_s: float = 0.0  # when that has ended at the latest; monotonic
    ending_folder: Path | None = None
    acknowledged: int = 0
    answered: bool = True  # whether it has answered the last call
    starting: bool = False  # whether that call starts an attempt
    commands: list[SlotCommand] = field(default_factory=list)

    @property
    def state(self) -> DeviceState:
        """The state of its device."""
        return device_state(
            lost=self.lost,
            dedicated=bool(self.dedicated),
            drained=bool(self.drain_reason or self.leaving),
            running=self.trial is not None or self.ending is not None,
        )

    @property
    def free(self) -> bool:
        """Whether it can take a trial now: its device is ready."""
        return self.is_vacant and self.available

    @property
    def is_vacant(self) -> bool:
        """Whether no attempt is on its device."""
        return self.trial is None and self.ending is None

    @property
    def available(self) -> bool:
        """Whether it takes trials, now or later: its device is ready or busy."""
        return not (self.lost or self.dedicated or self.drain_reason or self.leaving)

    @property
    def closed(self) -> str:
        """Why it accepts no trials although it works, or ""."""
        why = self.drain_reason or self.leaving
        return self.dedicated or (f"drained ({why})" if why else "")

    # Reports of the slot.

    def receive(self, numbered: Iterable[tuple[int, Event]]) -> list[Event]:
        """The slot answered; returns the new events. The others were resent because they were not acknowledged."""
        self.answered = True
        self.to_call.add(self.device.device_id)
        new: list[Event] = []
        for number, event in numbered:
            if number > self.acknowledged:
                self.acknowledged = number
                new.append(event)
        return new

    def lose(self) -> None:
        """The slot's process is gone."""
        self.lost = True

    def leave(self, reason: str) -> None:
        """It accepts no trials from now on."""
        self.leaving = reason

    @property
    def is_releasable(self) -> bool:
        """Whether nothing needs it now: neither a trial nor an ensemble."""
        used = self.attempts or self.ending is not None or self.commands
        return not (self.lost or self.dedicated or used)

    def finish_ending(self) -> None:
        """The attempt that no longer counts has ended."""
        self.ending = None
        self.vacated.add(self.device.device_id)

    # The attempt.

    def run(self, trial: LiveTrial, assignment: Assignment) -> None:
        """Run an attempt. Raises `IllegalTransitionError` if its device accepts no trials."""
        check_device_transition(self.state, DeviceState.BUSY)
        self.trial = trial
        self._command(StartAttempt(assignment))

    @property
    def attempts(self) -> list[LiveTrial]:
        """The trials whose attempts have not ended: on the device, and sending files."""
        return [trial for trial in (self.trial, self.sending) if trial is not None]

    def adopt(self, trial: LiveTrial, now_s: float) -> None:
        """The slot was found with the trial's current attempt."""
        self.trial = trial
        if trial.device_s is not None:
            self.release_device(now_s)

    def release_device(self, now_s: float) -> None:
        """Its attempt has left the device, and sends its files."""
        self.trial, self.sending, self.sending_since_s = None, self.trial, now_s
        self.vacated.add(self.device.device_id)

    def release(self, trial: LiveTrial) -> None:
        """An attempt has ended."""
        if self.sending is trial:
            self.sending = None
        elif self.trial is trial:
            self.trial = None
            self.vacated.add(self.device.device_id)

    def hold(self, trial: LiveTrial) -> None:
        """Reserve the device for an attempt on several devices. Raises `IllegalTransitionError`."""
        check_device_transition(self.state, DeviceState.BUSY)
        self.trial = trial

    def hold_again(self, trial: LiveTrial) -> None:
        """Hold the device for an attempt that has it already, also if it accepts no more trials."""
        if self.trial is None and self.ending is None and not self.lost:
            self.trial = trial

    def run_rank(self, assignment: Assignment) -> None:
        """Start a rank of the attempt that holds the device."""
        self._command(StartAttempt(assignment))

    def stop(self, key: AttemptKey, cause: Cause, *, at_once: bool = False, message: str = "") -> None:
        """Kill the attempt; without a grace period if `at_once`."""
        self._command(StopAttempt(key, cause, at_once, message))

    def drop(self, key: AttemptKey, ends_by_s: float, folder: Path | None = None) -> None:
        """Kill an attempt that no longer counts; the device becomes free when the slot reports its end."""
        self.stop(key, Cause.CANCELLED)
        if self.sending is not None and self.sending.key == key:
            self.sending = None  # it holds no device
            return
        self.trial = None
        self.ending, self.ends_by_s = key, ends_by_s
        if folder is not None:
            self.ending_folder = folder

    @property
    def is_unsent(self) -> bool:
        """Whether the command to run its attempt was not sent yet."""
        return any(isinstance(command, StartAttempt) for command in self.commands)

    # Answers to its trial.

    def answer(self, key: AttemptKey, step: int, prune: bool) -> None:
        """Tell the trial whether it is pruned at `step`."""
        self._command(PruneAnswer(key, step, prune))

    def suggest(self, request: SuggestRequested, value: Scalar, error: str) -> None:
        """Send the trial the value of a requested parameter, or the reason why there is none."""
        self._command(SuggestAnswer(request.key, request.name, value, error))

    def answer_study(self, read: StudyAnswered) -> None:
        """Send the trial the answer to its query of the study."""
        self._command(StudyAnswer(read.request.key, read.request.request, read.answer, read.error))

    # Calls.

    def _command(self, command: SlotCommand) -> None:
        self.commands.append(command)
        self.to_call.add(self.device.device_id)

    def mark_killed(self, now_s: float) -> None:
        """The slot is being killed: the watchdog waits before it reports the slot again."""
        self.sent_s, self.ends_by_s = now_s, now_s + MAX_GRACE_S

    def take_commands(self, now_s: float) -> list[SlotCommand]:
        """The commands to send now."""
        self.starting = self.is_unsent or (self.starting and not self.answered)
        commands, self.commands, self.answered, self.sent_s = self.commands, [], False, now_s
        return commands

    # Its device in the database.

    def set_idle(self, reason: str) -> bool:
        """Set why it has no trial; returns whether that changed."""
        changed, self.idle = reason != self.idle, reason
        return changed

    def set_closed(self, dedicated: str, drain_reason: str) -> bool:
        """Set why it accepts no trials; returns whether that changed."""
        changed = (self.dedicated, self.drain_reason) != (dedicated, drain_reason)
        self.dedicated, self.drain_reason = dedicated, drain_reason
        return changed

    def device_change(self, at: float) -> DeviceChanged:
        """The device of a slot that is not lost, as the database must show it."""
        drained = self.drain_reason or self.leaving
        state = device_state(lost=False, dedicated=bool(self.dedicated), drained=bool(drained))
        reason = {DeviceState.DEDICATED: self.dedicated, DeviceState.DRAINED: drained}.get(state, self.idle)
        return self.device_change_to(state, reason, at)

    def device_change_to(self, state: DeviceState, reason: str, at: float) -> DeviceChanged:
        """The device in a given state."""
        d = self.device
        return DeviceChanged(d.device_id, d.kind, d.position, d.node, d.visible, d.uuid, d.slot_pid, state, reason, at)


class DeviceLedger:
    """All slots, by device."""

    def __init__(self) -> None:
        self._slots: dict[str, Slot] = {}
        self._dedicated: dict[str, str] = {}
        self._drained: tuple[DeviceDrain, ...] = ()
        # What was requested last; None if devices were drained since.
        self._closed: tuple[dict[str, str], tuple[DeviceDrain, ...]] | None = ({}, ())
        self._available: list[Slot] | None = []  # None: to be found again
        self._vacated: set[str] = set()  # the devices without an attempt, and some that have one again
        self._to_call: set[str] = set()
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
            device, len(self._slots) if before is None else before.number, self._vacated, self._to_call,
            dedicated=dedicated, drain_reason=drain_reason, sent_s=now_s,
        )  # fmt: skip
        self._available = None
        self._vacated.add(device.device_id)
        self._to_call.add(device.device_id)
        return slot

    def lose(self, slot: Slot) -> None:
        """A slot's process is gone."""
        slot.lose()
        self._available = None

    def leave(self, slot: Slot, reason: str) -> None:
        """A slot accepts no trials from now on."""
        slot.leave(reason)
        self._available = None

    def close(self, dedicated: dict[str, str], drained: Iterable[DeviceDrain]) -> list[Slot]:
        """From now on exactly these devices accept no trials; returns the slots for which that changed.

        A running trial continues. The failures of a device that is returned are forgotten.
        """
        requested = (dict(dedicated), tuple(drained))
        if requested == self._closed:  # nearly always
            return []
        self._closed, self._available = requested, None
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
        self._closed = self._available = None
        if (slot := self.get(device_id)) is not None:
            slot.set_closed(slot.dedicated, why)
        return why

    def record_success(self, device_id: str) -> None:
        """A device worked for a trial, whatever the result of the trial."""
        self._failed.pop(device_id, None)

    def available(self) -> Sequence[Slot]:
        """The slots that accept trials, now or later. Each step needs them, and they rarely change."""
        if self._available is None:
            self._available = [slot for slot in self if slot.available]
        return self._available

    def free(self) -> list[Slot]:
        """The slots that can accept a trial now."""
        vacant = [slot for device_id in self._vacated if (slot := self._slots[device_id]).is_vacant]
        if len(vacant) < len(self._vacated):
            self._vacated.intersection_update([slot.device.device_id for slot in vacant])
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
        for slot in _in_order(self._slots[device_id] for device_id in self._to_call):
            if not slot.lost:
                pool.send(slot.device.device_id, slot.acknowledged, slot.take_commands(now_s))
        self._to_call.clear()


def _in_order(slots: Iterable[Slot]) -> list[Slot]:
    return sorted(slots, key=attrgetter("number"))
