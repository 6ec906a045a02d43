"""States of sweeps and trials with their transitions, failure causes, and the events of a slot; every process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from podium.sweep.values.errors import IllegalTransitionError

Scalar = str | int | float | bool | None
Params = dict[str, Scalar]


class SweepState(StrEnum):
    """The state of a sweep."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


SWEEP_TRANSITIONS: Mapping[SweepState, frozenset[SweepState]] = {
    SweepState.QUEUED: frozenset(
        {SweepState.RUNNING, SweepState.PAUSED, SweepState.STOPPING, SweepState.FAILED, SweepState.CANCELLED}
    ),
    SweepState.RUNNING: frozenset(
        {
            SweepState.QUEUED,
            SweepState.PAUSED,
            SweepState.STOPPING,
            SweepState.FINISHED,
            SweepState.FAILED,
            SweepState.CANCELLED,
        }
    ),
    SweepState.PAUSED: frozenset(
        {SweepState.QUEUED, SweepState.RUNNING, SweepState.STOPPING, SweepState.FAILED, SweepState.CANCELLED}
    ),
    SweepState.STOPPING: frozenset({SweepState.QUEUED, SweepState.FINISHED, SweepState.FAILED, SweepState.CANCELLED}),
    SweepState.FINISHED: frozenset({SweepState.QUEUED}),  # extended, or one of its trials is retried or cloned
    SweepState.FAILED: frozenset({SweepState.QUEUED}),  # one of its trials is retried or cloned
    SweepState.CANCELLED: frozenset(),
}
TERMINAL_SWEEP_STATES = frozenset({SweepState.FINISHED, SweepState.FAILED, SweepState.CANCELLED})


