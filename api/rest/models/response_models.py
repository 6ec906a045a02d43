"""Response models that several routes share: rows as JSON, times as ISO 8601 in UTC; api."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from podium.db.queries.trial_pages import ArtifactRow, AttemptRow
from podium.db.stores.devices import DeviceRow
from podium.db.stores.sweeps import SweepRow
from podium.db.stores.trial_rows import TrialRow
from podium.sweep.lifecycle.budget_usage import BudgetTerms, BudgetUsage
from podium.sweep.values.device_state import USABLE_DEVICE_STATES, DeviceState, device_state
from podium.sweep.values.search_values import FallbackReason
from podium.sweep.values.trial import Scalar
from podium.sweep.values.wait_reason import WaitReason

Item = TypeVar("Item")


def time_of(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


class View(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class Page(BaseModel, Generic[Item]):
    """One page; pass `next` as `after` for the following one."""

    items: list[Item]
    next: int | None


class BestView(View):
    """A sweep's best trial so far; with several objectives, by the first one."""

    trial_id: int
    number: int
    value: float
    values: dict[str, float] | None  # by metric, with several objectives
    pareto: bool | None  # with several objectives: on the Pareto front
    params: dict[str, Scalar]


class WarmStartView(View):
    """Trials of earlier sweeps that a sweep's search started from."""

    trials: int  # given to the search
    dropped: int  # incompatible with the sweep's parameters
    why: list[str]  # the first reasons
    left_out: int = 0  # beyond the limit: the best and the newest trials are used


class SpendingView(View):
    """Usage and limit of a resource; null: no limit."""

    used: float
    allowed: float | None


class PlateauView(View):
    """The number of trials without improvement, and its limit."""

    used: int
    allowed: int
    min_delta: float


class TargetView(View):
    """The metric value that ends the sweep, and the number of the trial that reached it."""

    value: float
    reached_by: int | None


class BudgetView(View):
    """Usage and limits of a sweep."""

    wall_s: SpendingView
    device_s: SpendingView
    plateau: PlateauView | None
    target: TargetView | None

    @classmethod
    def of(cls, terms: BudgetTerms, used: BudgetUsage) -> BudgetView:
        plateau, reached = terms.plateau, used.reached_by
        return cls(
            wall_s=SpendingView(used=round(used.wall_s, 3), allowed=terms.wall_s),
            device_s=SpendingView(used=round(used.device_s, 3), allowed=terms.device_s),
            plateau=None
            if plateau is None
            else PlateauView(used=used.trials_without_improvement, allowed=plateau.trials, min_delta=plateau.min_delta),
            target=None
            if terms.target is None
            else TargetView(value=terms.target, reached_by=None if reached is None else reached.number),
        )


class WarningView(View):
    """A warning; it does not affect the sweep."""

    code: str  # identical_results
    message: str
    at: datetime | None


class ProvenanceView(View):
    """Provenance of a sweep; null: unknown."""

    git_commit: str | None
    git_dirty: bool | None  # uncommitted changes
    command: list[str]  # that submitted the sweep, without secrets
    packages_sha256: str | None  # of the service's package list: GET /sweeps/{id}/packages

    @classmethod
    def of(cls, row: SweepRow) -> ProvenanceView:
        stored = {} if row.provenance is None else json.loads(row.provenance)
        return cls(
            git_commit=stored.get("git_commit"),
            git_dirty=stored.get("git_dirty"),
            command=stored.get("command", []),
            packages_sha256=row.environment,
        )


class SweepView(View):
    """A sweep."""

    id: int
    name: str
    state: str
    reason: str  # of the state
    wait_reason: WaitReason | None  # why it waits; null: it does not wait
    wait_message: str  # the same for people, with the devices or sweeps in question
    spec: dict[str, Any]
    run_cap: int  # as submitted or extended
    priority: float
    counts: dict[str, int]
    best: BestView | None
    ensembles: list[int]  # ids of ensembles built from its trials
    ensemble_id: int | None  # built for its `ensemble:` block
    ensemble_error: str | None  # why the ensemble of its `ensemble:` block could not be built
    warm_start: WarmStartView | None  # null: no warm start
    device_busy_share: float | None
    budget: BudgetView | None  # in lists, only of active sweeps with limits
    devices: list[str]  # of its running trials
    eta_s: float | None  # estimated time left, at most; null: unknown
    versions: dict[str, str] | None  # of Python and packages at submission
    provenance: ProvenanceView
    warnings: list[WarningView]
    created_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(
        cls,
        row: SweepRow,
        best: TrialRow | None,
        *,
        busy_share: float | None = None,
        budget: BudgetView | None = None,
        devices: Sequence[str] = (),
        eta_s: float | None = None,
    ) -> SweepView:
        return cls(
            id=row.id,
            name=row.name,
            state=row.state,
            reason=row.reason,
            wait_reason=None if row.wait is None else row.wait.reason,
            wait_message="" if row.wait is None else row.wait.message,
            spec=json.loads(row.spec_json),
            run_cap=row.run_cap,
            priority=row.priority,
            counts={state.value: count for state, count in sorted(row.counts.items())},
            best=None if best is None else best_view(best, None if best.values is None else True),
            ensembles=list(row.built.ensemble_ids),
            ensemble_id=row.built.requested_id,
            ensemble_error=row.ensemble_error,
            warm_start=None if row.warm_start is None else WarmStartView(**json.loads(row.warm_start)),
            device_busy_share=busy_share,
            budget=budget,
            devices=list(devices),
            eta_s=eta_s,
            versions=None if row.versions is None else json.loads(row.versions),
            provenance=ProvenanceView.of(row),
            warnings=[WarningView(code=one.code, message=one.message, at=time_of(one.at)) for one in row.warnings],
            created_at=time_of(row.created_at),
            started_at=time_of(row.started_at),
            ended_at=time_of(row.ended_at),
        )


