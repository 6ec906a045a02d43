"""The messages in the scheduler's inbox, and the ports through which it acts. Scheduler process."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from podium.sweep.lifecycle.database_changes import Change, Enqueued, PendingCommands, StoredSweep
from podium.sweep.protocol.slot_commands import SlotCommand
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.search_messages import PastTrial, PruneVerdict, TrialPlan
from podium.sweep.values.trial import AttemptKey, Cause, Event, Scalar, StudyRequested, SuggestRequested, TrialState

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
    """A slot is ready; `running` and `events`: its attempt and the unacknowledged events of an earlier session."""

    device: Device
    running: AttemptKey | None = None
    events: tuple[tuple[int, Event], ...] = ()


@dataclass(frozen=True, slots=True)
class SlotEvents:
    """Events of one slot, in order, each with its number; none if the message is only a heartbeat."""

    device_id: str
    events: tuple[tuple[int, Event], ...]


@dataclass(frozen=True, slots=True)
class SlotLost:
    """A slot is gone, with its attempt; the pool opens a new one."""

    device_id: str
    reason: str
    cause: Cause = Cause.INFRASTRUCTURE


@dataclass(frozen=True, slots=True)
class TrialProposed:
    """The search proposes the next trial, or is exhausted."""

    sweep_id: int
    planned: TrialPlan | None
    took_s: float
    enqueued_id: int | None = None  # the enqueued configuration, if the ask was for one
    search_generation: int = 0  # of the search; messages of a closed search are ignored


@dataclass(frozen=True, slots=True)
class PruneDecision:
    """The pruner's decision on a report."""

    sweep_id: int
    number: int
    key: AttemptKey
    step: int
    verdict: PruneVerdict
    search_generation: int = 0


@dataclass(frozen=True, slots=True)
class ValueSuggested:
    """A value of a parameter that is not in the sweep file, or the reason why there is none."""

    sweep_id: int
    request: SuggestRequested
    value: Scalar = None
    error: str = ""
    search_generation: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)  # to store with the trial, if changed


@dataclass(frozen=True, slots=True)
class StudyAnswered:
    """The answer to a query of `trial.study`, or the reason why there is none."""

    request: StudyRequested
    answer: dict[str, Any]
    error: str = ""


@dataclass(frozen=True, slots=True)
class SearchFailed:
    """The search of a sweep raised; the sweep cannot continue."""

    sweep_id: int
    reason: str
    search_generation: int = 0


@dataclass(frozen=True, slots=True)
class Wake:
    """The database may have changed: a client submitted or cancelled a sweep, for example."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The service is stopping."""


Message = (
    SlotOpened
    | SlotEvents
    | SlotLost
    | TrialProposed
    | PruneDecision
    | ValueSuggested
    | StudyAnswered
    | SearchFailed
    | Wake
    | Stop
)
Inbox = queue.SimpleQueue[Message]


class SlotPool(Protocol):
    """The slots. Calls never block: answers go to the inbox."""

    def send(self, device_id: str, acknowledged: int, commands: Sequence[SlotCommand]) -> None:
        """Acknowledge events up to a number, send commands, and request the next events."""
        ...

    def kill(self, device_id: str) -> None:
        """Kill a stuck slot: it is lost, and a new one is opened."""
        ...


class Searcher(Protocol):
    """The search of one sweep. Requests are processed in order, outside the loop; answers go to the inbox."""

    def ask(self, enqueued: Enqueued | None = None, deadline_s: float = ASK_DEADLINE_S) -> None:
        """Request a trial. A sampler that has not proposed one after `deadline_s` is replaced by a random sample."""
        ...

    def retry(self, number: int) -> None: ...

    def report(self, number: int, key: AttemptKey, step: int, value: float) -> None: ...

    def suggest(self, number: int, request: SuggestRequested) -> None: ...

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
    """The inputs of the search of a sweep."""

    spec: SweepSpec
    past: Sequence[PastTrial] = ()  # the trials of the sweep so far
    earlier: Sequence[PastTrial] = ()  # trials of other sweeps


class Searchers(Protocol):
    """Opens the searcher of a sweep; `search_generation` is part of each of its messages.

    `load` reads the inputs of the search. Reading and building are slow for many trials, and happen outside the loop,
    before the first request.
    """

    def open(self, sweep_id: int, search_generation: int, load: Callable[[], SearchInputs]) -> Searcher: ...


class Recorder(Protocol):
    """Writes changes, and reads sweeps and what clients request."""

    def commit(self, changes: Sequence[Change]) -> None:
        """Write all changes, in order, or raise `DatabaseError` and write nothing.

        Raises `FencedError` if another scheduler has taken over.
        """
        ...

    def open_sweeps(self, known: frozenset[int]) -> list[StoredSweep]:
        """Every sweep with work left that is not in `known`, with its trials.

        Unfinished sweeps, finished ones with unfinished trials, and those that a client has resumed.
        """
        ...

    def pending_commands(self, known: frozenset[int]) -> PendingCommands:
        """The pending commands for the sweeps in `known`, their trials, and devices."""
        ...

    def last_trial_id(self) -> int:
        """The highest trial id in use; 0 if there is none."""
        ...
