"""Drives a real slot as the scheduler does, without Ray: real processes, real sockets, an event loop held by hand."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from podium.sweep.runtime.process_trees import children
from podium.sweep.slots.slot import DeviceView, Slot
from podium.sweep.values.trial import (
    Assignment,
    AttemptKey,
    Cause,
    Ended,
    Event,
    Reported,
    Scalar,
    Started,
    StudyAsked,
    Wanted,
    event_from_dict,
)

_PR_SET_CHILD_SUBREAPER = 36
DIGITS = {"model": "mlp", "data": {"name": "digits"}}


class SlotDriver:
    """One slot, its session, and the numbers of its calls and events.

    A slot kills whatever its process has forked, and this process is the tests' own: one slot at a time.
    """

    def __init__(self, folder: Path, code: Path) -> None:
        self.code = code
        self._folder = folder
        self._runner = asyncio.Runner()
        self._trial_id = 0
        self.slot = Slot("cpu-0", DeviceView("", None))
        self.open()

    def open(self) -> dict[str, Any]:
        """What the slot says of itself, with the events it remembers, to a new session."""
        about: dict[str, Any] = json.loads(self.wait(self.slot.open()))
        self.session, self.call = about["session"], 0
        self.acknowledged = max((number for number, _ in about["events"]), default=0)
        return about

    def close(self) -> None:
        """End the fork server, and what it runs."""
        self.kill_fork_server()
        while self.fork_servers():
            self.wait(asyncio.sleep(0.01))  # the slot reaps it
        self._runner.close()
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)  # the tests' process adopts nobody any more

    def kill_fork_server(self) -> None:
        for pid in self.fork_servers():
            os.kill(pid, signal.SIGKILL)

    def wait(self, awaitable: Any) -> Any:
        """The result of something the slot does."""

        async def awaited() -> Any:
            return await awaitable

        return self._runner.run(awaited())

    def fork_servers(self) -> list[int]:
        return children(os.getpid())

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

    def exchange(self, *commands: dict[str, Any]) -> list[Event]:
        """One call: commands out, events back, acknowledged in the next call."""
        self.call += 1
        sent = self.slot.exchange(self.session, self.call, self.acknowledged, json.dumps(commands).encode())
        numbered = json.loads(self.wait(sent)) or []
        self.acknowledged = max([self.acknowledged, *[number for number, _ in numbered]])
        return [event_from_dict(event) for _, event in numbered]

    def until(self, done: Callable[[Event], bool], *commands: dict[str, Any]) -> list[Event]:
        """Everything that the slot says up to the call in which `done` is met."""
        events = self.exchange(*commands)
        while not any(done(event) for event in events):
            events += self.exchange()
        return events

    def begin(self, program: str | dict[str, Any], **changes: Any) -> Assignment:
        """Start an attempt, and wait until its process is up."""
        assignment = self.assignment(program, **changes)
        self.until(lambda event: isinstance(event, Started), run(assignment))
        return assignment

    def end(self, *commands: dict[str, Any]) -> Ended:
        """Wait for the end of what runs."""
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
        about = self.open()
        if about["running"] is not None:
            self.end(stop(AttemptKey(*about["running"])))


def run(assignment: Assignment) -> dict[str, Any]:
    """The command that starts an attempt."""
    return {"kind": "run", "assignment": assignment.to_dict()}


def stop(key: AttemptKey, cause: Cause = Cause.CANCELLED) -> dict[str, Any]:
    """The command that ends one."""
    return {"kind": "stop", "key": [key.trial_id, key.attempt], "cause": cause.value}


def answer(event: Reported, prune: bool) -> dict[str, Any]:
    """The command that tells a trial whether to give up."""
    return {"kind": "answer", "key": [event.key.trial_id, event.key.attempt], "step": event.step, "prune": prune}


def suggested(event: Event, value: Scalar, error: str = "") -> dict[str, Any]:
    """The command that tells a trial what was chosen for a parameter that it wants."""
    assert isinstance(event, Wanted)
    key = [event.key.trial_id, event.key.attempt]
    return {"kind": "suggested", "key": key, "name": event.name, "value": value, "error": error}


def study_answer(event: StudyAsked, answer: dict[str, Any], error: str = "") -> dict[str, Any]:
    """The command that tells a trial what it asked of its study."""
    key = [event.key.trial_id, event.key.attempt]
    return {"kind": "study", "key": key, "request": event.request, "answer": answer, "error": error}


def key_of(assignment: Assignment) -> AttemptKey:
    return AttemptKey(assignment.trial_id, assignment.attempt)
