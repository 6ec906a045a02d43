"""A slot as the scheduler knows it: its attempt, and the commands to send next. Pure; scheduler process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from podium.sweep.lifecycle.database_changes import DeviceChanged
from podium.sweep.lifecycle.scheduler_inbox_messages import StudyAnswered
from podium.sweep.protocol.slot_commands import (
    PruneAnswer,
    SlotCommand,
    StartAttempt,
    StopAttempt,
    StudyAnswer,
    SuggestAnswer,
)
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.spec.trial_limits import MAX_GRACE_S
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey, Scalar
from podium.sweep.values.device import Device
from podium.sweep.values.device_state import DeviceState, check_device_transition, device_state
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Event, SuggestRequested


@dataclass(slots=True)
class SlotSets:
    """Sets of the slots of one ledger. The slots update them, so that a step need not search all slots."""

    vacated: set[str] = field(default_factory=set)  # devices without an attempt, and some that have one again
    to_call: set[str] = field(default_factory=set)  # devices whose slots have answered the last call, or have commands
    _available: list[Slot] | None = None  # those that accept trials, now or later; None: to be found again

    def available(self, slots: Iterable[Slot]) -> Sequence[Slot]:
        """Those of all `slots` that accept trials, now or later."""
        if self._available is None:
            self._available = [slot for slot in slots if slot.available]
        return self._available

    def forget_available(self) -> None:
        """Discard the list: a slot may have started or stopped accepting trials."""
        self._available = None


@dataclass(slots=True)
class Slot:
    """A slot as the scheduler knows it. Only its own methods change it; they also update the sets of its ledger."""

    device: Device
    number: int = 0  # its position in the ledger
    sets: SlotSets = field(default_factory=SlotSets)
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
        self.sets.to_call.add(self.device.device_id)
        new: list[Event] = []
        for number, event in numbered:
            if number > self.acknowledged:
                self.acknowledged = number
                new.append(event)
        return new

    def lose(self) -> None:
        """The slot's process is gone."""
        self.lost = True
        self.sets.forget_available()

    def leave(self, reason: str) -> None:
        """It accepts no trials from now on."""
        self.leaving = reason
        self.sets.forget_available()

    @property
    def is_releasable(self) -> bool:
        """Whether nothing needs it now: neither a trial nor an ensemble."""
        used = self.attempts or self.ending is not None or self.commands
        return not (self.lost or self.dedicated or used)

    def finish_ending(self) -> None:
        """The attempt that no longer counts has ended."""
        self.ending = None
        self.sets.vacated.add(self.device.device_id)

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
        self.sets.vacated.add(self.device.device_id)

    def release(self, trial: LiveTrial) -> None:
        """An attempt has ended."""
        if self.sending is trial:
            self.sending = None
        elif self.trial is trial:
            self.trial = None
            self.sets.vacated.add(self.device.device_id)

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
        self.sets.to_call.add(self.device.device_id)

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
        self.sets.forget_available()
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
