"""Response models for ensembles; api."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from podium.api.rest.ensembles.score_schemas import PrecisionScores, ResultView
from podium.api.rest.schemas.base_schema import View, time_of
from podium.db.stores.ensemble_evaluations import EvaluationRow
from podium.db.stores.ensemble_reader import EnsembleRow, MemberRow, VersionRow
from podium.db.stores.member_replicas import ReplicaRow
from podium.ensemble.values.ensemble_spec import Mode, Precision
from podium.ensemble.values.ensemble_states import MemberState
from podium.ensemble.values.precision_selection import MeasuredPrecision

Health = Mapping[str, Mapping[str, Any]]  # by replica id, from the gateway


class ReplicaView(View):
    """A process that runs a member. Latencies are of its recent requests; null if there were none."""

    id: int
    number: int
    state: str
    reason: str
    device_id: str | None  # of several, the first
    device_ids: list[str]
    node: str | None
    pid: int | None
    epoch: int
    restarts: int
    p50_ms: float | None
    p99_ms: float | None
    late_share: float | None
    waiting: int | None  # requests in flight

    @classmethod
    def of(cls, row: ReplicaRow, health: Health) -> ReplicaView:
        known = health.get(str(row.id), {})
        state, reason = row.state.value, row.reason
        if row.state is MemberState.READY and known.get("epoch") == row.epoch:
            state, reason = known["state"], known["reason"]
        return cls(
            id=row.id,
            number=row.number,
            state=state,
            reason=reason,
            device_id=row.device_id,
            device_ids=list(row.device_ids),
            node=row.node,
            pid=row.pid,
            epoch=row.epoch,
            restarts=row.restarts,
            p50_ms=known.get("p50_ms"),
            p99_ms=known.get("p99_ms"),
            late_share=known.get("late_share"),
            waiting=known.get("waiting"),
        )


class MemberPrecisionView(View):
    """The precision that a member is computed in, and why; measured on calibration rows when the member was built."""

    requested: str
    used: str | None  # null while it is measured
    reason: str
    rows: int
    device: str
    figures: list[PrecisionScores]

    @classmethod
    def of(cls, row: MemberRow) -> MemberPrecisionView:
        found = row.measured or MeasuredPrecision(Precision.FLOAT32, "")
        return cls(
            requested=row.requested_precision.value,
            used=None if row.precision is None else row.precision.value,
            reason=found.reason,
            rows=found.rows,
            device=found.device,
            figures=[PrecisionScores.model_validate(asdict(figures)) for figures in found.figures],
        )


class MemberView(View):
    """A member of a version; `state` is that of its best replica."""

    id: int
    position: int
    trial_id: int
    trial_number: int
    sweep_id: int
    weight: float
    state: str
    reason: str
    precision: MemberPrecisionView
    replicas: list[ReplicaView]

    @classmethod
    def of(cls, row: MemberRow, health: Health) -> MemberView:
        replicas = [ReplicaView.of(replica, health) for replica in row.replicas]
        order = [state.value for state in _BEST_FIRST]
        best = min(replicas, key=lambda replica: order.index(replica.state))
        return cls(
            id=row.id,
            position=row.position,
            trial_id=row.trial_id,
            trial_number=row.files.number,
            sweep_id=row.files.sweep_id,
            weight=row.weight,
            state=best.state,
            reason=best.reason,
            precision=MemberPrecisionView.of(row),
            replicas=replicas,
        )


_BEST_FIRST = (
    MemberState.READY,
    MemberState.SUSPECT,
    MemberState.HALF_OPEN,
    MemberState.OPEN,
    MemberState.WARMING,
    MemberState.STARTING,
    MemberState.RESTARTING,
    MemberState.STOPPED,
    MemberState.FAILED,
)


class VersionMemberView(View):
    """The trial of a member of a version."""

    trial_id: int
    trial_number: int
    sweep_id: int

    @classmethod
    def of(cls, row: MemberRow) -> VersionMemberView:
        return cls(trial_id=row.trial_id, trial_number=row.files.number, sweep_id=row.files.sweep_id)


class VersionView(View):
    """A version of an ensemble."""

    number: int
    role: str  # active, target, canary or past
    combine: str
    k: int
    trial_ids: list[int]
    members: list[VersionMemberView]
    created_at: datetime | None

    @classmethod
    def of(cls, row: EnsembleRow, version: VersionRow) -> VersionView:
        roles = {row.version: "active", row.target: "target", row.canary: "canary"}
        return cls(
            number=version.number,
            role=roles.get(version.number, "past"),
            combine=version.combination.rule.value,
            k=len(version.members),
            trial_ids=[member.trial_id for member in version.members],
            members=[VersionMemberView.of(member) for member in version.members],
            created_at=time_of(version.created_at),
        )


class ChoiceView(View):
    """One step of the selection, and the loss after it (lower is better)."""

    position: int
    score: float
    trial_id: int


class SelectionView(View):
    """How the members were selected; `candidates` is the number of eligible trials."""

    method: str
    path: list[ChoiceView]
    note: str
    candidates: int | None = None
    best_member: int
    fitted_on: str | None
    forced: bool


class EnsembleView(View):
    """An ensemble; mode, members and other settings are those of the active version."""

    id: int
    name: str
    sweep_id: int | None
    state: str
    reason: str
    version: int
    target: int | None
    canary: int | None
    canary_share: float
    created_at: datetime | None
    mode: str
    task: str
    combine: str
    temperature: float
    quorum: int
    deadline_ms: float
    placement: str
    devices: int  # of each process
    precision: str  # as requested; "mixed" if the members have different ones
    max_loss_increase: float
    classes: list[str]
    features: int
    selection: SelectionView
    plan: dict[str, Any]
    members: list[MemberView]
    versions: list[VersionView]

    @classmethod
    def of(cls, row: EnsembleRow, health: Health | None = None) -> EnsembleView:
        active = row.active
        return cls(
            id=row.id,
            name=row.name,
            sweep_id=row.sweep_id,
            state=row.state.value,
            reason=row.reason,
            version=row.version,
            target=row.target,
            canary=row.canary,
            canary_share=row.canary_share,
            created_at=time_of(row.created_at),
            mode=active.mode.value,
            task=active.combination.task.value,
            combine=active.combination.rule.value,
            temperature=active.combination.temperature,
            quorum=active.quorum,
            deadline_ms=active.deadline_ms,
            placement=active.placement.value,
            devices=active.devices,
            precision=active.precision,
            max_loss_increase=active.max_loss_increase,
            classes=list(active.classes),
            features=active.features,
            selection=SelectionView.model_validate(active.selection),
            plan=active.plan,
            members=[MemberView.of(member, _known(health or {}, row, member)) for member in active.members],
            versions=[VersionView.of(row, version) for version in row.versions.values()],
        )


def _known(health: Health, row: EnsembleRow, member: MemberRow) -> Health:
    """The health of a member's replicas; in-graph, the first member's replicas answer for all members."""
    first = row.active.members[0]
    if row.active.mode is not Mode.IN_GRAPH:
        return health
    pairs = zip(member.replicas, first.replicas, strict=True)
    return {str(own.id): health[str(used.id)] for own, used in pairs if str(used.id) in health}


class EvaluationView(View):
    """An evaluation, finished or not."""

    id: int
    ensemble_id: int
    version: int
    split: str
    state: str
    reason: str
    result: ResultView | None
    created_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, row: EvaluationRow) -> EvaluationView:
        return cls(
            id=row.id,
            ensemble_id=row.ensemble_id,
            version=row.version,
            split=row.split,
            state=row.state,
            reason=row.reason,
            result=None if row.result is None else ResultView.model_validate(row.result),
            created_at=time_of(row.created_at),
            ended_at=time_of(row.ended_at),
        )
