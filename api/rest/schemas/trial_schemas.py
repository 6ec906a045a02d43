"""Response models for trials, their attempts and artifacts; api."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from podium.api.rest.schemas.base_schema import View, time_of
from podium.db.queries.attempt_reader import AttemptRow
from podium.db.queries.trial_artifact_rows import ArtifactRow
from podium.db.stores.metric_summaries import MetricSummary
from podium.db.stores.multi_device_attempt_ranks import RankRow
from podium.db.stores.trial_reader import TrialRow
from podium.sweep.spec.trial_stop_conditions import ValueRule
from podium.sweep.values.attempt_assignment import Scalar
from podium.sweep.values.megabytes import megabytes
from podium.sweep.values.search_messages import FallbackReason


class RankView(View):
    """One device of an attempt that has several, and the rank on it."""

    rank: int
    device: str
    node: str
    pid: int | None
    ended_at: datetime | None  # null: it runs, or has no process of its own
    state: str | None
    cause: str | None
    message: str | None
    exit: str | None
    peak_memory_mb: float | None
    peak_gpu_memory_mb: float | None

    @classmethod
    def of(cls, row: RankRow) -> RankView:
        values = {name: getattr(row, name) for name in cls.model_fields if hasattr(row, name)}
        return cls(**values | _peaks(row) | {"device": row.device_id, "ended_at": time_of(row.ended_at)})


class AttemptView(View):
    """One attempt of a trial."""

    number: int
    device: str  # of rank 0, if it has several
    devices: float  # how many it has; below 1: its share of one
    ranks: list[RankView]  # the devices of an attempt that has several; otherwise empty
    node: str
    pid: int | None
    visible_devices: str | None
    torch_device: str | None
    import_s: float | None  # duration of importing the program
    started_at: datetime | None
    ended_at: datetime | None
    duration_s: float | None
    sending_files: bool  # it has left its device, and its files are on their way from the node
    state: str | None
    cause: str | None
    message: str | None
    traceback: str | None
    log_tail: str | None  # the end of the output of a failed attempt
    exit: str | None
    late_prune_answers: int
    orphans_killed: int
    peak_memory_mb: float | None  # of host memory, as `limits.memory_mb`; sum of the peaks of its ranks
    peak_gpu_memory_mb: float | None
    memory_limit_mb: float | None  # of each rank: `limits.memory_mb`, or that of its machine
    gpu_memory_limit_mb: float | None

    @classmethod
    def of(cls, row: AttemptRow, ranks: Sequence[RankRow] = ()) -> AttemptView:
        values = {name: getattr(row, name) for name in cls.model_fields if hasattr(row, name)}
        values |= _peaks(row) | {
            "memory_limit_mb": megabytes(row.memory_limit_bytes),
            "gpu_memory_limit_mb": megabytes(row.gpu_memory_limit_bytes),
            "device": row.device_id,
            "ranks": [RankView.of(rank) for rank in ranks],
            "started_at": time_of(row.started_at),
            "ended_at": time_of(row.ended_at),
            "duration_s": None if row.ended_at is None else row.ended_at - row.started_at,
            "sending_files": row.ended_at is None and row.device_s is not None,
        }
        return cls(**values)


def _peaks(row: AttemptRow | RankRow | TrialRow) -> dict[str, float | None]:
    return {
        "peak_memory_mb": megabytes(row.peak_memory_bytes),
        "peak_gpu_memory_mb": megabytes(row.peak_gpu_memory_bytes),
    }


class ArtifactView(View):
    """A file of a trial."""

    name: str
    attempt: int
    sha256: str
    size_bytes: int
    removed: str | None  # why it was removed; null: it exists


class TrialView(View):
    """A trial."""

    id: int
    sweep_id: int
    number: int
    state: str
    value: float | None  # of the first objective
    values: dict[str, float] | None  # by metric, with several objectives
    constraints: dict[str, float]  # above 0: violated, and the trial is never the best
    user_attrs: dict[str, Any]  # set by the trial
    tags: list[str]  # set by users
    params: dict[str, Scalar]
    sampler: str  # a method, a sampler class, or enqueue, clone, imported
    fallback_reason: FallbackReason | None  # why the method did not propose it
    fallback_error: str | None  # of the sampler, if it failed
    proposed_for: int | None  # number of the earlier trial that a late proposal was requested for
    attempt: int
    requested: str | None  # stop or retry, until the scheduler applies it
    device: str | None
    cause: str | None  # of its last failed attempt
    peak_memory_mb: float | None  # of the current attempt
    peak_gpu_memory_mb: float | None
    created_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    running_s: float | None  # how long its attempts have held a device
    queued_s: float | None  # how long it has waited for one, before the first attempt and between attempts
    metrics: dict[str, float | int | None]  # the requested figures of metrics, such as `min(val_loss)`

    @classmethod
    def of(
        cls,
        row: TrialRow,
        times: tuple[float | None, float | None],
        figures: Mapping[str, float | int | None] | None = None,
        **more: Any,
    ) -> TrialView:
        """`times`: how long it has run and waited."""
        return cls(**trial_fields(row, times, figures), **more)


def trial_fields(
    row: TrialRow, times: tuple[float | None, float | None], figures: Mapping[str, float | int | None] | None = None
) -> dict[str, Any]:
    """The fields of `TrialView` as plain values, for `json_response`, where models take several times as long."""
    return {
        "id": row.id,
        "sweep_id": row.sweep_id,
        "number": row.number,
        "state": row.state,
        "value": row.value,
        "values": row.values,
        "constraints": row.constraints,
        "user_attrs": row.user_attrs,
        "tags": row.tags,
        "params": row.params,
        "sampler": row.sampler,
        "fallback_reason": row.fallback_reason,
        "fallback_error": row.fallback_error,
        "proposed_for": row.proposed_for,
        "attempt": row.attempt,
        "requested": row.requested,
        "device": row.device_id,
        "cause": row.cause,
        **_peaks(row),
        "created_at": time_of(row.created_at),
        "started_at": time_of(row.started_at),
        "ended_at": time_of(row.ended_at),
        "running_s": times[0],
        "queued_s": times[1],
        "metrics": dict(figures or {}),
    }


class MetricSummaryView(View):
    """A metric of a trial; the values are null if all were NaN or infinite."""

    name: str
    last: float | None
    last_step: int | None
    min: float | None
    min_step: int | None  # the first step with this value
    max: float | None
    max_step: int | None
    best: float | None  # of an objective: `min` or `max`
    best_step: int | None
    counted: ValueRule | None  # of an objective: which of the values is the value of the trial, if it returns none
    non_finite: int  # values that were NaN or infinite; of long curves, not each is stored
    non_finite_step: int | None  # the first of them

    @classmethod
    def of(cls, row: MetricSummary, goal: str | None, rule: ValueRule) -> MetricSummaryView:
        """`goal` of an objective, and which of its values counts."""
        best = {"minimize": (row.min, row.min_step), "maximize": (row.max, row.max_step)}.get(goal or "", (None, None))
        return cls(**asdict(row), best=best[0], best_step=best[1], counted=None if goal is None else rule)


class MetricsView(View):
    """The metrics that a trial has logged, the objectives first."""

    metrics: list[MetricSummaryView]
    non_finite: dict[str, list[tuple[int, str]]]  # by metric, steps with `nan`, `inf` or `-inf`


class TrialPage(View):
    """One page of trials; pass `next` as `after` for the following one, with the same `sort`."""

    items: list[TrialView]
    next: int | str | None


class TrialDetail(TrialView):
    """A trial with its attempts and artifacts."""

    note: str  # set by users
    cloned_from: int | None  # id of the cloned trial
    attempts: list[AttemptView]
    artifacts: list[ArtifactView]
    unfit: str | None  # why its network cannot join an ensemble

    @classmethod
    def whole(
        cls,
        row: TrialRow,
        attempts: list[AttemptRow],
        ranks: Mapping[int, Sequence[RankRow]],
        artifacts: list[ArtifactRow],
        *,
        times: tuple[float | None, float | None],
        cloned_from: int | None,
        unfit: str | None,
    ) -> TrialDetail:
        view = cls.of(
            row,
            times,
            note=row.note,
            cloned_from=cloned_from,
            attempts=[AttemptView.of(attempt, ranks.get(attempt.number, ())) for attempt in attempts],
            artifacts=[ArtifactView.model_validate(artifact) for artifact in artifacts],
            unfit=unfit,
        )
        assert isinstance(view, TrialDetail)
        return view


class EnqueuedView(View):
    """A configuration that was added to a sweep; `trial_id` is set once its trial is created."""

    id: int
    sweep_id: int
    params: dict[str, Scalar]
    cloned_from: int | None
    trial_id: int | None
