"""The attempt on a slot now, and its clocks: monotonic, and running while the scheduler is away; slot."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from podium.sweep.slots.trial_log import LogPipe
from podium.sweep.slots.trial_protocol import Noted
from podium.sweep.values.attempt_outcomes import ChildReport, Chosen, Kill
from podium.sweep.values.objective_reduction import ReportedValues
from podium.sweep.values.trial import Assignment, AttemptKey, Cause
from podium.sweep.values.trial_attributes import Notes


@dataclass(slots=True)
class Running:
    """One attempt, from the request for its process until nothing of it is left."""

    assignment: Assignment
    connection: socket.socket
    log: LogPipe
    oom_kills: int | None  # that the kernel had done before
    forked_at: float = field(default_factory=time.time)
    begun_s: float = field(default_factory=time.monotonic)
    last_sign_s: float = field(default_factory=time.monotonic)
    started: bool = False
    unheard: bool = False  # what it says waits here, so its silence is not its own
    pid: int | None = None
    report: ChildReport | None = None
    notes: Notes = field(default_factory=Notes)
    kill: Kill | None = None
    killed_at_s: float | None = None
    exited: dict[str, Any] | None = None
    unsent: deque[bytes] = field(default_factory=deque)  # answers on their way to the process, oldest first
    sending: asyncio.Task[None] | None = None  # sends them
    chosen: Chosen | None = None  # as the process says
    ends_since_s: float | None = None  # when it said that it ends with that
    reported: ReportedValues = field(init=False)

    def __post_init__(self) -> None:
        self.reported = ReportedValues(self.assignment.objectives, self.assignment.objective)

    def choose(self, chosen: Chosen) -> None:
        """The process has said what its value is, and, once and for all, that it ends with it."""
        if self.chosen is None or not self.chosen.reason:
            self.chosen = chosen
            self.ends_since_s = time.monotonic() if chosen.reason else None

    @property
    def value_so_far(self) -> Chosen:
        """As the process said last; else by the reports that were heard, which leave out points of long curves."""
        return self.chosen or Chosen(self.reported.values)

    @property
    def key(self) -> AttemptKey:
        return AttemptKey(self.assignment.trial_id, self.assignment.attempt)

    def note(self, noted: Noted) -> None:
        """Keep what the process noted of itself, until the end. Raises `BadReportError` for what is none."""
        for name, value in noted.constraints.items():
            self.notes.set_constraint(name, value)
        for name, value in noted.user_attrs.items():
            self.notes.set_user_attr(name, value)

    def deadline(self) -> tuple[float, Cause] | None:
        """When the next clock runs out, and what that means; once asked to end, when its grace is over."""
        limits = self.assignment.limits
        if self.kill is not None and self.killed_at_s is not None:
            return self.killed_at_s + limits.grace_s, self.kill.cause
        clocks: list[tuple[float, Cause]] = []
        if self.ends_since_s is not None:
            clocks.append((self.ends_since_s + limits.grace_s, Cause.TIMEOUT))
        if not self.started and limits.start_s is not None:
            clocks.append((self.begun_s + limits.start_s, Cause.START_TIMEOUT))
        if limits.trial_s is not None:
            clocks.append((self.begun_s + limits.trial_s, Cause.TIMEOUT))
        if self.started and not self.unheard and limits.silence_s is not None:
            clocks.append((self.last_sign_s + limits.silence_s, Cause.STALLED))
        return min(clocks, key=lambda clock: clock[0]) if clocks else None
