"""Evaluates an ensemble and its members from their predictions; numpy only, host process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.scoring import combination_fitting, score_input_checks
from podium.ensemble.scoring.calibration_error import ReliabilityBin, calibration_error, equal_mass, equal_width
from podium.ensemble.scoring.combine import combine, uncertainty
from podium.ensemble.scoring.missing_members_and_quorum import Degradation, degradation
from podium.ensemble.scoring.predictor_comparison import Comparison, compare_labels, compare_values
from podium.ensemble.scoring.scores import (
    ClassificationScores,
    Predictions,
    RegressionScores,
    brier,
    hits,
    log_losses,
    regression_scores,
)
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Rule, Task

Calibration = tuple[Predictions, NDArray[Any]]
Scores = ClassificationScores | RegressionScores


@dataclass(frozen=True, slots=True)
class MeanEntropy:
    """In nats: predictive entropy = expected entropy of the members + mutual information.

    This is exact for the mean of probabilities. Where a temperature or another rule makes a row more certain than its
    members, its mutual information is 0 and all its entropy is expected.
    """

    predictive_entropy: float
    expected_entropy: float
    mutual_information: float


@dataclass(frozen=True, slots=True)
class MeanVariance:
    """In squared units of the targets, over rows and outputs: total = noise + variance of the members' means."""

    total_variance: float
    noise_variance: float
    variance_of_means: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An ensemble and its members on one split."""

    split: str
    task: Task
    rows: int
    quorum: int
    ensemble: Scores
    members: tuple[Scores, ...]  # in member order
    best_member: int  # position of the best member, chosen before this split was used
    comparison: Comparison  # ensemble against best member
    uncertainty: MeanEntropy | MeanVariance
    reliability: tuple[ReliabilityBin, ...]  # equal-mass bins of the ensemble's probabilities; empty for regression
    best_reliability: tuple[ReliabilityBin, ...]  # the same for the best member
    degradation: Degradation
    flags: tuple[str, ...]  # warnings that limit what the scores mean

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, with those of the comparison at the top level; a score that does not exist is None."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self), allow_nan=False))
        compared: dict[str, Any] = plain.pop("comparison")
        return {**plain, **compared}


def evaluate(
    split: str,
    predictions: Predictions,
    targets: NDArray[Any],
    combination: Combination,
    *,
    quorum: int,
    best_member: int = 0,
    calibration: Calibration | None = None,
    combined: Predictions | None = None,
    seed: int = 0,
    flags: Sequence[str] = (),
    names: Sequence[str] = (),
) -> Evaluation:
    """Score predictions (members, rows, outputs) against targets: (rows,) int64 or (rows, outputs) float32.

    `combined` (rows, outputs) is the prediction of the gateway, if it was requested; otherwise it is computed here.
    `calibration` has the members' predictions and targets on another split, for temperatures. `names` are what errors
    call the members. Raises `EnsembleError` if
    the inputs cannot be scored.
    """
    score_input_checks.check(split, predictions, targets, combination, names=names)
    score_input_checks.check_positions(len(predictions), quorum=quorum, best_member=best_member)
    if calibration is not None:
        score_input_checks.check("calibration", *calibration, combination, outputs=predictions.shape[2], names=names)
    if combined is None:
        combined = combine(combination, predictions, range(len(predictions)))
    score_input_checks.check_answers(f"{split}: the ensemble", combined, predictions.shape[1:], combination.task)
    classification = combination.task is Task.CLASSIFICATION
    compare = compare_labels if classification else compare_values
    return Evaluation(
        split=split,
        task=combination.task,
        rows=len(targets),
        quorum=quorum,
        ensemble=_scores(combination, predictions, combined, targets, calibration=calibration),
        members=_member_scores(combination, predictions, targets, calibration),
        best_member=best_member,
        comparison=compare(predictions, combined, targets, best_member=best_member, seed=seed),
        uncertainty=_mean_uncertainty(combination, predictions, combined),
        reliability=equal_mass(combined, targets) if classification else (),
        best_reliability=equal_mass(predictions[best_member], targets) if classification else (),
        degradation=degradation(combination, predictions, targets, best_member=best_member, seed=seed),
        flags=tuple(flags),
    )


def _member_scores(
    combination: Combination, predictions: Predictions, targets: NDArray[Any], calibration: Calibration | None
) -> tuple[Scores, ...]:
    """Score each member as an ensemble of one, with the noise variance of the whole ensemble."""
    alone = replace(combination, rule=Rule.MEAN, weights=(1.0,), temperature=1.0, stacking=None)
    scores = []
    for member, served in enumerate(predictions):
        only = slice(member, member + 1)
        held_out = None if calibration is None else (calibration[0][only], calibration[1])
        scores.append(_scores(alone, predictions[only], served, targets, calibration=held_out))
    return tuple(scores)


def _scores(
    combination: Combination,
    predictions: Predictions,
    served: Predictions,
    targets: NDArray[Any],
    *,
    calibration: Calibration | None,
) -> Scores:
    if combination.task is Task.REGRESSION:
        return regression_scores(served, targets, _variance(combination, predictions, served))
    degree = _temperature(combination, calibration)
    width, mass = _calibration_errors(combination, predictions, served, targets, temperature=1.0)
    after: tuple[float, float] | tuple[None, None] = (None, None)
    if degree is not None:
        after = _calibration_errors(combination, predictions, served, targets, temperature=degree)
    return ClassificationScores(
        accuracy=float(hits(served, targets).mean()),
        log_loss=float(log_losses(served, targets).mean()),
        brier=brier(served, targets),
        ece_equal_width=width,
        ece_equal_mass=mass,
        ece_equal_width_after_temperature=after[0],
        ece_equal_mass_after_temperature=after[1],
        temperature=degree,
    )


def _temperature(combination: Combination, calibration: Calibration | None) -> float | None:
    """The temperature of the combination, or else the best one on the calibration split."""
    if combination.temperature != 1.0:
        return combination.temperature
    if calibration is None:
        return None
    predictions, targets = calibration
    return combination_fitting.temperature(combine(combination, predictions, range(len(predictions))), targets)


def _calibration_errors(
    combination: Combination,
    predictions: Predictions,
    served: Predictions,
    targets: NDArray[Any],
    *,
    temperature: float,
) -> tuple[float, float]:
    """Calibration errors with bins of equal width and equal mass, at this temperature."""
    if temperature != combination.temperature:
        served = combine(replace(combination, temperature=temperature), predictions, range(len(predictions)))
    return calibration_error(equal_width(served, targets)), calibration_error(equal_mass(served, targets))


def _variance(combination: Combination, predictions: Predictions, served: Predictions) -> NDArray[np.float32] | None:
    """The variance of the mixture of the members (Lakshminarayanan et al. 2017, section 2.4)."""
    if not combination.noise_variance:
        return None
    return uncertainty(combination, predictions, served, range(len(predictions))).variance


def _mean_uncertainty(
    combination: Combination, predictions: Predictions, served: Predictions
) -> MeanEntropy | MeanVariance:
    found = uncertainty(combination, predictions, served, range(len(predictions)))
    if found.entropy is not None and found.mutual_information is not None:
        return MeanEntropy(*_split(found.entropy, found.mutual_information))
    assert found.variance is not None and found.disagreement is not None
    return MeanVariance(*_split(found.variance, found.disagreement))


def _split(whole: NDArray[np.float32], part: NDArray[np.float32]) -> tuple[float, float, float]:
    """Means of the whole, of the rest, and of the part."""
    total, disagreement = float(whole.mean(dtype=np.float64)), float(part.mean(dtype=np.float64))
    return total, max(total - disagreement, 0.0), disagreement
