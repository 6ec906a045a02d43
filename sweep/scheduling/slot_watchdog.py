"""Finds stuck slots: without a heartbeat, or past the time limit of their attempt. Pure; scheduler process."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from podium.sweep.scheduling.active_sweeps import ActiveSweeps
from podium.sweep.scheduling.attempt_deadlines import longest_s
from podium.sweep.scheduling.live_slot import Slot

CHECK_S = 0.25
AWAY_S = 5.0  # after a longer time without a check, this process itself was stopped or delayed
HEARTBEAT_TIMEOUT_S = 25.0  # a slot answers at least every 10 s
REMOTE_TIMEOUT_S = 7.5  # one on another machine, every 2 s: Ray notices a silent cut of the network after a minute
SENDING_S = 600.0  # to send the files of an attempt that has left the device
FILES_S = 4200.0  # the largest time to carry the files of an attempt to another machine, and back
MARGIN_S = 15.0  # a slot enforces the time limits of its attempt; one that is this much late does not


class SlotWatchdog:
    """Checks slots, but not just after this process itself was delayed, since answers may be unread."""

    def __init__(self) -> None:
        self._checked_s = 0.0
        self._checks_from_s = 0.0

    def stuck(self, slots: Iterable[Slot], sweeps: ActiveSweeps, now_s: float) -> Iterator[tuple[Slot, str]]:
        """The slots to kill, with reasons; a slot is repeated only after another timeout."""
        away_s = now_s - self._checked_s
        if away_s < CHECK_S:
            return
        self._checked_s = now_s
        if away_s > AWAY_S:
            self._checks_from_s = now_s + AWAY_S
        if now_s < self._checks_from_s:
            return
        for slot in slots:
            if not slot.lost and (reason := _problem(slot, sweeps, now_s)):
                slot.mark_killed(now_s)
                yield slot, reason


def _problem(slot: Slot, sweeps: ActiveSweeps, now_s: float) -> str:
    # A slot that starts an attempt answers when its fork server is ready, which imports `program.preload`.
    timeout_s = REMOTE_TIMEOUT_S if slot.device.is_remote and not slot.starting else HEARTBEAT_TIMEOUT_S
    if not slot.answered and now_s - slot.sent_s > timeout_s:
        return f"has sent no heartbeat for {timeout_s:g} s"
    late = now_s > _due_to_end_s(slot, sweeps) + MARGIN_S
    return "did not enforce the time limit of its trial" if late else ""


def _due_to_end_s(slot: Slot, sweeps: ActiveSweeps) -> float:
    """The time by which an attempt of a slot must have ended according to its limits; infinity without a limit."""
    sent_s = math.inf if slot.sending is None else slot.sending_since_s + SENDING_S
    return min(sent_s, _due_to_leave_s(slot, sweeps))


def _due_to_leave_s(slot: Slot, sweeps: ActiveSweeps) -> float:
    """The same for the attempt on its device."""
    if slot.ending is not None:
        sending_s = SENDING_S if slot.device.is_remote else 0.0  # it waits for the files of an earlier one
        return slot.ends_by_s + sending_s
    if slot.trial is None:
        return math.inf
    limits = sweeps[slot.trial.sweep_id].spec.limits
    fetches = slot.device.is_remote or slot.trial.key.attempt > 1  # a checkpoint that may be in an object store
    files_s = FILES_S if fetches else 0.0
    processes = 1 if slot.trial.gang is None else slot.trial.gang.processes
    return slot.trial.placed_s + longest_s(limits, processes=processes) + files_s
