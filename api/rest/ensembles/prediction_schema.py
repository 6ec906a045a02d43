"""What `predict` answers, for the API's own description: the gateway writes it by hand; api."""

from __future__ import annotations

from podium.api.rest.models.response_models import View


class PredictBody(View):
    """Rows to predict."""

    inputs: list[list[float]]
    deadline_ms: float | None = None


class MemberPartView(View):
    """One member's part in an answer; times are milliseconds."""

    member_id: int
    trial_id: int
    epoch: int
    status: str
    queue_ms: float
    compute_ms: float
    message: str


class PredictionView(View):
    """An answer; what there is only for classes, or only for values, is missing for the others."""

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
