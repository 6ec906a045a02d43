"""The stored sweeps and trials that the scheduler reads, as plain values; scheduler process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.device import GangDevice
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import SweepState, TrialState
from podium.sweep.values.sweep_wait_reason import Wait


@dataclass(frozen=True, slots=True)
class IntervalResult:
    """How an interval of training ended."""

    attempt: int  # which has its checkpoint
    nonce: str  # of the folder of the attempt
    step: int
    value: float


@dataclass(frozen=True, slots=True)
class StoredInterval:
    """An interval of a trial of a population: what it starts from, and how it ended."""

    number: int  # from 1
    params: Params
    first_attempt: int
    donor_id: int | None = None  # the trial whose checkpoint it starts from; None: its own, or none
    donor_interval: int | None = None
    result: IntervalResult | None = None  # None: it has not ended
    has_checkpoint: bool = True  # it can be continued; not after the end of its sweep, which may be resumed later


@dataclass(frozen=True, slots=True)
class StoredRank:
    """A device of an attempt that has several and has not ended, and how its rank ended."""

    device: GangDevice
    ended: Ended | None = None


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial as it is in the database when the scheduler reads its sweep."""

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
    forgiven: int = 0  # failures of attempts up to this one do not count
    ended_at: float | None = None
    last_cause: Cause | None = None  # of the last attempt that failed, forgiven or not
    last_message: str = ""  # and its message
    placed_at: float | None = None  # of an attempt that has not ended: when it was placed
    seen_at: float | None = None  # and its last heartbeat
    values: tuple[float, ...] | None = None  # one per objective; the first is `value`
    constraints: dict[str, float] = field(default_factory=dict)  # above 0 is violated
    distributions: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # of parameters that the sweep file does not name
    placed_on: str | None = None  # of an attempt that has not ended: its device
    nonce: str = ""  # and the nonce of its folder
    device_s: float | None = None  # and its device-seconds, if it has left its device and sends its files
    intervals: tuple[StoredInterval, ...] = ()  # of a population, by number
    ranks: tuple[StoredRank, ...] = ()  # and its devices, if it has several

    def __post_init__(self) -> None:
        if self.values is None and self.value is not None:
            object.__setattr__(self, "values", (self.value,))


@dataclass(frozen=True, slots=True)
class EarlierTrial:
    """A finished or pruned trial of an earlier sweep, used for a warm start."""

    trial_id: int
    state: TrialState
    params: Params
    values: tuple[float, ...] | None = None
    last_report: tuple[int, float] | None = None  # step and value, of a pruned one
    constraints: dict[str, float] = field(default_factory=dict)
    distributions: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # of parameters that its sweep file does not name


@dataclass(frozen=True, slots=True)
class StoredSweep:
    """A sweep as the scheduler reads it from the database; `spec` is JSON."""

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
    over_s: float = 0.0  # seconds between its ends and its continuations
    device_s: float = 0.0  # of attempts that have left their devices
    earlier: tuple[EarlierTrial, ...] = ()  # used for the warm start of its search, and for nothing else
    warnings: dict[str, str] = field(default_factory=dict)  # messages by code
    wait: Wait | None = None
