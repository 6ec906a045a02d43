"""What the scheduler wants written: plain values that the recorder turns into one transaction; scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sweep.trial import AttemptKey, Cause, Ended, Params, Saved, Started, SweepState, TrialState


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


@dataclass(frozen=True, slots=True)
class TrialDropped:
    """A trial that never started, and never will."""

    trial_id: int
    sweep_id: int
    number: int
    at: float


@dataclass(frozen=True, slots=True)
class SweepChanged:
    """A new state of a sweep, or only a new reason for it."""

    sweep_id: int
    state: SweepState
    reason: str
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


Change = (
    TrialPlanned
    | AttemptPlaced
    | AttemptStarted
    | MetricPoint
    | SearchNotes
    | ArtifactSaved
    | AttemptEnded
    | TrialDropped
    | SweepChanged
    | DeviceChanged
)

# What a client was promised must survive a power failure; curves and notes only a crash.
DURABLE: tuple[type, ...] = (
    TrialPlanned,
    AttemptPlaced,
    ArtifactSaved,
    AttemptEnded,
    TrialDropped,
    SweepChanged,
    DeviceChanged,
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


@dataclass(frozen=True, slots=True)
class StoredSweep:
    """A sweep as the scheduler finds it in the database; `spec` is JSON."""

    sweep_id: int
    state: SweepState
    spec: str
    created_at: float
    trials: tuple[StoredTrial, ...]
