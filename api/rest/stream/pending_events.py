"""Events that one client has not received yet, merged so that a slow client needs no more memory; api."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi.sse import ServerSentEvent
from pydantic import BaseModel

from podium.db.stores.event_outbox import TRIAL_SENDING, EventSummary
from podium.sweep.values.states import TrialState

MAX_TRIALS = 2_000  # per message; beyond that, the client reloads everything
RETRY_MS = 1_000  # delay before a browser reconnects
# These change the state of a device.
_STATE_EVENTS = frozenset(f"trial.{state.value}" for state in TrialState) | {TRIAL_SENDING}
Points = Mapping[int, Mapping[str, tuple[int, float]]]  # last step and value by trial and metric


class ChangesView(BaseModel):
    """Ids of what has changed since the previous message."""

    sweeps: list[int]
    trials: dict[int, list[int]]  # by sweep
    devices: bool
    ensembles: list[int]
    evaluations: list[int]  # ids of their ensembles
    kinds: list[str]


class LogView(BaseModel):
    """The log of the watched trial has grown."""

    trial_id: int
    attempt: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Watch:
    """What a client watches."""

    sweep_id: int | None = None
    trial_id: int | None = None
    ensemble_id: int | None = None


@dataclass(slots=True)
class Changes:
    """The subjects of several events, merged."""

    sweeps: set[int] = field(default_factory=set)
    trials: dict[int, set[int]] = field(default_factory=dict)
    ensembles: set[int] = field(default_factory=set)
    evaluations: set[int] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)

    def add(self, news: Iterable[EventSummary]) -> None:
        for one in news:
            self.kinds.add(one.kind)
            if one.sweep_id is not None:
                self.sweeps.add(one.sweep_id)
                if one.trial_id is not None:
                    self.trials.setdefault(one.sweep_id, set()).add(one.trial_id)
            if one.ensemble_id is not None:
                target = self.evaluations if one.kind.startswith("evaluation.") else self.ensembles
                target.add(one.ensemble_id)

    @property
    def too_many(self) -> bool:
        return sum(map(len, self.trials.values())) > MAX_TRIALS

    def view(self) -> ChangesView:
        return ChangesView(
            sweeps=sorted(self.sweeps),
            trials={sweep_id: sorted(ids) for sweep_id, ids in sorted(self.trials.items())},
            devices=any(kind in _STATE_EVENTS or kind.startswith(("device.", "node.")) for kind in self.kinds),
            ensembles=sorted(self.ensembles),
            evaluations=sorted(self.evaluations),
            kinds=sorted(self.kinds),
        )


class Subscription:
    """One client of the stream, with its pending messages. Used on the event loop only."""

    def __init__(self, watch: Watch, token_id: int = 0) -> None:
        self.watch = watch
        self.token_id = token_id
        self.closed = False
        self._position: int | None = None  # id of the last event that has been delivered or merged
        self._said_hello = False
        self._reset = False
        self._changes = Changes()
        self._points: dict[int, dict[str, tuple[int, float]]] = {}
        self._steps: dict[int, dict[str, int]] = {}  # of the points that were sent
        self._log: LogView | None = None
        self._last_log: LogView | None = None
        self._health: dict[str, Any] | None = None
        self._last_health: dict[str, Any] | None = None
        self._ready = asyncio.Event()

    def begin(self, position: int, *, reset: bool = False) -> None:
        """Start with the event after `position`; with `reset`, tell the client to reload everything."""
        self._position = max(position, self._position or 0)
        self._reset = self._reset or reset
        self._ready.set()

    def add_events(self, news: Iterable[EventSummary], position: int) -> None:
        """Add events up to `position`."""
        self._changes.add(news)
        if self._position is not None:
            self._position = position
        if self._changes.kinds:
            self._ready.set()

    def add_points(self, points: Points) -> None:
        """Add the last points of running trials, without those already sent."""
        self._steps = {trial_id: self._steps.get(trial_id, {}) for trial_id in points}
        for trial_id, metrics in points.items():
            steps = self._steps[trial_id]
            new = {name: point for name, point in metrics.items() if steps.get(name) != point[0]}
            if new:
                steps |= {name: step for name, (step, _) in new.items()}
                self._points.setdefault(trial_id, {}).update(new)
                self._ready.set()

    def add_log(self, log: LogView | None) -> None:
        """Add the current size of a log."""
        if log is not None and log != self._last_log:
            self._log = self._last_log = log
            self._ready.set()

    def add_health(self, health: dict[str, Any] | None) -> None:
        """Add the health of an ensemble's members."""
        if health is not None and health != self._last_health:
            self._health = self._last_health = health
            self._ready.set()

    def close(self) -> None:
        """End the stream."""
        self.closed = True
        self._ready.set()

    async def wait(self) -> None:
        """Wait for pending messages, or the end of the stream."""
        await self._ready.wait()

    def take(self) -> list[ServerSentEvent]:
        """The pending messages; none before `begin`."""
        if self._position is None:
            return []
        self._ready.clear()
        return [*self._hello_message(), *self._change_messages(), *self._other_messages()]

    def _hello_message(self) -> Iterable[ServerSentEvent]:
        """The first message has the id from which a browser resumes after a disconnect."""
        if not self._said_hello:
            self._said_hello = True
            yield ServerSentEvent(event="hello", data={}, id=str(self._position), retry=RETRY_MS)

    def _change_messages(self) -> Iterable[ServerSentEvent]:
        if self._reset or self._changes.too_many:
            yield ServerSentEvent(event="reset", data={}, id=str(self._position))
        elif self._changes.kinds:
            yield ServerSentEvent(event="changes", data=self._changes.view(), id=str(self._position))
        self._reset, self._changes = False, Changes()

    def _other_messages(self) -> Iterable[ServerSentEvent]:
        if self._points:
            yield ServerSentEvent(event="metrics", data={"points": self._points})
        if self._log is not None:
            yield ServerSentEvent(event="log", data=self._log)
        if self._health is not None:
            yield ServerSentEvent(event="health", data=self._health)
        self._points, self._log, self._health = {}, None, None
