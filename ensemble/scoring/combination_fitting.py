"""Fits the parameters of a combination on rows that no member was selected on; api and host processes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.scoring.combine import apply_temperature, combine
from podium.ensemble.values.ensemble_snapshot import Combination, Stacking
from podium.ensemble.values.ensemble_spec import Rule, Task
from podium.sweep.values.errors import EnsembleError

MIN_ROWS = 10
EM_STEPS = 1000
EM_TOLERANCE = 1e-7
STACKING_C = 1.0  # inverse strength of the L2 penalty
STACKING_ALPHA = 1.0
LOG_TEMPERATURES = (math.log(0.05), math.log(20.0))
_TINY = np.finfo(np.float32).tiny

Predictions = NDArray[np.float32]


def fit(
    rule: Rule,
    task: Task,
    predictions: Predictions,
    targets: NDArray[Any],
    *,
    weights: Sequence[float] | None,
    calibrate: bool,
    names: Sequence[str] = (),
) -> Combination:
    """Fit the combination `rule` on predictions (members, rows, outputs) and targets.

    Given `weights` are kept. For regression, the noise variance is fitted too. `names` are what errors call the
    members; without them, their positions from 0. Raises `EnsembleError` if there are too
    few rows or predictions are not finite.
    """
    _check(predictions, names or [f"member {position}" for position in range(len(predictions))])
    if weights is None:
        weights = _weights(rule, task, predictions, targets)
    stacking = _stacking(task, predictions, targets) if rule is Rule.STACKING else None
    plain = Combination(task, rule, tuple(weights), stacking=stacking)
    outputs = combine(plain, predictions, range(len(predictions)))
    if task is Task.REGRESSION:
        noise = tuple(((targets - outputs) ** 2).mean(axis=0, dtype=np.float64).tolist())
        return Combination(task, rule, plain.weights, noise_variance=noise, stacking=stacking)
    warmth = temperature(outputs, targets) if calibrate else 1.0
    return Combination(task, rule, plain.weights, temperature=warmth, stacking=stacking)


def _check(predictions: Predictions, names: Sequence[str]) -> None:
    if predictions.shape[1] < MIN_ROWS:
        raise EnsembleError(f"fitting needs at least {MIN_ROWS} rows, got {predictions.shape[1]}")
    broken = [name for name, said in zip(names, predictions, strict=True) if not np.isfinite(said).all()]
    if broken:
        raise EnsembleError(f"non-finite predictions of {', '.join(broken)}; exclude them")


def temperature(probabilities: Predictions, targets: NDArray[np.int64]) -> float:
    """The T in 0.05 to 20 that minimizes the log-loss of p^(1/T) (Guo et al. 2017, section 4.2).

    `probabilities` is (rows, classes). Returns 1 if no other T is better. Raises `EnsembleError` without rows.
    """
    from scipy.optimize import minimize_scalar

    if not len(targets):
        raise EnsembleError("fitting a temperature needs at least one row in the calibration split")
    rows = np.arange(len(targets))

    def log_loss(log_temperature: float) -> float:
        right = apply_temperature(probabilities, math.exp(log_temperature))[rows, targets]
        return float(-np.log(np.maximum(right, _TINY), dtype=np.float64).mean())

    found = minimize_scalar(log_loss, bounds=LOG_TEMPERATURES, method="bounded", options={"xatol": 1e-4})
    return math.exp(float(found.x)) if found.fun < log_loss(0.0) else 1.0


def _weights(rule: Rule, task: Task, predictions: Predictions, targets: NDArray[Any]) -> tuple[float, ...]:
    members = len(predictions)
    if rule is not Rule.WEIGHTED:
        return (1 / members,) * members
    if task is Task.CLASSIFICATION:
        return mixture_weights(predictions[:, np.arange(len(targets)), targets])
    return simplex_least_squares(predictions.reshape(members, -1), targets.reshape(-1))


def mixture_weights(right: NDArray[np.float32]) -> tuple[float, ...]:
    """The mixture weights that maximize the likelihood of the true classes, by EM (Dempster, Laird & Rubin 1977).

    `right` is (members, rows): each member's probability of the true class. The likelihood is concave in the weights.
    """
    likelihoods = np.maximum(right.astype(np.float64), _TINY)
    weights = np.full(len(right), 1 / len(right))
    for _ in range(EM_STEPS):
        shares = weights[:, None] * likelihoods
        after = (shares / shares.sum(axis=0)).mean(axis=1)
        moved = np.abs(after - weights).max()
        weights = after
        if moved < EM_TOLERANCE:
            break
    return tuple((weights / weights.sum()).tolist())


def simplex_least_squares(values: NDArray[np.float32], targets: NDArray[np.float32]) -> tuple[float, ...]:
    """Non-negative weights summing to 1 with the least squared error of the weighted mean of (members, n).

    The error of weights w is |R w|, where R holds the residuals of each member. Non-negative least squares (Lawson &
    Hanson 1974, chapter 23) of R w = 0 and c (sum of w) = c, scaled to a sum of 1, has the same solution for any c: for
    a sum s the error is s |R w|, so that a smaller |R w| is always better.
    """
    from scipy.optimize import nnls

    off = values.T.astype(np.float64) - targets.astype(np.float64)[:, None]
    size = max(float(np.abs(off).max()), float(_TINY))
    reduced = np.linalg.qr(off / size, mode="r")  # (members, members), with the same |R w|, without
    one = max(float(np.linalg.norm(reduced, axis=0).min()), 1e-3)
    found, _ = nnls(np.vstack([reduced, np.full(len(values), one)]), np.append(np.zeros(len(reduced)), one))
    return tuple((found / found.sum()).tolist())


def _stacking(task: Task, predictions: Predictions, targets: NDArray[Any]) -> Stacking:
    """Fit stacking (Wolpert 1992): a linear model with an L2 penalty over all members' log-probabilities or values."""
    members, rows, outputs = predictions.shape
    inputs = predictions if task is Task.REGRESSION else np.log(np.maximum(predictions, _TINY))
    features = inputs.transpose(1, 0, 2).reshape(rows, members * outputs).astype(np.float64)
    if task is Task.REGRESSION:
        from sklearn.linear_model import Ridge

        model = Ridge(alpha=STACKING_ALPHA).fit(features, targets.reshape(rows, outputs))
        return _as_stacking(np.atleast_2d(model.coef_).T, np.atleast_1d(model.intercept_))
    return _stacked_classes(features, targets, outputs)


