"""Whether predictions and targets can be scored at all; numpy only, host and tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.values.ensemble_spec import Combination, Task
from podium.sweep.values.errors import EnsembleError

OUTSIDE = 1e-3  # a probability may be so far outside 0 to 1: that of a network that computes in bfloat16


def check(
    split: str,
    predictions: NDArray[Any],
    targets: NDArray[Any],
    combination: Combination,
    *,
    outputs: int | None = None,
) -> None:
    """Predictions are (members, rows, outputs), of this many outputs if that is known. Raises `EnsembleError`."""
    if predictions.ndim != 3 or 0 in predictions.shape:
        raise EnsembleError(
            f"{split}: predictions of shape {predictions.shape}; (members, rows, outputs) is wanted, none of them 0"
        )
    if len(predictions) != len(combination.weights):
        raise EnsembleError(
            f"{split}: predictions of {len(predictions)} members, weights of {len(combination.weights)}"
        )
    if outputs is not None and predictions.shape[2] != outputs:
        raise EnsembleError(f"{split}: predictions of {predictions.shape[2]} outputs; the other split has {outputs}")
    for member, answers in enumerate(predictions):
        check_answers(f"{split}: member {member}", answers, predictions.shape[1:], combination.task)
    _check_targets(split, targets, predictions.shape[1:], combination.task)


def check_answers(whose: str, answers: NDArray[Any], shape: tuple[int, ...], task: Task) -> None:
    """Answers are (rows, outputs) and finite, those of classification probabilities. Raises `EnsembleError`."""
    if answers.shape != shape:
        raise EnsembleError(f"{whose} answered {answers.shape} for {shape} rows and outputs")
    if not np.isfinite(answers).all():
        raise EnsembleError(f"{whose} answered with a value that is not finite; leave it out or evaluate again")
    if task is Task.CLASSIFICATION and (answers.min() < -OUTSIDE or answers.max() > 1 + OUTSIDE):
        raise EnsembleError(f"{whose} answered {answers.min():g} to {answers.max():g}; probabilities are wanted")


def check_positions(members: int, *, quorum: int, best_member: int) -> None:
    """Raises `EnsembleError` for a quorum that cannot be met, or a best member that is none."""
    if not 1 <= quorum <= members:
        raise EnsembleError(f"a quorum of {quorum}, of {members} members; 1 to {members} is possible")
    if not 0 <= best_member < members:
        raise EnsembleError(f"best member {best_member}, of members 0 to {members - 1}")


def _check_targets(split: str, targets: NDArray[Any], shape: tuple[int, ...], task: Task) -> None:
    wanted = shape[:1] if task is Task.CLASSIFICATION else shape
    if targets.shape != wanted:
        raise EnsembleError(f"{split}: targets of shape {targets.shape} for predictions of {shape}; {wanted} is wanted")
    if task is Task.REGRESSION:
        if not np.isfinite(targets).all():
            raise EnsembleError(f"{split}: a target is not finite")
    elif targets.dtype.kind not in "iu" or targets.min() < 0 or targets.max() >= shape[1]:
        raise EnsembleError(f"{split}: targets of {shape[1]} classes are whole numbers from 0 to {shape[1] - 1}")
