"""The attempt that a slot runs, and its time limits, which hold while the scheduler is away; slot."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import deque
from dataclasses import dataclass, field

from podium.sweep.protocol.fork_server_messages import AttemptExited
from podium.sweep.protocol.trial_messages import AttrsReported, FinalUsage, Heartbeat, parse_from_trial
from podium.sweep.slots.attempt_log import LogPipe
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey
from podium.sweep.values.attempt_outcomes import Kill, ReducedResult, ReportedOutcome
from podium.sweep.values.constraints_and_user_attributes import TrialAttributes
from podium.sweep.values.errors import BadReportError
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.objective_reduction import ReportedValues
from podium.sweep.values.slot_events import Event, Logged, Reported, Saved, Started, StoreOpened
from podium.sweep.values.states import TrialState


@dataclass(slots=True)
class RunningAttempt:
    """One attempt, from the request for its process until its process tree is gone. `*_s` are monotonic."""

    assignment: Assignment
    connection: socket.socket
    log: LogPipe
    oom_kills: int | None  # the kernel's count before the attempt
    forked_at: float = field(default_factory=time.time)
    forked_s: float = field(default_factory=time.monotonic)
    last_message_s: float = field(default_factory=time.monotonic)
    started: bool = False
    started_s: float | None = None
    store_port: int = 0  # of rank 0: where the ranks meet
    reading_paused: bool = False  # its messages wait in the socket, so its silence is not its own
    pid: int | None = None
    outcome: ReportedOutcome | None = None
    attrs: TrialAttributes = field(default_factory=TrialAttributes)
    kill: Kill | None = None
    killed_s: float | None = None
    exited: AttemptExited | None = None
    final_usage: FinalUsage | None = None
    unsent: deque[bytes] = field(default_factory=deque)  # answers to the process, oldest first
    answering: asyncio.Task[None] | None = None  # sends `unsent`
    value: ReducedResult | None = None  # as the process reported it
    ending_since_s: float | None = None  # when the process reported that it ends with this value
    transfer: asyncio.Task[None] | None = None  # of its files to the head, after its end
    saved: dict[str, Saved] = field(default_factory=dict)  # by name: files that the head does not have yet
    reported: ReportedValues = field(init=False)

    def __post_init__(self) -> None:
        self.reported = ReportedValues(self.assignment.objectives, self.assignment.objective)

    @property
    def key(self) -> AttemptKey:
        return self.assignment.key

    @property
    def current_value(self) -> ReducedResult:
        """The value that the process reported last; else the one by its reports, which omit points of long curves."""
        return self.value or ReducedResult(self.reported.values)

    def set_value(self, value: ReducedResult) -> None:
        """The process reported its value. One with a reason is final: later ones have no effect."""
        if self.value is None or not self.value.reason:
            self.value = value
            self.ending_since_s = time.monotonic() if value.reason else None

    def add_attrs(self, reported: AttrsReported) -> None:
        """Keep constraints and user attributes until the end. Raises `BadReportError` for invalid ones."""
        for name, value in reported.constraints.items():
            self.attrs.set_constraint(name, value)
        for name, value in reported.user_attrs.items():
            self.attrs.set_user_attr(name, value)

    def receive(self, line: bytes) -> Event | None:
        """Record a message of the process; returns the event to report, if any. An invalid one is its outcome."""
        try:
            message = parse_from_trial(line, self.key)
            if isinstance(message, AttrsReported):
                self.add_attrs(message)
                return None
        except (ValueError, BadReportError) as error:
            message_text = f"invalid message: {error}"
            self.outcome = ReportedOutcome(TrialState.FAILED, cause=Cause.BAD_REPORT, message=message_text)
            return None
        if isinstance(message, Heartbeat):
            return None
        if isinstance(message, FinalUsage):
            self.final_usage = message
            return None
        if isinstance(message, ReportedOutcome):
            self._set_outcome(message)
            return None
        if isinstance(message, ReducedResult):
            self.set_value(message)
            return None
        if isinstance(message, Started):
            self.started, self.started_s = True, time.monotonic()
        elif isinstance(message, StoreOpened):
            self.store_port = message.port
        elif isinstance(message, Reported):
            self.reported.record(message.step, {self.assignment.metric: message.value})
        elif isinstance(message, Logged):
            self.reported.record(message.step, message.values)
        return message

    def _set_outcome(self, outcome: ReportedOutcome) -> None:
        """A trial can only wait for its next interval if it trains in intervals."""
        if outcome.state is TrialState.WAITING and (self.assignment.interval is None or outcome.step is None):
            message = "invalid message: the end of an interval, of a trial without intervals"
            outcome = ReportedOutcome(TrialState.FAILED, cause=Cause.BAD_REPORT, message=message)
        self.outcome = outcome

    def deadline(self) -> tuple[float, Cause] | None:
        """When the next time limit is reached, and its cause; after a stop, the end of the grace period."""
        limits = self.assignment.limits
        if self.kill is not None and self.killed_s is not None:
            return self.killed_s + limits.grace_s, self.kill.cause
        deadlines: list[tuple[float, Cause]] = []
        if self.ending_since_s is not None:
            deadlines.append((self.ending_since_s + limits.grace_s, Cause.TIMEOUT))
        if not self.started and limits.start_s is not None:
            deadlines.append((self.forked_s + limits.start_s, Cause.START_TIMEOUT))
        if limits.trial_s is not None:
            deadlines.append((self.forked_s + limits.trial_s, Cause.TIMEOUT))
        if self.started and not self.reading_paused and limits.silence_s is not None:
            deadlines.append((self.last_message_s + limits.silence_s, Cause.STALLED))
        return min(deadlines, key=lambda deadline: deadline[0]) if deadlines else None
