"""Response models of `predict` for the OpenAPI document; the gateway serializes the response itself; api."""

from __future__ import annotations

from podium.api.rest.schemas.base_schema import View


class PredictBody(View):
    """Rows to predict."""

    inputs: list[list[float]]
    deadline_ms: float | None = None


class MemberPartView(View):
    """The reply of one member."""

    member_id: int
    trial_id: int
    trial_number: int
    sweep_id: int
    epoch: int
    status: str
    queue_ms: float
    compute_ms: float
    message: str


class PredictionView(View):
    """A prediction; `labels`, `entropy` and `mutual_information` for classification, `variance` for regression."""

    ensemble: str
    version: int
    mode: str
    outcome: str
    requested: int
    answered: int
    quorum: int
    degraded: bool
    members: list[MemberPartView]
    deadline_ms: float
    total_ms: float
    outputs: list[list[float]]
    weights: list[float]
    labels: list[str] | None = None
    entropy: list[float] | None = None
    mutual_information: list[float] | None = None
    variance: list[list[float]] | None = None
    disagreement: list[list[float]] | None = None
    member_outputs: list[list[list[float]] | None] | None = None
