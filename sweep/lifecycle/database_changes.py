"""The changes that the scheduler records in the database, as plain values; scheduler process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from podium.sweep.lifecycle.dependent_sweep_release import FixedValues
from podium.sweep.values.attempt_assignment import AttemptKey, Params, Scalar
from podium.sweep.values.device import GangDevice
from podium.sweep.values.device_state import DeviceState
from podium.sweep.values.running_sweep_warnings import WarningCode
from podium.sweep.values.search_messages import FallbackReason
from podium.sweep.values.slot_events import Ended, Sampled, Saved, Started
from podium.sweep.values.states import SweepState, TrialState
from podium.sweep.values.sweep_wait_reason import Wait


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
    enqueued_id: int | None = None  # the enqueued configuration, if it is one
    distributions: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # of parameters that the sweep file does not name
    fallback_reason: FallbackReason | None = None  # if it was sampled at random instead of by the method
    fallback_error: str | None = None
    proposed_for: int | None = None  # the earlier trial that its parameters were proposed for


@dataclass(frozen=True, slots=True)
class AttemptPlaced:
    """A trial goes to a slot, as its next attempt."""

    key: AttemptKey
    sweep_id: int
    number: int
    device_id: str
    node: str
    at: float
    nonce: str  # of its folder
    devices: tuple[GangDevice, ...] = ()  # all of them, in the order of ranks, if it has several
    width: float = 1.0  # the number of devices; below 1: it shares one


@dataclass(frozen=True, slots=True)
class IntervalStarted:
    """A trial of a population begins an interval; `params` are its parameters from now on."""

    trial_id: int
    sweep_id: int
    interval: int
    params: Params
    first_attempt: int
    at: float
    donor_id: int | None = None
    donor_interval: int | None = None


@dataclass(frozen=True, slots=True)
class IntervalEnded:
    """A trial of a population has ended an interval, with a checkpoint in this attempt."""

    key: AttemptKey
    sweep_id: int
    interval: int
    step: int
    value: float
    at: float


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """The process of an attempt is running and has found its device."""

    event: Started


@dataclass(frozen=True, slots=True)
class RankEnded:
    """A rank of an attempt on several devices has ended; the attempt ends when all have."""

    key: AttemptKey
    rank: int
    event: Ended


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """A value of a metric, also NaN or infinite; the first value of an attempt at a step is kept."""

    key: AttemptKey
    name: str
    step: int
    value: float
    at: float


@dataclass(frozen=True, slots=True)
class UsageSampled:
    """What an attempt, or one of its ranks, used."""

    event: Sampled


@dataclass(frozen=True, slots=True)
class SearchAttributesChanged:
    """The attributes that sampler and pruner set on a trial; they replace the stored ones."""

    trial_id: int
    attributes: dict[str, Any]  # all attributes, not only the changed ones


@dataclass(frozen=True, slots=True)
class ParamDefined:
    """A trial has a parameter that the sweep file does not name; `distribution` has the form of the sweep file."""

    trial_id: int
    name: str
    value: Scalar
    distribution: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ArtifactSaved:
    """An attempt has saved a file completely."""

    event: Saved


@dataclass(frozen=True, slots=True)
class AttemptReleased:
    """An attempt has left its device, and sends its files; its end follows."""

    key: AttemptKey
    sweep_id: int
    number: int
    device_s: float  # device-seconds that it used
    at: float


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """An attempt has ended; `state` is the new state of its trial, which either ends as well or waits for the next
    attempt.
    """

    event: Ended
    sweep_id: int
    number: int
    state: TrialState
    device_s: float = 0.0  # device-seconds that it used
    objectives: tuple[str, ...] = ()  # the names of the event's values, if there are several


@dataclass(frozen=True, slots=True)
class TrialDropped:
    """A waiting trial never starts."""

    trial_id: int
    sweep_id: int
    number: int
    at: float


@dataclass(frozen=True, slots=True)
class TrialRetried:
    """A failed or cancelled trial waits again; its failures so far no longer count."""

    trial_id: int
    sweep_id: int
    number: int
    at: float


@dataclass(frozen=True, slots=True)
class RequestObsolete:
    """A client's request for a trial no longer applies, for example because the trial has ended."""

    trial_id: int


@dataclass(frozen=True, slots=True)
class SweepChanged:
    """A new state of a sweep, a new reason or a new wait, unless a client has changed the sweep in the meantime."""

    sweep_id: int
    old_state: SweepState
    state: SweepState
    reason: str
    at: float
    # The limits on which a stop was based: if a client has extended them in the meantime, the sweep continues.
    run_cap: int | None = None
    terms: str | None = None
    wait: Wait | None = None  # why it waits, in addition to the reason of its state


@dataclass(frozen=True, slots=True)
class SweepReleased:
    """A sweep no longer waits for its predecessors; `fixed`: the values that `fix_from` took."""

    sweep_id: int
    fixed: FixedValues | None
    at: float
    by_client: bool = False  # although not all predecessors finished


@dataclass(frozen=True, slots=True)
class SweepWarned:
    """A warning of a sweep is set, or withdrawn with an empty message."""

    sweep_id: int
    code: WarningCode
    message: str
    at: float


@dataclass(frozen=True, slots=True)
class DeviceChanged:
    """The current state of a device."""

    device_id: str
    kind: str
    position: int
    node: str
    visible: str
    uuid: str | None
    slot_pid: int | None
    state: DeviceState  # a stored one
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class DeviceDrained:
    """A device accepts no trials until an operator returns it."""

    device_id: str
    reason: str
    at: float


Change = (
    TrialPlanned
    | IntervalStarted
    | IntervalEnded
    | AttemptPlaced
    | AttemptStarted
    | RankEnded
    | MetricPoint
    | UsageSampled
    | SearchAttributesChanged
    | ParamDefined
    | ArtifactSaved
    | AttemptReleased
    | AttemptEnded
    | TrialDropped
    | TrialRetried
    | RequestObsolete
    | SweepChanged
    | SweepReleased
    | SweepWarned
    | DeviceChanged
    | DeviceDrained
)
# These must survive a power failure; the others need to survive only a crash of the process.
DURABLE: tuple[type, ...] = (
    TrialPlanned,
    IntervalStarted,
    IntervalEnded,
    AttemptPlaced,
    RankEnded,
    ArtifactSaved,
    AttemptEnded,
    TrialDropped,
    TrialRetried,
    SweepChanged,
    SweepReleased,
    DeviceChanged,
    DeviceDrained,
)