def _stacked_classes(features: NDArray[np.float64], targets: NDArray[np.int64], classes: int) -> Stacking:
    """Softmax regression. A class missing in the rows gets average slopes and the lowest intercept."""
    from sklearn.linear_model import LogisticRegression

    present = np.unique(targets)
    if len(present) < 2:
        raise EnsembleError("stacking: the rows to fit on have only one class")
    model = LogisticRegression(C=STACKING_C, max_iter=2000).fit(features, targets)
    slopes, offsets = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    if len(present) == 2:  # one row for two classes: half of the difference each way
        slopes, offsets = np.vstack([-slopes, slopes]) / 2, np.concatenate([-offsets, offsets]) / 2
    coefficients = _average_class(slopes.T, present, classes)
    intercept = np.full(classes, float(offsets.min()))
    coefficients[:, present], intercept[present] = slopes.T, offsets
    return _as_stacking(coefficients, intercept)


def _average_class(slopes: NDArray[np.float64], present: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """Extend slopes (members * classes, present) to (members * classes, classes) by averages over the present classes.

    For each member: the average effect of a class's own log-probability, and of another class's.
    """
    known = slopes.reshape(-1, classes, len(present))[:, present]
    own = np.trace(known, axis1=1, axis2=2) / len(present)
    others = (known.sum(axis=(1, 2)) - own * len(present)) / (len(present) * (len(present) - 1))
    same = np.eye(classes)
    whole = own[:, None, None] * same + others[:, None, None] * (1 - same)
    return np.asarray(whole.reshape(len(slopes), classes))


def _as_stacking(coefficients: NDArray[Any], intercept: NDArray[Any]) -> Stacking:
    return Stacking(tuple(map(tuple, coefficients.astype(float).tolist())), tuple(intercept.astype(float).tolist()))
