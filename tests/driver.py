"""Drives a real slot as the scheduler does, without Ray: real processes, real sockets, an event loop run manually."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from podium.sweep.protocol.message_codec import DeviceView
from podium.sweep.protocol.scheduler_slot_messages import (
    NumberedEvents,
    SlotDescription,
    decode_events,
    encode_commands,
)
from podium.sweep.protocol.slot_commands import (
    PruneAnswer,
    SlotCommand,
    StartAttempt,
    StopAttempt,
    StudyAnswer,
    SuggestAnswer,
)
from podium.sweep.ray_cluster.ray_worker_template import WORKER_TEMPLATE
from podium.sweep.runtime.process_title import process_name
from podium.sweep.runtime.process_trees import children, descendants
from podium.sweep.slots.slot import Slot
from podium.sweep.values.attempt_assignment import Assignment, AttemptKey, Scalar
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Event, Reported, Started, StudyRequested, SuggestRequested
from tests.process_templates import TestTemplate, shared_template

DIGITS = {"model": "mlp", "data": {"name": "digits"}}


class SlotDriver:
    """One slot, its session, and the numbers of its calls and events.

    The children of the process template are the fork servers of this slot: one slot at a time.

    Args:
        folder: Of the files of attempts.
        code: The folder of the programs.
        template: The process template; None for the one that is shared, which has imported everything.
    """

    def __init__(self, folder: Path, code: Path, template: TestTemplate | None = None) -> None:
        self.code = code
        self._folder = folder
        self._runner = asyncio.Runner()
        self._trial_id = 0
        self.epoch = 1  # of the scheduler
        self._template = template or shared_template()
        self.slot = self._new_slot()
        self.open()

    @contextlib.contextmanager
    def with_options(self, **options: Any) -> Iterator[None]:
        """In this context, drive another slot, which has these options; see `Slot`."""
        own = self.slot
        self._use(self._new_slot(**options))
        try:
            yield
        finally:
            self.clear()
            self._use(own)

    def _new_slot(self, **options: Any) -> Slot:
        return Slot("cpu-0", DeviceView("", None), lambda: self._template.requests, self._folder, **options)

    def _use(self, slot: Slot) -> None:
        self._end_fork_servers()
        self.slot = slot
        self.open()

    def open(self, **options: float) -> SlotDescription:
        """Open a session; returns the description of the slot with the unacknowledged events."""
        description = SlotDescription.from_json(self.wait(self.slot.open(self.epoch, **options)))
        self.session, self.call = description.session, 0
        self.acknowledged = max((number for number, _ in description.events), default=0)
        return description

    def close(self) -> None:
        """End the fork server and its attempts."""
        self._end_fork_servers()
        self._runner.close()

    def _end_fork_servers(self) -> None:
        while self.fork_servers():
            self.kill_fork_server()  # a slot may have started another one
            self.wait(asyncio.sleep(0.01))  # the template reaps it

    def kill_fork_server(self) -> None:
        for pid in self.fork_servers():
            with contextlib.suppress(ProcessLookupError):  # the slot has killed it already
                os.kill(pid, signal.SIGKILL)

    def wait(self, awaitable: Any) -> Any:
        """Run a coroutine of the slot; its result."""

        async def awaited() -> Any:
            return await awaitable

        return self._runner.run(awaited())

    def fork_servers(self) -> list[int]:
        """The children of the template, without the one that forks workers of Ray."""
        return [pid for pid in children(self._template.process.pid) if process_name(pid) != WORKER_TEMPLATE]

    def attempt_processes(self) -> list[int]:
        """The processes of attempts, without those that wait for one."""
        below = [pid for fork_server in self.fork_servers() for pid in descendants(fork_server)]
        return [pid for pid in below if process_name(pid) not in ("", "podium-spare")]

    def wait_for_spare(self) -> None:
        """Wait until the process of the next attempt has been forked and named, if there is a fork server."""
        end_s = time.monotonic() + 10
        while (servers := self.fork_servers()) and time.monotonic() < end_s:
            if any(process_name(pid) == "podium-spare" for server in servers for pid in children(server)):
                return
            time.sleep(0.01)

    def assignment(self, program: str | dict[str, Any], **changes: Any) -> Assignment:
        """A new trial of `train:<program>`, or of a whole program; `changes` replace fields."""
        self._trial_id += 1
        values: dict[str, Any] = {
            "sweep_id": 1,
            "trial_id": self._trial_id,
            "number": 0,
            "attempt": 1,
            "params": {"x": 0.25, "act": "relu"},
            "seed": 7,
            "metric": "score",
            "program": {"function": f"train:{program}"} if isinstance(program, str) else program,
            "split": {"split": [0.7, 0.1, 0.1, 0.1], "seed": 0},
            "directory": str(self._folder / str(self._trial_id)),
            "data_cache": str(self._folder / "cache"),
            "code": str(self.code),
        }
        return Assignment(**{**values, **changes})

    def exchange(self, *commands: SlotCommand) -> list[Event]:
        """One call: commands out, events back, acknowledged in the next call."""
        return [event for _, event in self.exchange_numbered(*commands)]

    def exchange_numbered(self, *commands: SlotCommand) -> NumberedEvents:
        """One call; the events with their numbers."""
        self.call += 1
        sent = self.slot.exchange(self.session, self.call, self.acknowledged, encode_commands(commands))
        numbered = decode_events(self.wait(sent)) or ()
        self.acknowledged = max([self.acknowledged, *[number for number, _ in numbered]])
        return numbered

    def until(self, done: Callable[[Event], bool], *commands: SlotCommand) -> list[Event]:
        """All events up to the call in which `done` holds."""
        events = self.exchange(*commands)
        while not any(done(event) for event in events):
            events += self.exchange()
        return events

    def begin(self, program: str | dict[str, Any], **changes: Any) -> Assignment:
        """Start an attempt, and wait until its process is up. Raises `AssertionError` if it has ended by then."""
        assignment = self.assignment(program, **changes)
        events = self.until(lambda event: isinstance(event, Started | Ended), run(assignment))
        assert not isinstance(events[-1], Ended), events[-1]
        return assignment

    def end(self, *commands: SlotCommand) -> Ended:
        """Wait for the end of the running attempt."""
        ended = self.until(lambda event: isinstance(event, Ended), *commands)[-1]
        assert isinstance(ended, Ended)
        return ended

    def events(self, program: str | dict[str, Any], **changes: Any) -> list[Event]:
        """Run an attempt to its end; all its events."""
        return self.until(lambda event: isinstance(event, Ended), run(self.assignment(program, **changes)))

    def result(self, program: str | dict[str, Any], **changes: Any) -> Ended:
        """Run an attempt to its end; only that."""
        ended = self.events(program, **changes)[-1]
        assert isinstance(ended, Ended)
        return ended

    def clear(self) -> None:
        """Stop what a test left running."""
        found = self.open()
        for key in (found.sending, found.running):
            if key is not None:
                self.end(stop_command(key))


def run(assignment: Assignment) -> StartAttempt:
    """The command that starts an attempt."""
    return StartAttempt(assignment)


def stop_command(key: AttemptKey, cause: Cause = Cause.CANCELLED) -> StopAttempt:
    """The command that stops an attempt."""
    return StopAttempt(key, cause)


def prune_answer(event: Reported, prune: bool) -> PruneAnswer:
    """The command that tells a trial whether to prune."""
    return PruneAnswer(event.key, event.step, prune)


def suggest_answer(event: Event, value: Scalar, error: str = "") -> SuggestAnswer:
    """The command with the value of a parameter that a trial suggested."""
    assert isinstance(event, SuggestRequested)
    return SuggestAnswer(event.key, event.name, value, error)


def study_answer(event: StudyRequested, answer: dict[str, Any], error: str = "") -> StudyAnswer:
    """The command with the answer to a query of `trial.study`."""
    return StudyAnswer(event.key, event.request, answer, error)


def key_of(assignment: Assignment) -> AttemptKey:
    return assignment.key
