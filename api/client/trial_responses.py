"""The REST responses about trials, their attempts and files; the user's process and the CLI.

Each class has the fields of one model of the REST API (the OpenAPI document at `/openapi.json`); a test compares them.
They are plain dictionaries at run time. Times are ISO 8601 strings in UTC.
"""

from __future__ import annotations

from typing import Any, TypedDict

from podium.api.client.sweep_responses import Params


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


class TrialNameInfo(TypedDict):
    """A trial by its id, and by its number in its sweep."""

    id: int
    sweep_id: int
    number: int


class LoggedImageInfo(TypedDict):
    """The images of one name that a trial logged."""

    name: str
    steps: list[int]
    files: list[str]  # by step, for `download`
    size_bytes: int
