"""What the scheduler wants written: plain values that the recorder turns into one transaction; scheduler."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from podium.sweep.values.trial import (
    AttemptKey,
    Cause,
    Ended,
    Params,
    Saved,
    Scalar,
    Started,
    SweepState,
    TrialRequest,
    TrialState,
)
from podium.sweep.values.warning_checks import WarningCode


@dataclass(frozen=True, slots=True)
class TrialPlanned:
    """A new trial, waiting for a slot."""

    trial_id: int
    sweep_id: int
    number: int
    params: Params
    sampler: str
    attributes: dict[str, Any]
    at: float
    enqueued_id: int | None = None  # the configuration that a client added, if it is one
    distributions: dict[str, dict[str, Any]] = field(default_factory=dict)  # of what the sweep file does not name


@dataclass(frozen=True, slots=True)
class AttemptPlaced:
    """A trial goes to a slot, as its next attempt."""

    key: AttemptKey
    sweep_id: int
    number: int
    device_id: str
    node: str
    at: float


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """The process of an attempt is up and saw its device."""

    event: Started


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One value of one metric; the first one at a step stays."""

    key: AttemptKey
    name: str
    step: int
    value: float
    at: float


@dataclass(frozen=True, slots=True)
class SearchNotes:
    """What sampler or pruner noted on a trial, in place of what is there."""

    trial_id: int
    attributes: dict[str, Any]  # all of them, not only the changed ones


@dataclass(frozen=True, slots=True)
class ParamDefined:
    """A trial has a parameter that the sweep file does not name; `distribution` is as a sweep file writes one."""

    trial_id: int
    name: str
    value: Scalar
    distribution: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ArtifactSaved:
    """A file of an attempt is whole and to be kept."""

    event: Saved


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """An attempt is over; `state` is what becomes of its trial: over too, or waiting for another attempt."""

    event: Ended
    sweep_id: int
    number: int
    state: TrialState
    device_s: float = 0.0  # how long it held its device
    objectives: tuple[str, ...] = ()  # the metrics that the event's values are of, where there are several


@dataclass(frozen=True, slots=True)
class TrialDropped:
    """A trial that never started, and never will."""

    trial_id: int
    sweep_id: int
    number: int
    at: float


@dataclass(frozen=True, slots=True)
class TrialRetried:
    """A trial that had failed, or was cancelled, waits again; its failures so far count no more."""

    trial_id: int
    sweep_id: int
    number: int
    at: float


@dataclass(frozen=True, slots=True)
class RequestMoot:
    """What a client wanted of a trial has no object any more: it ended by itself, say."""

    trial_id: int


@dataclass(frozen=True, slots=True)
class SweepChanged:
    """A new state of a sweep, or only a new reason for it, unless a client has changed it meanwhile."""

    sweep_id: int
    was: SweepState
    state: SweepState
    reason: str
    at: float
    # What ends it was decided by: a client who has extended it meanwhile wants it to go on.
    run_cap: int | None = None
    terms: str | None = None


@dataclass(frozen=True, slots=True)
class SweepWarned:
    """A sweep warns of something, or, with an empty message, no longer does."""

    sweep_id: int
    code: WarningCode
    message: str
    at: float


@dataclass(frozen=True, slots=True)
class DeviceChanged:
    """A device of the ledger as it is now."""

    device_id: str
    kind: str
    position: int
    node: str
    visible: str
    uuid: str | None
    slot_pid: int | None
    state: str
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class DeviceSetAside:
    """A device takes no trials until somebody returns it."""

    device_id: str
    reason: str
    at: float


Change = (
    TrialPlanned
    | AttemptPlaced
    | AttemptStarted
    | MetricPoint
    | SearchNotes
    | ParamDefined
    | ArtifactSaved
    | AttemptEnded
    | TrialDropped
    | TrialRetried
    | RequestMoot
    | SweepChanged
    | SweepWarned
    | DeviceChanged
    | DeviceSetAside
)

