"""An evaluation has every figure for members and ensemble, is plain JSON, and refuses input that cannot be scored."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn import metrics

from podium.ensemble.scoring import combination_fitting
from podium.ensemble.scoring.calibration_error import calibration_error, equal_mass, equal_width
from podium.ensemble.scoring.combine import combine
from podium.ensemble.scoring.ensemble_and_member_evaluation import MeanEntropy, MeanVariance, evaluate
from podium.ensemble.scoring.scores import ClassificationScores, RegressionScores
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Rule, Task
from podium.sweep.values.errors import EnsembleError

seeds = st.integers(0, 2**32)
Array = NDArray[np.float32]


def _mean_of(members: int, task: Task = Task.CLASSIFICATION, **values: Any) -> Combination:
    return Combination(task, Rule.MEAN, (1 / members,) * members, **values)


def _networks(
    generator: np.random.Generator, members: int, rows: int, classes: int = 3, sharpness: float = 1.0
) -> tuple[Array, NDArray[np.int64]]:
    """Probabilities of networks that are usually right, and overconfident if `sharp`."""
    targets = generator.integers(0, classes, rows)
    logits = sharpness * (np.eye(classes)[targets] + generator.standard_normal((members, rows, classes)))
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32), targets


def _regressors(generator: np.random.Generator, members: int, rows: int, outputs: int = 2) -> tuple[Array, Array]:
    targets = generator.standard_normal((rows, outputs)).astype(np.float32)
    return (targets + 0.5 * generator.standard_normal((members, rows, outputs))).astype(np.float32), targets


@given(seeds, st.integers(1, 4), st.integers(1, 60))
def test_combination_and_every_single_member_are_scored(seed: int, members: int, rows: int) -> None:
    predictions, targets = _networks(np.random.default_rng(seed), members, rows)
    combination = _mean_of(members)
    found = evaluate("test", predictions, targets, combination, quorum=1)
    assert (found.split, found.rows, found.task, len(found.members)) == ("test", rows, Task.CLASSIFICATION, members)
    combined = combine(combination, predictions, range(members))
    for scores, said in zip((found.ensemble, *found.members), (combined, *predictions), strict=True):
        assert isinstance(scores, ClassificationScores)
        assert scores.accuracy == pytest.approx(metrics.accuracy_score(targets, said.argmax(axis=1)))
        assert scores.ece_equal_width == calibration_error(equal_width(said, targets))
        assert scores.ece_equal_mass == calibration_error(equal_mass(said, targets))
        assert (scores.ece_equal_width_after_temperature, scores.ece_equal_mass_after_temperature) == (None, None)
        assert scores.temperature is None
    assert found.reliability == equal_mass(combined, targets)
    everyone = found.degradation.subsets[-1]
    assert isinstance(found.ensemble, ClassificationScores)
    assert everyone.scores == {"accuracy": found.ensemble.accuracy, "log_loss": found.ensemble.log_loss}


def test_answers_of_the_service_are_scored_when_given() -> None:
    predictions, targets = _networks(np.random.default_rng(0), 2, 30)
    answered = np.eye(3, dtype=np.float32)[targets]
    found = evaluate("test", predictions, targets, _mean_of(2), quorum=1, combined=answered)
    assert isinstance(found.ensemble, ClassificationScores)
    assert (found.ensemble.accuracy, found.ensemble.log_loss, found.ensemble.brier) == (1, 0, 0)


def test_difference_is_ensemble_minus_the_member_that_was_best_in_validation() -> None:
    right, wrong = np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32)[::-1]
    predictions, targets = np.stack([right, wrong]), np.array([0, 1])
    found = evaluate("test", predictions, targets, _mean_of(2), quorum=1, best_member=1, combined=right).comparison
    assert (found.metric, found.difference, found.difference_ci95) == ("accuracy", 1.0, (1.0, 1.0))
    assert found.mcnemar is not None
    assert (found.mcnemar.only_ensemble_right, found.mcnemar.only_best_right, found.mcnemar.p_value) == (2, 0, 0.5)
    assert found.log_loss_difference == pytest.approx(-87.3, abs=0.1)
    assert found.disagreement == ((0.0, 1.0), (1.0, 0.0))
    assert evaluate("test", predictions, targets, _mean_of(2), quorum=1, combined=right).comparison.difference == 0.0


def test_temperature_of_the_calibration_split_corrects_overconfident_networks() -> None:
    generator = np.random.default_rng(1)
    predictions, targets = _networks(generator, 3, 3000, sharpness=4.0)
    calibration = _networks(generator, 3, 3000, sharpness=4.0)
    found = evaluate("test", predictions, targets, _mean_of(3), quorum=2, calibration=calibration)
    for scores in (found.ensemble, *found.members):
        assert isinstance(scores, ClassificationScores)
        assert scores.temperature is not None
        assert scores.ece_equal_width_after_temperature is not None
        assert scores.ece_equal_width_after_temperature < scores.ece_equal_width
        assert scores.ece_equal_mass_after_temperature is not None
        assert scores.ece_equal_mass_after_temperature < scores.ece_equal_mass
    member = found.members[1]
    assert isinstance(member, ClassificationScores)
    assert member.temperature is not None
    assert member.temperature > 1
    assert member.temperature == pytest.approx(
        combination_fitting.temperature(calibration[0][1], calibration[1]), rel=1e-6
    )
    cooler = predictions[1].astype(np.float64) ** (1 / member.temperature)
    cooler /= cooler.sum(axis=1, keepdims=True)
    for found_error, binned in (
        (member.ece_equal_width_after_temperature, equal_width(cooler.astype(np.float32), targets)),
        (member.ece_equal_mass_after_temperature, equal_mass(cooler.astype(np.float32), targets)),
    ):
        assert found_error == pytest.approx(calibration_error(binned), abs=1e-4)


def test_served_temperature_is_not_fitted_again() -> None:
    generator = np.random.default_rng(2)
    predictions, targets = _networks(generator, 2, 500, sharpness=4.0)
    plain, served = _mean_of(2), _mean_of(2, temperature=3.0)
    found = evaluate("test", predictions, targets, served, quorum=1, calibration=_networks(generator, 2, 500))
    without = evaluate("test", predictions, targets, plain, quorum=1)
    assert isinstance(found.ensemble, ClassificationScores)
    assert isinstance(without.ensemble, ClassificationScores)
    assert found.ensemble.temperature == 3.0
    assert found.ensemble.ece_equal_width == without.ensemble.ece_equal_width
    assert found.ensemble.ece_equal_mass == without.ensemble.ece_equal_mass
    assert found.ensemble.ece_equal_mass_after_temperature == calibration_error(found.reliability)
    assert found.ensemble.log_loss != without.ensemble.log_loss
    assert found.ensemble.accuracy == without.ensemble.accuracy


@given(seeds, st.integers(1, 4))
def test_entropy_is_expected_entropy_plus_mutual_information(seed: int, members: int) -> None:
    predictions, targets = _networks(np.random.default_rng(seed), members, 40)
    found = evaluate("test", predictions, targets, _mean_of(members), quorum=1).uncertainty
    assert isinstance(found, MeanEntropy)
    wide = predictions.astype(np.float64)
    assert found.predictive_entropy == pytest.approx(stats.entropy(wide.mean(axis=0), axis=-1).mean(), abs=1e-5)
    assert found.expected_entropy == pytest.approx(stats.entropy(wide, axis=-1).mean(), abs=1e-5)
    assert found.predictive_entropy == pytest.approx(found.expected_entropy + found.mutual_information, abs=1e-6)


@given(seeds, st.integers(1, 4), st.integers(1, 40), st.integers(1, 3))
def test_values_are_scored_with_the_variance_of_the_mixture(seed: int, members: int, rows: int, outputs: int) -> None:
    predictions, targets = _regressors(np.random.default_rng(seed), members, rows, outputs)
    noise = (0.25,) * outputs
    found = evaluate("test", predictions, targets, _mean_of(members, Task.REGRESSION, noise_variance=noise), quorum=1)
    wide = predictions.astype(np.float64)
    mean, between = wide.mean(axis=0), wide.var(axis=0)
    assert isinstance(found.ensemble, RegressionScores)
    assert found.ensemble.rmse == pytest.approx(
        metrics.root_mean_squared_error(targets.ravel(), mean.ravel()), rel=1e-4, abs=1e-6
    )
    expected = -stats.norm(mean, np.sqrt(0.25 + between)).logpdf(targets).mean()
    assert found.ensemble.nll == pytest.approx(expected, rel=1e-4, abs=1e-5)
    for scores, values in zip(found.members, wide, strict=True):
        assert isinstance(scores, RegressionScores)
        assert scores.nll == pytest.approx(-stats.norm(values, 0.5).logpdf(targets).mean(), rel=1e-4, abs=1e-5)
        assert scores.interval95_width == pytest.approx(2 * 1.96 * 0.5, rel=1e-3)
    assert isinstance(found.uncertainty, MeanVariance)
    assert found.uncertainty.variance_of_means == pytest.approx(between.mean(), rel=1e-3, abs=1e-6)
    assert found.uncertainty.noise_variance == pytest.approx(0.25, abs=1e-5)
    assert (found.comparison.metric, found.comparison.mcnemar, found.reliability) == ("rmse", None, ())


def test_values_without_known_noise_have_no_likelihood() -> None:
    predictions, targets = _regressors(np.random.default_rng(0), 3, 20)
    found = evaluate("test", predictions, targets, _mean_of(3, Task.REGRESSION), quorum=2).to_dict()
    assert [scores["nll"] for scores in (found["ensemble"], *found["members"])] == [None] * 4
    assert found["log_loss_difference"] is None
    assert found["difference"] < 0
    assert found["difference_ci95"][0] < found["difference"] < found["difference_ci95"][1]
    assert found["degradation"]["safe_quorum"] is not None


@pytest.mark.parametrize("rule", Rule)
def test_every_rule_can_be_evaluated(rule: Rule) -> None:
    predictions, targets = _networks(np.random.default_rng(0), 3, 200)
    combination = combination_fitting.fit(rule, Task.CLASSIFICATION, predictions, targets, weights=None, calibrate=True)
    found = evaluate("test", predictions, targets, combination, quorum=2, calibration=(predictions, targets))
    assert isinstance(found.ensemble, ClassificationScores)
    assert found.ensemble.accuracy > 0.4
    assert len(found.degradation.subsets) == 7
    json.dumps(found.to_dict(), allow_nan=False)


def test_evaluation_is_plain_json() -> None:
    predictions, targets = _networks(np.random.default_rng(0), 3, 40)
    found = evaluate("test", predictions, targets, _mean_of(3), quorum=2, flags=["weights were fitted on validation"])
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["task"], plain["rows"], plain["quorum"], plain["best_member"]) == ("classification", 40, 2, 0)
    assert plain["flags"] == ["weights were fitted on validation"]
    assert plain["members"][plain["best_member"]]["accuracy"] == pytest.approx(
        plain["ensemble"]["accuracy"] - plain["difference"]
    )
    assert len(plain["difference_ci95"]) == len(plain["log_loss_difference_ci95"]) == 2
    assert plain["degradation"]["subsets"][3]["answered"] == [0, 1]
    assert sum(bin_["count"] for bin_ in plain["reliability"]) == 40


def test_evaluation_is_determined_by_its_seed() -> None:
    predictions, targets = _networks(np.random.default_rng(0), 2, 200)
    one, again, other = (
        evaluate("test", predictions, targets, _mean_of(2), quorum=1, seed=seed).to_dict() for seed in (5, 5, 6)
    )
    assert one == again
    assert one["log_loss_difference_ci95"] != other["log_loss_difference_ci95"]


def test_invalid_input_is_refused_by_name() -> None:
    predictions, targets = _networks(np.random.default_rng(0), 2, 10)
    bad: list[tuple[str, dict[str, Any]]] = [
        (
            r"test: expected non-empty .* got shape \(2, 0, 3\)",
            {"predictions": predictions[:, :0], "targets": targets[:0]},
        ),
        ("test: member 0 returned a non-finite value", {"predictions": predictions * np.nan}),
        ("the ensemble returned shape", {"combined": predictions[0][:9]}),
        ("the ensemble returned a non-finite value", {"combined": predictions[0] * np.nan}),
        ("invalid quorum 3; expected 1 to 2", {"quorum": 3}),
        ("invalid best member 2; expected 0 to 1", {"best_member": 2}),
        ("calibration: predictions of 1 members", {"calibration": (predictions[:1], targets)}),
        ("calibration: predictions of 2 outputs", {"calibration": (predictions[:, :, :2], targets)}),
        ("calibration: targets have shape", {"calibration": (predictions, targets[:3])}),
    ]
    good: dict[str, Any] = {"predictions": predictions, "targets": targets, "combination": _mean_of(2), "quorum": 1}
    assert evaluate("test", **good).rows == 10
    for message, change in bad:
        with pytest.raises(EnsembleError, match=message):
            evaluate("test", **{**good, **change})
