"""The actions that the scheduler decides on, for other threads to execute. Pure; scheduler process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from podium.sweep.lifecycle.pending_commands import Enqueued
from podium.sweep.lifecycle.scheduler_interfaces import ASK_DEADLINE_S, SearchInputs
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.slot_events import StudyRequested, SuggestRequested
from podium.sweep.values.states import TrialState


@dataclass(frozen=True, slots=True)
class OpenSearch:
    """Open the search of a sweep; `load` reads its inputs outside the loop."""

    sweep_id: int
    generation: int
    load: Callable[[], SearchInputs]


@dataclass(frozen=True, slots=True)
class CloseSearch:
    """Close the search of a sweep."""

    sweep_id: int


@dataclass(frozen=True, slots=True)
class AskTrial:
    """Ask the search for the next trial, or for one with the values of an enqueued configuration."""

    sweep_id: int
    enqueued: Enqueued | None = None
    deadline_s: float = ASK_DEADLINE_S


@dataclass(frozen=True, slots=True)
class RetryTrial:
    """Tell the search that an ended trial runs again."""

    sweep_id: int
    number: int


@dataclass(frozen=True, slots=True)
class ReportValue:
    """Pass a reported value to the pruner."""

    sweep_id: int
    number: int
    key: AttemptKey
    step: int
    value: float


@dataclass(frozen=True, slots=True)
class SuggestValue:
    """Request a value of a parameter that is not in the sweep file, for a trial."""

    sweep_id: int
    number: int
    request: SuggestRequested


@dataclass(frozen=True, slots=True)
class TellTrial:
    """Tell the search how a trial ended."""

    sweep_id: int
    number: int
    state: TrialState
    values: Sequence[float] | None = None
    infeasible: bool = False
    constraints: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadStudy:
    """Answer a trial that reads its study."""

    sweep_id: int
    request: StudyRequested


@dataclass(frozen=True, slots=True)
class CleanUpAttempt:
    """Remove the temporary files of an attempt whose slot is gone."""

    folder: Path


@dataclass(frozen=True, slots=True)
class ApplyRetention:
    """Remove what a sweep does not keep, once the changes of this step are committed."""

    sweep_id: int


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """Read the database again as soon as the changes of this step are committed: they let another sweep start."""


SearchAction = CloseSearch | AskTrial | RetryTrial | ReportValue | SuggestValue | TellTrial
Action = OpenSearch | SearchAction | ReadStudy | CleanUpAttempt | ApplyRetention | ReadAgain