# What a client was promised must survive a power failure; curves and notes only a crash.
DURABLE: tuple[type, ...] = (
    TrialPlanned,
    AttemptPlaced,
    ArtifactSaved,
    AttemptEnded,
    TrialDropped,
    TrialRetried,
    SweepChanged,
    DeviceChanged,
    DeviceSetAside,
)


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial as the scheduler finds it in the database when it starts."""

    trial_id: int
    number: int
    state: TrialState
    params: Params
    value: float | None
    attempt: int
    sampler: str
    attributes: dict[str, Any]
    reports: dict[int, float]
    causes: tuple[Cause, ...]  # of its failed attempts, oldest first
    forgiven: int = 0  # failures of attempts up to this one no longer count
    ended_at: float | None = None
    last_cause: Cause | None = None  # of the last attempt that failed, forgiven or not
    last_message: str = ""  # and its message
    placed_at: float | None = None  # of an attempt that has not ended: when it got its device
    seen_at: float | None = None  # and when something was last heard of it
    values: tuple[float, ...] | None = None  # one for each objective; the first is `value`
    constraints: dict[str, float] = field(default_factory=dict)  # above 0 is violated
    distributions: dict[str, dict[str, Any]] = field(default_factory=dict)  # of what the sweep file does not name

    def __post_init__(self) -> None:
        if self.values is None and self.value is not None:
            object.__setattr__(self, "values", (self.value,))


@dataclass(frozen=True, slots=True)
class EarlierTrial:
    """A trial of an earlier sweep, finished or pruned, that a search starts from."""

    trial_id: int
    state: TrialState
    params: Params
    values: tuple[float, ...] | None = None
    last_report: tuple[int, float] | None = None  # step and value, of a pruned one
    constraints: dict[str, float] = field(default_factory=dict)
    distributions: dict[str, dict[str, Any]] = field(default_factory=dict)  # of what its sweep file does not name


@dataclass(frozen=True, slots=True)
class StoredSweep:
    """A sweep as the scheduler finds it in the database; `spec` is JSON."""

    sweep_id: int
    state: SweepState
    spec: str
    created_at: float
    trials: tuple[StoredTrial, ...]
    reason: str = ""
    run_cap: int | None = None  # None: as in the spec
    priority: float | None = None
    terms: str | None = None  # JSON, see `podium.sweep.lifecycle.budget_usage`
    started_at: float | None = None  # when its first trial did
    ended_at: float | None = None
    over_s: float = 0.0  # how long it was over before it went on
    device_s: float = 0.0  # of the attempts that have ended
    earlier: tuple[EarlierTrial, ...] = ()  # that its search starts from; they count nowhere
    warnings: dict[str, str] = field(default_factory=dict)  # messages by code


@dataclass(frozen=True, slots=True)
class SweepWish:
    """What clients made of a sweep that the scheduler knows."""

    state: SweepState
    reason: str
    run_cap: int
    priority: float
    terms: str


@dataclass(frozen=True, slots=True)
class TrialWish:
    """What a client wants done with a trial, and the trial as it is stored."""

    sweep_id: int
    request: TrialRequest
    trial: StoredTrial
    cancelled: bool = False  # its sweep is


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A configuration that a client added to a sweep, and that is no trial yet."""

    enqueued_id: int
    sweep_id: int
    params: Params
    distributions: dict[str, dict[str, Any]] = field(default_factory=dict)  # of what the sweep file does not name


@dataclass(frozen=True, slots=True)
class Wishes:
    """All that clients and ensembles want of the scheduler now."""

    sweeps: dict[int, SweepWish] = field(default_factory=dict)
    trials: tuple[TrialWish, ...] = ()
    enqueued: tuple[Enqueued, ...] = ()
    dedicated: dict[str, str] = field(default_factory=dict)  # devices that ensembles have to themselves, and why
    aside: dict[str, str] = field(default_factory=dict)  # devices that take no trials until returned, and why
