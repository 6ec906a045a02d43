"""What one page has not been told yet, merged while it waits: a slow reader costs no more than a quick one; api."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi.sse import ServerSentEvent
from pydantic import BaseModel

from podium.db.stores.events import News
from podium.sweep.values.trial import TrialState

MAX_TRIALS = 2_000  # named in one message; of more, the page looks at everything again
RETRY_MS = 1_000  # after which a browser asks again when the stream broke off
_MOVES = frozenset(f"trial.{state.value}" for state in TrialState)  # these change what a device does
Points = Mapping[int, Mapping[str, tuple[int, float]]]  # by trial and metric: its last step and value there


class ChangesView(BaseModel):
    """What has changed since the message before: ids to look at again."""

    sweeps: list[int]
    trials: dict[int, list[int]]  # by sweep
    devices: bool
    ensembles: list[int]
    evaluations: list[int]  # ids of their ensembles
    kinds: list[str]


class LogView(BaseModel):
    """The log of the trial that is looked at has grown."""

    trial_id: int
    attempt: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Watch:
    """What a page looks at now."""

    sweep_id: int | None = None
    trial_id: int | None = None
    ensemble_id: int | None = None


@dataclass(slots=True)
class Changes:
    """What events were about, merged."""

    sweeps: set[int] = field(default_factory=set)
    trials: dict[int, set[int]] = field(default_factory=dict)
    ensembles: set[int] = field(default_factory=set)
    evaluations: set[int] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)

    def add(self, news: Iterable[News]) -> None:
        for one in news:
            self.kinds.add(one.kind)
            if one.sweep_id is not None:
                self.sweeps.add(one.sweep_id)
                if one.trial_id is not None:
                    self.trials.setdefault(one.sweep_id, set()).add(one.trial_id)
            if one.ensemble_id is not None:
                about = self.evaluations if one.kind.startswith("evaluation.") else self.ensembles
                about.add(one.ensemble_id)

    @property
    def too_many(self) -> bool:
        return sum(map(len, self.trials.values())) > MAX_TRIALS

    def view(self) -> ChangesView:
        return ChangesView(
            sweeps=sorted(self.sweeps),
            trials={sweep_id: sorted(ids) for sweep_id, ids in sorted(self.trials.items())},
            devices=any(kind in _MOVES or kind.startswith("device.") for kind in self.kinds),
            ensembles=sorted(self.ensembles),
            evaluations=sorted(self.evaluations),
            kinds=sorted(self.kinds),
        )


class Subscription:
    """One page that follows: what it is to be told next. Lives on the event loop alone."""

    def __init__(self, watch: Watch, token_id: int = 0) -> None:
        self.watch = watch
        self.token_id = token_id
        self.closed = False
        self._told: int | None = None  # the event up to which it knows everything
        self._greeted = False
        self._reset = False
        self._changes = Changes()
        self._points: dict[int, dict[str, tuple[int, float]]] = {}
        self._steps: dict[int, dict[str, int]] = {}  # of the points that it was told
        self._log: LogView | None = None
        self._last_log: LogView | None = None
        self._health: dict[str, Any] | None = None
        self._last_health: dict[str, Any] | None = None
        self._news = asyncio.Event()

    def begin(self, position: int, *, reset: bool = False) -> None:
        """From this event on it is told what happens; with `reset`, it is told to look at everything again."""
        self._told = max(position, self._told or 0)
        self._reset = self._reset or reset
        self._news.set()

    def hear(self, news: Iterable[News], position: int) -> None:
        """Events have come, up to `position`."""
        self._changes.add(news)
        if self._told is not None:
            self._told = position
        if self._changes.kinds:
            self._news.set()

    def hear_points(self, points: Points) -> None:
        """The last points of running trials; only those that are new count."""
        self._steps = {trial_id: self._steps.get(trial_id, {}) for trial_id in points}
        for trial_id, metrics in points.items():
            steps = self._steps[trial_id]
            new = {name: point for name, point in metrics.items() if steps.get(name) != point[0]}
            if new:
                steps |= {name: step for name, (step, _) in new.items()}
                self._points.setdefault(trial_id, {}).update(new)
                self._news.set()

    def hear_log(self, log: LogView | None) -> None:
        """How large a log is by now."""
        if log is not None and log != self._last_log:
            self._log = self._last_log = log
            self._news.set()

    def hear_health(self, health: dict[str, Any] | None) -> None:
        """How the members of an ensemble do."""
        if health is not None and health != self._last_health:
            self._health = self._last_health = health
            self._news.set()

    def close(self) -> None:
        """The stream ends."""
        self.closed = True
        self._news.set()

    async def wait(self) -> None:
        """Until there is something to tell, or the stream is to end."""
        await self._news.wait()

    def take(self) -> list[ServerSentEvent]:
        """What there is to tell; nothing before it has begun."""
        if self._told is None:
            return []
        self._news.clear()
        return [*self._greeting(), *self._about_changes(), *self._about_the_rest()]

    def _greeting(self) -> Iterable[ServerSentEvent]:
        """The first message is there for its id: from there a browser goes on after a break."""
        if not self._greeted:
            self._greeted = True
            yield ServerSentEvent(event="hello", data={}, id=str(self._told), retry=RETRY_MS)

    def _about_changes(self) -> Iterable[ServerSentEvent]:
        if self._reset or self._changes.too_many:
            yield ServerSentEvent(event="reset", data={}, id=str(self._told))
        elif self._changes.kinds:
            yield ServerSentEvent(event="changes", data=self._changes.view(), id=str(self._told))
        self._reset, self._changes = False, Changes()

    def _about_the_rest(self) -> Iterable[ServerSentEvent]:
        if self._points:
            yield ServerSentEvent(event="metrics", data={"points": self._points})
        if self._log is not None:
            yield ServerSentEvent(event="log", data=self._log)
        if self._health is not None:
            yield ServerSentEvent(event="health", data=self._health)
        self._points, self._log, self._health = {}, None, None
