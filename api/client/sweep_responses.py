"""The REST responses about sweeps, trials and devices; the user's process and the CLI.

Each class has the fields of one model of the REST API (the OpenAPI document at `/openapi.json`); a test compares them.
They are plain dictionaries at run time. Times are ISO 8601 strings in UTC.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

Params: TypeAlias = dict[str, Any]  # by name: boolean, integer, float, string or None


class BestTrialInfo(TypedDict):
    """One of the best trials of a sweep."""

    trial_id: int
    number: int
    value: float  # of the first objective
    values: dict[str, float] | None  # by metric, with several objectives
    pareto: bool | None  # with several objectives: whether it is on the Pareto front
    params: Params


class WarmStartInfo(TypedDict):
    """The trials of earlier sweeps that the search started from."""

    trials: int
    dropped: int  # do not fit the parameters
    why: list[str]
    left_out: int


class SpendingInfo(TypedDict):
    """Used and allowed amount of a resource; None: unlimited."""

    used: float
    allowed: float | None


class PlateauInfo(TypedDict):
    """Consecutive trials without improvement, and how many are allowed."""

    used: int
    allowed: int
    min_delta: float


class TargetInfo(TypedDict):
    """The value that ends the sweep, and the number of the trial that reached it."""

    value: float
    reached_by: int | None


class BudgetInfo(TypedDict):
    """What a sweep has used of its budget."""

    wall_s: SpendingInfo
    device_s: SpendingInfo
    plateau: PlateauInfo | None
    target: TargetInfo | None


class WarningInfo(TypedDict):
    """A warning of a sweep."""

    code: str
    message: str
    at: str | None


class ProvenanceInfo(TypedDict):
    """Where a sweep was submitted from; None: unknown."""

    git_commit: str | None
    git_dirty: bool | None
    command: list[str]
    packages_sha256: str | None


class LinkedSweepInfo(TypedDict):
    """A sweep that runs before or after another one."""

    id: int
    name: str
    state: str


class FixedInfo(TypedDict):
    """Values that `fix_from` took from the best trial of an earlier sweep."""

    sweep_id: int
    trial_id: int
    number: int
    params: Params


class PopulationInfo(TypedDict):
    """How far the trials of a population are."""

    trials: int  # that have started an interval
    intervals: int  # that have ended
    exploits: int  # that started from the checkpoint of another trial
    fewest: int  # the interval of the trial that is behind all others
    most: int


class IntervalInfo(TypedDict):
    """An interval of training of a trial of a population."""

    trial_id: int
    trial: int  # its number
    interval: int  # from 1
    params: Params
    donor_id: int | None  # the trial whose checkpoint it started from
    donor: int | None  # its number
    donor_interval: int | None
    attempt: int | None  # that ended it
    step: int | None  # at its end
    value: float | None  # of the metric, at its end
    started_at: str | None
    ended_at: str | None


class ScheduleInfo(TypedDict):
    """The schedule of configurations that led to the current state of a trial."""

    intervals: list[IntervalInfo]
    replay: dict[str, Any]  # a sweep with one trial that repeats the schedule


class FailureGroupInfo(TypedDict):
    """Failed trials with the same cause and, apart from numbers, paths and addresses, the same message."""

    cause: str | None
    message: str  # the first line, with placeholders such as `<n>` and `<path>`
    count: int
    devices: dict[str, int]  # failures by device
    trial_ids: list[int]  # at most the newest 500
    first_id: int  # the trial with the lowest number
    first_number: int
    first_message: str  # without placeholders
    location: str | None  # file, line and function of the first one
    log: str  # the last lines of the first one


class FailuresInfo(TypedDict):
    """The failed trials of a sweep in groups, the largest first."""

    failed: int
    examined: int  # the newest of them, at most 10,000
    groups: list[FailureGroupInfo]


class SweepInfo(TypedDict):
    """A sweep."""

    id: int
    name: str
    description: str | None  # Markdown; None in lists
    project: str  # "": none
    tags: list[str]
    owner: str  # name of the token that submitted it; "": unknown
    starred: bool  # by the user of this client
    archived: bool
    state: str
    reason: str  # of the state
    wait_reason: str | None  # why it waits: scheduler, disk_full, no_device, …; None: it does not wait
    wait_message: str  # the same for people
    spec: dict[str, Any]  # with the values that `fix_from` took as constants
    held: bool  # it waits for its predecessors to finish
    predecessors: list[LinkedSweepInfo]
    successors: list[LinkedSweepInfo]
    fixed: FixedInfo | None
    run_cap: int
    priority: float
    counts: dict[str, int]  # trials by state
    best: BestTrialInfo | None
    ensembles: list[int]
    ensemble_id: int | None  # built for the sweep file's `ensemble:` block
    ensemble_error: str | None
    warm_start: WarmStartInfo | None
    device_busy_share: float | None
    budget: BudgetInfo | None
    devices: list[str]
    eta_s: float | None
    population: PopulationInfo | None  # of a sweep that trains in intervals; None in lists
    versions: dict[str, str] | None
    provenance: ProvenanceInfo
    warnings: list[WarningInfo]
    created_at: str | None
    started_at: str | None
    ended_at: str | None


class TrialInfo(TypedDict):
    """A trial, as in lists."""

    id: int
    sweep_id: int
    number: int
    state: str
    value: float | None  # of the first objective
    values: dict[str, float] | None
    constraints: dict[str, float]  # above 0: violated
    user_attrs: dict[str, Any]
    tags: list[str]
    params: Params
    sampler: str  # a method, a sampler class, or enqueue, clone, imported
    fallback_reason: str | None  # why it was sampled at random instead: slow, failed, process_ended
    fallback_error: str | None  # of the sampler, if it failed
    proposed_for: int | None  # number of the earlier trial that a late proposal was requested for
    attempt: int
    requested: str | None  # stop or retry, until the scheduler applies it
    device: str | None
    cause: str | None
    peak_memory_mb: float | None  # of the current attempt
    peak_gpu_memory_mb: float | None
    created_at: str | None
    started_at: str | None
    ended_at: str | None
    running_s: float | None  # how long its attempts have held a device
    queued_s: float | None  # how long it has waited for one
    metrics: dict[str, float | int | None]  # the requested figures of metrics, such as `min(val_loss)`


class RankInfo(TypedDict):
    """One device of an attempt that has several, and the rank on it."""

    rank: int
    device: str
    node: str
    pid: int | None
    ended_at: str | None
    state: str | None
    cause: str | None
    message: str | None
    exit: str | None
    peak_memory_mb: float | None
    peak_gpu_memory_mb: float | None


class AttemptInfo(TypedDict):
    """An attempt of a trial."""

    number: int
    device: str
    devices: float  # below 1: its share of one
    ranks: list[RankInfo]  # of an attempt with several devices
    node: str
    pid: int | None
    visible_devices: str | None
    torch_device: str | None
    import_s: float | None
    started_at: str | None
    ended_at: str | None
    duration_s: float | None
    sending_files: bool
    state: str | None
    cause: str | None
    message: str | None
    traceback: str | None
    log_tail: str | None
    exit: str | None
    late_prune_answers: int
    orphans_killed: int
    peak_memory_mb: float | None  # sum of the peaks of its ranks
    peak_gpu_memory_mb: float | None
    memory_limit_mb: float | None  # of each rank
    gpu_memory_limit_mb: float | None


class UsageSeries(TypedDict):
    """Samples as lists of equal length, oldest first; each is about the `span_s` seconds before `at`."""

    at: list[float]  # seconds since the epoch
    span_s: list[float]
    cpu_cores: list[float]
    memory_mb: list[float]  # the highest one, counted as for `limits.memory_mb`
    read_mb_s: list[float]
    written_mb_s: list[float]
    gpu_percent: list[float | None]
    gpu_memory_mb: list[float | None]


class RankUsage(TypedDict):
    """The usage of one rank."""

    rank: int
    device: str
    samples: UsageSeries


class UsageInfo(TypedDict):
    """The usage of an attempt."""

    attempt: int
    memory_limit_mb: float | None  # of each rank
    gpu_memory_limit_mb: float | None
    total: UsageSeries
    ranks: list[RankUsage]  # if it has several; otherwise empty


class ArtifactInfo(TypedDict):
    """A file of a trial."""

    name: str
    attempt: int
    sha256: str
    size_bytes: int
    removed: str | None  # the reason, if it was removed


class TrialDetails(TrialInfo):
    """A trial with its note, attempts and files."""

    note: str
    cloned_from: int | None
    attempts: list[AttemptInfo]
    artifacts: list[ArtifactInfo]
    unfit: str | None  # why its model cannot join an ensemble


class EnqueuedInfo(TypedDict):
    """A configuration added to a sweep; `trial_id` is set once the trial exists."""

    id: int
    sweep_id: int
    params: Params
    cloned_from: int | None
    trial_id: int | None


class ExportedArtifact(TypedDict):
    """A file of an exported trial."""

    name: str
    size_bytes: int
    sha256: str


class ExportedTrial(TypedDict):
    """A trial with everything that is stored about it; a line of a JSON lines export."""

    number: int
    trial_id: int
    state: str
    values: dict[str, float] | None
    params: Params
    distributions: dict[str, Any]  # of parameters that the sweep file does not define
    user_attrs: dict[str, Any]
    constraints: dict[str, float]
    metrics: dict[str, list[tuple[int, float]]]  # (step, value) pairs
    artifacts: list[ExportedArtifact]
    intervals: list[IntervalInfo]  # of a trial of a population
    cause: str | None
    message: str | None
    sampler: str  # a method, a sampler class, or enqueue, clone, imported
    fallback_reason: str | None  # why it was sampled at random instead: slow, failed, process_ended
    fallback_error: str | None  # of the sampler, if it failed
    proposed_for: int | None  # number of the earlier trial that a late proposal was requested for
    attempts: int
    device: str | None
    peak_memory_mb: float | None  # of the last attempt
    peak_gpu_memory_mb: float | None
    created_at: str | None
    started_at: str | None
    ended_at: str | None
    duration_s: float | None


class RunningTrialInfo(TypedDict):
    """The trial that runs on a device."""

    trial_id: int
    number: int
    attempt: int
    sweep_id: int
    sweep_name: str
    started_at: str


class PlacedMemberInfo(TypedDict):
    """An ensemble member on a device."""

    id: int
    position: int
    trial_id: int
    trial_number: int
    ensemble_id: int
    ensemble_name: str


class DeviceInfo(TypedDict):
    """A device."""

    id: str
    kind: str
    position: int
    node: str
    visible: str
    uuid: str | None
    slot_pid: int | None
    state: str
    reason: str
    trial_id: int | None
    member_ids: list[int]
    running: RunningTrialInfo | None
    members: list[PlacedMemberInfo]
    changed_at: str


class ProjectInfo(TypedDict):
    """A project: the sweeps that name it."""

    name: str
    sweeps: int
    archived: int  # of these


class SavedViewInfo(TypedDict):
    """A saved view of the page of a sweep."""

    id: int
    name: str
    project: str  # "": for all sweeps
    tab: str
    query: dict[str, str]  # filter, sort, columns, …
    owner: str
    changed_at: str | None


class FoundInfo(TypedDict):
    """Something that a search has found."""

    kind: str  # sweep, trial, ensemble, project
    id: int | None
    name: str
    detail: str


class LoggedImageInfo(TypedDict):
    """The images of one name that a trial logged."""

    name: str
    steps: list[int]
    files: list[str]  # by step, for `download`
    size_bytes: int


class ImprovementInfo(TypedDict):
    """A trial that improved on all before."""

    trial_id: int
    number: int
    time_s: float  # its end, since the start of the sweep
    value: float


class HistoryInfo(TypedDict):
    """The best value of a sweep over its trials, by its first objective."""

    sweep_id: int
    name: str
    state: str
    metric: str
    goal: str
    improvements: list[ImprovementInfo]
    trials: int  # that have ended with a value and violate no constraint
    last_number: int  # the largest number of these; -1 without one
    last_s: float  # end of the last of them, since the start of the sweep


class JoinedTrialInfo(TypedDict):
    """A trial in a table of several sweeps. A name that it lacks in a mapping is missing, not zero."""

    id: int
    sweep_id: int
    sweep_name: str
    number: int
    state: str
    params: Params
    values: dict[str, float]  # of a finished trial, by objective
    metrics: dict[str, float]  # the last value of each
    duration_s: float | None
    device: str | None
    cause: str | None