def best_view(row: TrialRow, pareto: bool | None = None) -> BestView:
    """A finished trial as one of the best."""
    assert row.value is not None
    return BestView(
        trial_id=row.id, number=row.number, value=row.value, values=row.values, pareto=pareto, params=row.params
    )


class AttemptView(View):
    """One attempt of a trial."""

    number: int
    device: str
    node: str
    pid: int | None
    visible_devices: str | None
    torch_device: str | None
    import_s: float | None  # duration of importing the program
    started_at: datetime | None
    ended_at: datetime | None
    duration_s: float | None
    state: str | None
    cause: str | None
    message: str | None
    traceback: str | None
    log_tail: str | None  # the end of the output of a failed attempt
    exit: str | None
    late_prune_answers: int
    orphans_killed: int

    @classmethod
    def of(cls, row: AttemptRow) -> AttemptView:
        values = {name: getattr(row, name) for name in cls.model_fields if hasattr(row, name)}
        values |= {
            "device": row.device_id,
            "started_at": time_of(row.started_at),
            "ended_at": time_of(row.ended_at),
            "duration_s": None if row.ended_at is None else row.ended_at - row.started_at,
        }
        return cls(**values)


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
    fallback_reason: FallbackReason | None  # why it was sampled at random instead of by the method
    fallback_error: str | None  # of the sampler, if it failed
    proposed_for: int | None  # number of the earlier trial that a late proposal was requested for
    attempt: int
    requested: str | None  # stop or retry, until the scheduler applies it
    device: str | None
    cause: str | None  # of its last failed attempt
    created_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, row: TrialRow, **more: Any) -> TrialView:
        return cls(
            id=row.id,
            sweep_id=row.sweep_id,
            number=row.number,
            state=row.state,
            value=row.value,
            values=row.values,
            constraints=row.constraints,
            user_attrs=row.user_attrs,
            tags=row.tags,
            params=row.params,
            sampler=row.sampler,
            fallback_reason=row.fallback_reason,
            fallback_error=row.fallback_error,
            proposed_for=row.proposed_for,
            attempt=row.attempt,
            requested=row.requested,
            device=row.device_id,
            cause=row.cause,
            created_at=time_of(row.created_at),
            started_at=time_of(row.started_at),
            ended_at=time_of(row.ended_at),
            **more,
        )


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
        artifacts: list[ArtifactRow],
        *,
        cloned_from: int | None,
        unfit: str | None,
    ) -> TrialDetail:
        view = cls.of(
            row,
            note=row.note,
            cloned_from=cloned_from,
            attempts=[AttemptView.of(attempt) for attempt in attempts],
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


class RunningView(View):
    """The running trial of a device."""

    trial_id: int
    number: int
    attempt: int
    sweep_id: int
    sweep_name: str
    started_at: datetime


class PlacedMemberView(View):
    """A member of an ensemble on a device."""

    id: int
    position: int
    ensemble_id: int
    ensemble_name: str


class DeviceView(View):
    """A device."""

    id: str
    kind: str
    position: int
    node: str
    visible: str
    uuid: str | None
    slot_pid: int | None
    state: DeviceState
    reason: str
    trial_id: int | None
    member_ids: list[int]
    running: RunningView | None
    members: list[PlacedMemberView]
    changed_at: datetime  # last change of state or reason

    @classmethod
    def of(cls, row: DeviceRow, aside: str | None) -> DeviceView:
        """`aside` is the reason of a drain; it is shown before the scheduler applies it."""
        view = cls.model_validate(row)
        if aside is not None and row.state in USABLE_DEVICE_STATES:
            return view.model_copy(update={"state": DeviceState.DRAINED, "reason": aside})
        if aside is None and row.state is DeviceState.DRAINED:
            state = device_state(lost=False, dedicated=False, drained=False, running=row.trial_id is not None)
            return view.model_copy(update={"state": state, "reason": ""})
        return view