class TrialState(StrEnum):
    """The state of a trial."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    PRUNED = "pruned"
    FAILED = "failed"
    CANCELLED = "cancelled"


TRIAL_TRANSITIONS: Mapping[TrialState, frozenset[TrialState]] = {
    TrialState.WAITING: frozenset({TrialState.RUNNING, TrialState.CANCELLED}),
    TrialState.RUNNING: frozenset(
        {
            TrialState.WAITING,  # the attempt was lost; the trial is retried
            TrialState.FINISHED,
            TrialState.PRUNED,
            TrialState.FAILED,
            TrialState.CANCELLED,
        }
    ),
    TrialState.FINISHED: frozenset(),
    TrialState.PRUNED: frozenset(),
    TrialState.FAILED: frozenset({TrialState.WAITING}),  # retried on request
    TrialState.CANCELLED: frozenset({TrialState.WAITING}),
}
TERMINAL_TRIAL_STATES = frozenset({TrialState.FINISHED, TrialState.PRUNED, TrialState.FAILED, TrialState.CANCELLED})
COUNTED_TRIAL_STATES = frozenset({TrialState.FINISHED, TrialState.PRUNED})


def check_sweep_transition(old: SweepState, new: SweepState) -> None:
    """Raises `IllegalTransitionError` unless the transition from `old` to `new` is allowed."""
    if new not in SWEEP_TRANSITIONS[old]:
        possible = ", ".join(sorted(SWEEP_TRANSITIONS[old])) or "none (terminal state)"
        raise IllegalTransitionError(f"invalid sweep state transition from {old} to {new}; possible: {possible}")


def check_trial_transition(old: TrialState, new: TrialState) -> None:
    """Raises `IllegalTransitionError` unless the transition from `old` to `new` is allowed."""
    if new not in TRIAL_TRANSITIONS[old]:
        possible = ", ".join(sorted(TRIAL_TRANSITIONS[old])) or "none (terminal state)"
        raise IllegalTransitionError(f"invalid trial state transition from {old} to {new}; possible: {possible}")


def is_infeasible(constraints: Mapping[str, float]) -> bool:
    """Whether a constraint is violated (above 0); such a trial is infeasible and never the best."""
    return any(amount > 0 for amount in constraints.values())


class Cause(StrEnum):
    """The cause of a failed attempt."""

    USER_ERROR = "user_error"
    BAD_REPORT = "bad_report"
    NON_FINITE = "non_finite"
    EXITED = "exited"
    SIGNAL = "signal"
    TIMEOUT = "timeout"
    STALLED = "stalled"
    START_TIMEOUT = "start_timeout"
    HOST_MEMORY = "host_memory"
    DEVICE_MEMORY = "device_memory"
    DISK_QUOTA = "disk_quota"
    DISK_FULL = "disk_full"
    PINNING = "pinning"
    NODE_LOST = "node_lost"
    CANCELLED = "cancelled"
    INFRASTRUCTURE = "infrastructure"


INFRASTRUCTURE_CAUSES = frozenset(
    {Cause.INFRASTRUCTURE, Cause.NODE_LOST, Cause.START_TIMEOUT, Cause.PINNING, Cause.DISK_FULL}
)
MEMORY_CAUSES = frozenset({Cause.HOST_MEMORY, Cause.DEVICE_MEMORY})


class TrialRequest(StrEnum):
    """A pending command of a client on a trial."""

    STOP = "stop"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one attempt; None means no limit."""

    trial_s: float | None = None  # from the start of the process to its end
    silence_s: float | None = None  # between two reports
    start_s: float | None = 60.0  # from the fork to the first line of user code
    grace_s: float = 5.0  # between SIGTERM and SIGKILL
    memory_mb: float | None = None  # of host memory, for the whole process tree
    log_mb: float = 8.0  # of the log; of a longer log, only the beginning and the end are kept
    work_dir_mb: float | None = 1024.0  # working and temporary directories together
    on_timeout: str = "fail"  # or finish: the trial finishes with the values reported until `trial_s`


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a slot and its trial process need to run one attempt; plain values only."""

    sweep_id: int
    trial_id: int
    number: int
    attempt: int
    params: Params
    seed: int
    metric: str  # the metric of `report`
    program: dict[str, Any]
    split: dict[str, Any]
    directory: str  # of this attempt: log, work folder, model
    data_cache: str  # memory-mapped data sets, shared by all trials of the machine
    code: str | None = None  # folder of the unpacked bundle
    defined: tuple[str, ...] = ()  # parameters suggested by an earlier attempt or a cloned trial
    prunable: bool = False
    keep_checkpoint: bool = False  # after it has finished
    threads: int | None = None
    limits: Limits = field(default_factory=Limits)
    objectives: tuple[str, ...] = ()  # the names of the objectives, in order
    goals: tuple[str, ...] = ()  # minimize or maximize, of each objective
    sweep_name: str = ""
    enqueued: Params = field(default_factory=dict)  # values for parameters that the code may suggest
    objective: str = "last"  # last, min or max: which reported value counts if the program returns none
    stop: tuple[tuple[str, float], ...] = ()  # metrics with the values at which they end the trial as finished

    def __post_init__(self) -> None:
        object.__setattr__(self, "objectives", tuple(self.objectives) or (self.metric,))
        object.__setattr__(self, "goals", tuple(self.goals) or ("minimize",) * len(self.objectives))

    @property
    def key(self) -> AttemptKey:
        return AttemptKey(self.trial_id, self.attempt)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Assignment:
        defined = tuple(values.get("defined", ()))
        stop = tuple((name, at) for name, at in values.get("stop", ()))
        return cls(**{**values, "defined": defined, "stop": stop, "limits": Limits(**values["limits"])})


@dataclass(frozen=True, slots=True)
class AttemptKey:
    """Identifies an attempt; results are accepted only for the current attempt of a trial."""

    trial_id: int
    attempt: int


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
    """Values of other metrics."""

    key: AttemptKey
    step: int
    values: dict[str, float]
    at: float


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


STUDY_QUESTIONS = ("best", "trials", "curve")


@dataclass(frozen=True, slots=True)
class StopRequested:
    """A trial called `study.stop()`: no further trial of the sweep starts."""

    key: AttemptKey


@dataclass(frozen=True, slots=True)
class Ended:
    """The last event of an attempt: its process tree has ended and its slot is free."""

    key: AttemptKey
    state: TrialState  # finished, pruned, failed or cancelled, as determined by the slot
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

    def __post_init__(self) -> None:
        if self.values is None and self.value is not None:
            object.__setattr__(self, "values", (self.value,))
        elif self.values is not None:
            object.__setattr__(self, "values", tuple(self.values))
            object.__setattr__(self, "value", self.values[0])


Event = Started | Reported | Logged | Saved | SuggestRequested | StudyRequested | StopRequested | Ended
