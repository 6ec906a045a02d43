"""What is measured of an ensemble, as REST shows it: the fields of `podium.ensemble.scoring.evaluation`, flat; api."""

from __future__ import annotations

from podium.api.rest.models.response_models import View
from podium.ensemble.scoring.calibration_error import ReliabilityBin
from podium.ensemble.scoring.comparison import McNemar
from podium.ensemble.scoring.degradation import Degradation
from podium.ensemble.scoring.evaluation import MeanEntropy, MeanVariance
from podium.ensemble.scoring.scores import ClassificationScores, RegressionScores


class FiguresView(View):
    """An ensemble and its members on the same rows. Differences are ensemble minus best single network.

    A figure that does not exist for the task is null. `reliability` is empty for values.
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


class ResultView(FiguresView):
    """The figures of a version that was asked."""

    mode: str
    version: int
