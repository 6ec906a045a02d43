"""The events of an attempt, from its start to its end, as its slot reports them; every process."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from podium.sweep.values.attempt_assignment import AttemptKey, Scalar
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import TrialState
from podium.sweep.values.usage_samples import UsageSample

STUDY_QUESTIONS = ("best", "trials", "curve")


@dataclass(frozen=True, slots=True)
class Started:
    """The trial process has started, sees its device, and is about to run user code."""

    key: AttemptKey
    pid: int
    at: float  # seconds since the epoch
    visible_devices: str  # CUDA_VISIBLE_DEVICES as the process saw it
    torch_device: str
    import_s: float = 0.0  # time to load the program
    imports: dict[str, float] = field(default_factory=dict)  # seconds by installed module that user code imported


@dataclass(frozen=True, slots=True)
class Reported:
    """A value of the metric that pruning uses."""

    key: AttemptKey
    step: int
    value: float
    at: float


@dataclass(frozen=True, slots=True)
class Logged:
    """Values of other metrics; NaN and infinities also of the one that pruning uses."""

    key: AttemptKey
    step: int
    values: dict[str, float]
    at: float


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the processes of an attempt used, or those of one of its ranks; oldest sample first."""

    key: AttemptKey
    samples: tuple[UsageSample, ...]
    rank: int = 0
    memory_limit_bytes: int | None = None  # of the rank: its own limit, or that of its machine
    gpu_memory_limit_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """A complete file in the attempt's folder that is kept: the model or its predictions."""

    key: AttemptKey
    name: str  # relative to the attempt's folder
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SuggestRequested:
    """A request for a value of a parameter that is not in the sweep file, or a notice that the trial sampled one."""

    key: AttemptKey
    name: str
    distribution: dict[str, Any]  # in the form of a parameter of the sweep file
    drawn: bool = False  # no answer in time: the trial continues with `value`
    value: Scalar = None


@dataclass(frozen=True, slots=True)
class StudyRequested:
    """A trial reads study data through `trial.study`; its process waits for the answer."""

    key: AttemptKey
    request: int  # request number within the attempt, repeated in the answer
    what: str  # one of `STUDY_QUESTIONS`
    number: int = 0  # `trials`: the first trial to return; `curve`: the trial


@dataclass(frozen=True, slots=True)
class StopRequested:
    """A trial called `study.stop()`: no further trial of the sweep starts."""

    key: AttemptKey


@dataclass(frozen=True, slots=True)
class StoreOpened:
    """Rank 0 of an attempt on several devices serves the store at which all ranks meet."""

    key: AttemptKey
    port: int


@dataclass(frozen=True, slots=True)
class RankIdle:
    """A rank has neither reported, printed nor computed for `limits.stall_s`; or does again."""

    key: AttemptKey
    idle: bool


@dataclass(frozen=True, slots=True)
class DeviceReleased:
    """The process tree of an attempt on a node has ended: its device is free, and its files are being sent.

    On the head, where nothing is sent, only `Ended` tells this.
    """

    key: AttemptKey
    at: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The last event of an attempt: its process tree has ended, its device is free, and its files are stored."""

    key: AttemptKey
    state: TrialState  # as determined by the slot: finished, pruned, failed, cancelled; waiting: an interval ended
    started_at: float
    ended_at: float
    value: float | None = None
    cause: Cause | None = None
    message: str = ""
    traceback: str = ""
    exit: str = ""  # "0", "3", "SIGKILL", …
    pid: int | None = None
    late_prune_answers: int = 0
    orphans_killed: int = 0
    log_tail: str = ""  # the end of the output of a failed attempt
    values: tuple[float, ...] | None = None  # one for each objective; the first is `value`
    constraints: dict[str, float] = field(default_factory=dict)  # above 0 is violated
    user_attrs: dict[str, Any] = field(default_factory=dict)  # JSON values
    step: int | None = None  # at which an interval ended

    def __post_init__(self) -> None:
        if self.values is None and self.value is not None:
            object.__setattr__(self, "values", (self.value,))
        elif self.values is not None:
            object.__setattr__(self, "values", tuple(self.values))
            object.__setattr__(self, "value", self.values[0])


Event = (
    Started
    | Reported
    | Logged
    | Sampled
    | Saved
    | SuggestRequested
    | StudyRequested
    | StopRequested
    | StoreOpened
    | RankIdle
    | DeviceReleased
    | Ended
)


def shifted(event: Event, offset_s: float) -> Event:
    """The event with its times in the clock of the head, which is ahead of the clock of the node by `offset_s`."""
    if not offset_s:
        return event
    if isinstance(event, Ended):
        return replace(event, started_at=event.started_at + offset_s, ended_at=event.ended_at + offset_s)
    if isinstance(event, Sampled):
        return replace(event, samples=tuple(replace(each, at=each.at + offset_s) for each in event.samples))
    if isinstance(event, Started | Reported | Logged | DeviceReleased):
        return replace(event, at=event.at + offset_s)
    return event
