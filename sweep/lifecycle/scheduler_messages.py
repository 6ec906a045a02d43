"""What reaches the scheduler's inbox, and the two ports it acts through; scheduler and its tests."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from podium.sweep.lifecycle.state_changes import Change, Enqueued, StoredSweep, Wishes
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.trial import AttemptKey, Cause, Event, Scalar, StudyAsked, TrialState, Wanted
from podium.sweep.values.trial_history import PastTrial, Planned, Verdict

ASK_DEADLINE_S = 2.0


@dataclass(frozen=True, slots=True)
class Device:
    """One device and the slot on it."""

    device_id: str  # `cpu-0`, `gpu-3`; also the slot's name
    kind: str  # "cpu" or "gpu"
    position: int
    node: str
    visible: str  # CUDA_VISIBLE_DEVICES of its processes
    uuid: str | None
    slot_pid: int


@dataclass(frozen=True, slots=True)
class SlotOpened:
    """A slot is warm; `running` and `events` are what it was on, and remembers, from before we looked."""

    device: Device
    running: AttemptKey | None = None
    events: tuple[tuple[int, Event], ...] = ()


@dataclass(frozen=True, slots=True)
class SlotNews:
    """Events of one slot, in order, each with its number; none when it only showed that it lives."""

    device_id: str
    events: tuple[tuple[int, Event], ...]


@dataclass(frozen=True, slots=True)
class SlotLost:
    """A slot is gone, and its attempt with it; the pool is opening a new one."""

    device_id: str
    reason: str
    cause: Cause = Cause.INFRASTRUCTURE


@dataclass(frozen=True, slots=True)
class Asked:
    """The search chose the next trial, or has none left."""

    sweep_id: int
    planned: Planned | None
    took_s: float
    enqueued_id: int | None = None  # the configuration that a client added, where that was asked for
    taken: int = 0  # which search of the sweep says so: one that was closed may still speak


@dataclass(frozen=True, slots=True)
class Judged:
    """The search judged a report."""

    sweep_id: int
    number: int
    key: AttemptKey
    step: int
    verdict: Verdict
    taken: int = 0


@dataclass(frozen=True, slots=True)
class Suggested:
    """The search chose a value for a parameter that the sweep file does not name, or refuses to, and why."""

    sweep_id: int
    wanted: Wanted
    value: Scalar = None
    error: str = ""
    taken: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)  # what is to be kept with the trial, if that changed


@dataclass(frozen=True, slots=True)
class StudyRead:
    """What a trial asked through `trial.study`, or why there is no answer."""

    asked: StudyAsked
    answer: dict[str, Any]
    error: str = ""


@dataclass(frozen=True, slots=True)
class SearchFailed:
    """The search of a sweep raised; the sweep cannot go on."""

    sweep_id: int
    reason: str
    taken: int = 0


@dataclass(frozen=True, slots=True)
class Wake:
    """The database may hold news: a sweep submitted, or cancelled."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The service is stopping."""


Message = SlotOpened | SlotNews | SlotLost | Asked | Judged | Suggested | StudyRead | SearchFailed | Wake | Stop
Inbox = queue.SimpleQueue[Message]


class SlotPool(Protocol):
    """The slots, wherever they are. Never blocks: what comes back goes to the inbox."""

    def send(self, device_id: str, acknowledged: int, commands: Sequence[dict[str, Any]]) -> None:
        """Acknowledge events up to a number, hand over commands, and ask for the next events."""
        ...

    def kill(self, device_id: str) -> None:
        """End a slot that does not answer, or does not end what it runs; it is lost, and a new one opened."""
        ...


class Searcher(Protocol):
    """The search of one sweep, in order, outside the loop: answers go to the inbox."""

    def ask(self, enqueued: Enqueued | None = None, deadline_s: float = ASK_DEADLINE_S) -> None:
        """`deadline_s`: a sampler that has not chosen by then is passed over, and the trial drawn at random."""
        ...

    def retry(self, number: int) -> None: ...

    def report(self, number: int, key: AttemptKey, step: int, value: float) -> None: ...

    def suggest(self, number: int, wanted: Wanted) -> None: ...

    def tell(
        self,
        number: int,
        state: TrialState,
        values: Sequence[float] | None,
        *,
        infeasible: bool = False,
        constraints: Mapping[str, float] | None = None,
    ) -> None: ...

    def close(self) -> None: ...


class SearchInputs(NamedTuple):
    """What the search of a sweep is built from."""

    spec: SweepSpec
    past: Sequence[PastTrial] = ()  # the trials of the sweep so far
    earlier: Sequence[PastTrial] = ()  # trials of other sweeps that it learns from


class Searchers(Protocol):
    """Opens the searcher of a sweep; `taken` is part of each of its messages.

    `load` reads the inputs of the search. Reading and building take long where there are many trials, so both happen
    outside the loop, before the first request.
    """

    def open(self, sweep_id: int, taken: int, load: Callable[[], SearchInputs]) -> Searcher: ...


class Recorder(Protocol):
    """Writes what changed and reads what there is."""

    def commit(self, changes: Sequence[Change]) -> None:
        """Write all of it, in order, or raise `DatabaseError` and write nothing.

        Raises `FencedError` when another scheduler has taken over.
        """
        ...

    def open_sweeps(self, known: frozenset[int]) -> list[StoredSweep]:
        """Every sweep not in `known` with something to do, with its trials.

        Those that are not over; those that are, and have trials that are not, or that a client wants to go on.
        """
        ...

    def wishes(self, known: frozenset[int]) -> Wishes:
        """What clients want of the sweeps in `known` and of the devices."""
        ...

    def last_trial_id(self) -> int:
        """The highest trial id in use; 0 when there is none."""
        ...
