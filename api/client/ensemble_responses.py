"""The REST responses about ensembles, evaluations and predictions; the user's process and the CLI.

Each class has the fields of one model of the REST API (the OpenAPI document at `/openapi.json`); a test compares them.
They are plain dictionaries at run time. Times are ISO 8601 strings in UTC.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict


class ReplicaInfo(TypedDict):
    """A process that serves an ensemble member; times are milliseconds."""

    id: int
    number: int
    state: str
    reason: str
    device_id: str | None
    device_ids: list[str]
    node: str | None
    pid: int | None
    epoch: int
    restarts: int
    p50_ms: float | None
    p99_ms: float | None
    late_share: float | None
    waiting: int | None


class PrecisionScores(TypedDict):
    """A member in one precision; None: not measured, or not finite."""

    precision: str
    loss: float | None
    accuracy: float | None
    p50_us: list[float]  # with 1 and with 256 rows
    weights_bytes: int
    process_bytes: int | None
    error: str


class MemberPrecision(TypedDict):
    """The precision that a member is computed in, and why."""

    requested: str
    used: str | None
    reason: str
    rows: int
    device: str
    figures: list[PrecisionScores]


class MemberInfo(TypedDict):
    """A member of an ensemble."""

    id: int
    position: int
    trial_id: int
    trial_number: int
    sweep_id: int
    weight: float
    state: str
    reason: str
    precision: MemberPrecision
    replicas: list[ReplicaInfo]


class VersionMember(TypedDict):
    """The trial of a member of a version."""

    trial_id: int
    trial_number: int
    sweep_id: int


class VersionInfo(TypedDict):
    """A version of an ensemble."""

    number: int
    role: str  # active, target, canary or past
    combine: str
    k: int
    trial_ids: list[int]
    members: list[VersionMember]
    created_at: str | None


class SelectionStep(TypedDict):
    """One step of the selection, with the loss after it."""

    position: int
    score: float
    trial_id: int


class SelectionInfo(TypedDict):
    """How the members were selected."""

    method: str
    path: list[SelectionStep]
    note: str
    candidates: int | None
    best_member: int
    fitted_on: str | None
    forced: bool


class EnsembleInfo(TypedDict):
    """An ensemble; mode, members and so on are those of the active version."""

    id: int
    name: str
    sweep_id: int | None
    state: str
    reason: str
    version: int
    target: int | None
    canary: int | None
    canary_share: float
    created_at: str | None
    mode: str
    task: str
    combine: str
    temperature: float
    quorum: int
    deadline_ms: float
    placement: str
    devices: int
    precision: str
    max_loss_increase: float
    classes: list[str]
    features: int
    selection: SelectionInfo
    plan: dict[str, Any]
    members: list[MemberInfo]
    versions: list[VersionInfo]


class ReliabilityBin(TypedDict):
    """One point of a reliability diagram."""

    confidence: float
    accuracy: float
    count: int


class McNemarTest(TypedDict):
    """McNemar's test of the ensemble against its best member."""

    only_ensemble_right: int
    only_best_right: int
    exact: bool
    p_value: float


Scores: TypeAlias = dict[str, Any]  # of a classifier or of a regressor, by metric


class SubsetScores(TypedDict):
    """The scores if only these members, by position, answer."""

    answered: list[int]
    scores: Scores


class SizeScores(TypedDict):
    """The scores over the subsets of one size."""

    answered: int
    subsets: int
    every_subset: bool
    worst: Scores
    mean: Scores


class DegradationInfo(TypedDict):
    """The scores by number of members that answer."""

    sizes: list[SizeScores]
    subsets: list[SubsetScores]
    safe_quorum: int | None


class MemberPrecisions(TypedDict):
    """A member in float32 and in its requested precision, on the rows of an evaluation."""

    position: int
    served: str
    device: str
    problem: str
    figures: list[PrecisionScores]


class EvaluationResult(TypedDict):
    """The scores of an ensemble and its members; differences are ensemble minus best member."""

    split: str
    task: str
    rows: int
    quorum: int
    ensemble: Scores
    members: list[Scores]
    best_member: int
    uncertainty: dict[str, float]
    reliability: list[ReliabilityBin]
    best_reliability: list[ReliabilityBin]
    degradation: DegradationInfo
    flags: list[str]
    metric: str
    difference: float
    difference_ci95: list[float]
    log_loss_difference: float | None
    log_loss_difference_ci95: list[float] | None
    mcnemar: McNemarTest | None
    disagreement: list[list[float]]
    mode: str
    version: int
    precisions: list[MemberPrecisions]


class EvaluationInfo(TypedDict):
    """An evaluation: queued, running, finished or failed."""

    id: int
    ensemble_id: int
    version: int
    split: str
    state: str
    reason: str
    result: EvaluationResult | None
    created_at: str | None
    ended_at: str | None


class MemberAnswer(TypedDict):
    """One member's part in a prediction; times are milliseconds."""

    member_id: int
    trial_id: int
    trial_number: int
    sweep_id: int
    epoch: int
    status: str
    queue_ms: float
    compute_ms: float
    message: str


class _Prediction(TypedDict):
    ensemble: str
    version: int
    mode: str
    outcome: str
    requested: int
    answered: int
    quorum: int
    degraded: bool
    members: list[MemberAnswer]
    deadline_ms: float
    total_ms: float
    outputs: list[list[float]]
    weights: list[float]


class Prediction(_Prediction, total=False):
    """The prediction for some rows; optional fields depend on the task and the request."""

    labels: list[str]
    entropy: list[float]
    mutual_information: list[float]
    variance: list[list[float]] | None
    disagreement: list[list[float]]
    member_outputs: list[list[list[float]] | None]
