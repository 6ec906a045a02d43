"""Validates predictions and targets before scoring; numpy only, host process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Task
from podium.sweep.values.errors import EnsembleError

OUTSIDE = 1e-3  # tolerance for probabilities outside 0 to 1: networks may compute in bfloat16


def check(
    split: str,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    combination: Combination,
    *,
    outputs: int | None = None,
    names: Sequence[str] = (),
) -> None:
    """Check predictions (members, rows, outputs), with `outputs` outputs if given. Raises `EnsembleError`.

    `names` are what errors call the members; without them, their positions from 0.
    """
    if predictions.ndim != 3 or 0 in predictions.shape:
        raise EnsembleError(
            f"{split}: expected non-empty predictions (members, rows, outputs), got shape {predictions.shape}"
        )
    if len(predictions) != len(combination.weights):
        raise EnsembleError(
            f"{split}: predictions of {len(predictions)} members, but {len(combination.weights)} weights"
        )
    if outputs is not None and predictions.shape[2] != outputs:
        raise EnsembleError(f"{split}: predictions of {predictions.shape[2]} outputs; the other split has {outputs}")
    for member, answers in zip(names or _positions(len(predictions)), predictions, strict=True):
        check_answers(f"{split}: {member}", answers, predictions.shape[1:], combination.task)
    _check_targets(split, targets, predictions.shape[1:], combination.task)


def _positions(count: int) -> list[str]:
    return [f"member {position}" for position in range(count)]


def check_answers(whose: str, answers: NDArray[Any], shape: tuple[int, ...], task: Task) -> None:
    """Check that answers are finite (rows, outputs), and probabilities for classification. Raises `EnsembleError`."""
    if answers.shape != shape:
        raise EnsembleError(f"{whose} returned shape {answers.shape}; expected (rows, outputs) {shape}")
    if not np.isfinite(answers).all():
        raise EnsembleError(f"{whose} returned a non-finite value; exclude it or evaluate again")
    if task is Task.CLASSIFICATION and (answers.min() < -OUTSIDE or answers.max() > 1 + OUTSIDE):
        raise EnsembleError(
            f"{whose} returned values from {answers.min():g} to {answers.max():g}; expected probabilities"
        )


def check_positions(members: int, *, quorum: int, best_member: int) -> None:
    """Check the quorum and the position of the best member. Raises `EnsembleError`."""
    if not 1 <= quorum <= members:
        raise EnsembleError(f"invalid quorum {quorum}; expected 1 to {members}")
    if not 0 <= best_member < members:
        raise EnsembleError(f"invalid best member {best_member}; expected 0 to {members - 1}")


def _check_targets(split: str, targets: NDArray[Any], shape: tuple[int, ...], task: Task) -> None:
    expected = shape[:1] if task is Task.CLASSIFICATION else shape
    if targets.shape != expected:
        raise EnsembleError(f"{split}: targets have shape {targets.shape}; expected {expected}")
    if task is Task.REGRESSION:
        if not np.isfinite(targets).all():
            raise EnsembleError(f"{split}: a target is not finite")
    elif targets.dtype.kind not in "iu" or targets.min() < 0 or targets.max() >= shape[1]:
        raise EnsembleError(f"{split}: targets of {shape[1]} classes must be integers from 0 to {shape[1] - 1}")
