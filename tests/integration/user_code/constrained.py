"""Constraints as Optuna's `constraints_func`, and ways to get them wrong."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import optuna


def objective(trial: Any) -> float:
    x = trial.suggest_float("x", 0.0, 1.0)
    trial.set_user_attr("size", 3 * x)
    trial.set_constraint("by hand", -1.0)
    trial.report(0.5, 0)
    trial.report(0.75, 4)
    if trial.should_prune():
        raise trial.Pruned
    return float(x)


def fails(trial: Any) -> float:
    raise RuntimeError("no result")


def of_the_trial(trial: optuna.trial.FrozenTrial) -> list[float]:
    """Reads every attribute that Optuna's own trial has."""
    assert trial.state in (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    assert trial.number == 0 and trial.intermediate_values == {0: 0.5, 4: 0.75} and trial.last_step == 4
    assert trial.duration is not None and trial.distributions["x"] == {"min": 0.0, "max": 1.0}
    assert trial.constraints == {"by hand": -1.0}
    print(trial.state, trial.value)
    return [trial.user_attrs["size"] - 1.0, trial.params["x"] - 2.0]


def as_array(trial: Any) -> Any:
    return np.array([0.5, -np.inf])


def by_name(trial: Any) -> dict[str, float]:
    return {"size": 0.5}


def of_nan(trial: Any) -> list[float]:
    return [float("nan")]


def of_one_number(trial: Any) -> float:
    return 0.5


def of_words(trial: Any) -> list[str]:
    return ["large"]


def raises(trial: Any) -> list[float]:
    raise KeyError("no such attribute")


def takes_two(trial: Any, more: Any) -> list[float]:
    return []


def reports_then_sleeps(trial: Any) -> float:
    trial.report(0.5, 0)
    time.sleep(1000)
    return -1.0


def reports_for_ever(trial: Any) -> float:
    """Fails while it is stopped, too."""
    step = 0
    try:
        while True:
            trial.report(0.5, step)
            step += 1
    finally:
        trial.no_such_method()


def sleeps(trial: Any) -> list[float]:
    time.sleep(1000)
    return []
