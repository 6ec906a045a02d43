"""Response models for the scores of an ensemble; api.

Their fields are those of `podium.ensemble.scoring.ensemble_and_member_evaluation`.
"""

from __future__ import annotations

from pydantic import Field

from podium.api.rest.schemas.base_schema import View
from podium.ensemble.scoring.calibration_error import ReliabilityBin
from podium.ensemble.scoring.ensemble_and_member_evaluation import MeanEntropy, MeanVariance
from podium.ensemble.scoring.missing_members_and_quorum import Degradation
from podium.ensemble.scoring.predictor_comparison import McNemar
from podium.ensemble.scoring.scores import ClassificationScores, RegressionScores


class FiguresView(View):
    """Scores of an ensemble and its members on the same rows. Differences are ensemble minus best single member.

    A score that is not defined for the task is null. `reliability` is empty for regression.
    """

    split: str
    task: str
    rows: int
    quorum: int
    ensemble: ClassificationScores | RegressionScores
    members: list[ClassificationScores | RegressionScores]
    best_member: int
    uncertainty: MeanEntropy | MeanVariance
    reliability: list[ReliabilityBin]
    best_reliability: list[ReliabilityBin]
    degradation: Degradation
    flags: list[str]
    metric: str
    difference: float
    difference_ci95: list[float]  # low, high
    log_loss_difference: float | None
    log_loss_difference_ci95: list[float] | None
    mcnemar: McNemar | None
    disagreement: list[list[float]]


class PrecisionScores(View):
    """A member in one precision on some rows; null: not measured, or not finite."""

    precision: str
    loss: float | None  # log loss of classes, squared error of values
    accuracy: float | None
    p50_us: list[float]  # of a computation with 1 and with 256 rows
    weights_bytes: int
    process_bytes: int | None
    error: str


class MemberPrecisions(View):
    """A member in float32 and in its requested precision, on the rows of an evaluation."""

    position: int
    served: str  # the precision that predictions are computed in
    device: str
    problem: str  # why there are no figures
    figures: list[PrecisionScores]


class ResultView(FiguresView):
    """Scores of a version that answers predictions. `precisions` has the members that were requested in a lower one."""

    mode: str
    version: int
    precisions: list[MemberPrecisions] = Field(default_factory=list)  # earlier versions measured none
