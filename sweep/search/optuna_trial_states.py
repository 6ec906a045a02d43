"""States and constraints of trials in Optuna's terms. Scheduler and search processes, import and export of studies."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping

from optuna.trial import FrozenTrial
from optuna.trial import TrialState as OptunaState

from podium.sweep.values.states import TrialState

TO_OPTUNA: Mapping[TrialState, OptunaState] = {
    TrialState.WAITING: OptunaState.WAITING,
    TrialState.RUNNING: OptunaState.RUNNING,
    TrialState.FINISHED: OptunaState.COMPLETE,
    TrialState.PRUNED: OptunaState.PRUNED,
    TrialState.FAILED: OptunaState.FAIL,
    TrialState.CANCELLED: OptunaState.FAIL,  # Optuna has no such state
}
FROM_OPTUNA: Mapping[OptunaState, TrialState] = {
    OptunaState.WAITING: TrialState.WAITING,
    OptunaState.RUNNING: TrialState.RUNNING,
    OptunaState.COMPLETE: TrialState.FINISHED,
    OptunaState.PRUNED: TrialState.PRUNED,
    OptunaState.FAIL: TrialState.FAILED,
}
CONSTRAINT = "constraints:"  # prefix of a system attribute, as `Trial.set_constraint` writes it


def optuna_state(state: TrialState) -> OptunaState:
    """The state for a search: a waiting trial counts as running, so that its values are not chosen again."""
    return OptunaState.RUNNING if state is TrialState.WAITING else TO_OPTUNA[state]


def constraint_attributes(constraints: Mapping[str, float]) -> dict[str, float]:
    """Constraints as a trial's system attributes."""
    return {CONSTRAINT + name: value for name, value in constraints.items()}


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """The constraints by name; those of a sampler's `constraints_func` are named 0, 1, and so on.

    Infinite values become the largest float; NaN is left out.
    """
    largest = sys.float_info.max
    return {
        name: max(-largest, min(largest, float(value)))
        for name, value in trial.constraints.items()
        if not math.isnan(value)
    }
