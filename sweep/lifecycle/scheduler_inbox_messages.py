"""The messages in the scheduler's inbox, from slots, searches and the study thread; scheduler process."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from podium.sweep.values.attempt_assignment import AttemptKey, Scalar
from podium.sweep.values.device import Device
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.search_messages import PruneVerdict, TrialPlan
from podium.sweep.values.slot_events import Event, StudyRequested, SuggestRequested


@dataclass(frozen=True, slots=True)
class SlotOpened:
    """A slot is ready; `running`, `sending` and `events`: its attempts and the unacknowledged events of an earlier
    session. `folders`: the names of the folders of its last attempts.
    """

    device: Device
    running: AttemptKey | None = None  # it holds the device
    events: tuple[tuple[int, Event], ...] = ()
    sending: AttemptKey | None = None  # it has left the device, and sends its files
    folders: tuple[tuple[AttemptKey, str], ...] = ()


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
class SlotLeaving:
    """A slot gets no more trials: its node is about to be removed."""

    device_id: str
    reason: str


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
    | SlotLeaving
    | TrialProposed
    | PruneDecision
    | ValueSuggested
    | StudyAnswered
    | SearchFailed
    | Wake
    | Stop
)
Inbox = queue.SimpleQueue[Message]
