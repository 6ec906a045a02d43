"""Signatures of user functions, valid and invalid: each is the program of one trial."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import optuna

number = 3


def optuna_objective(trial: optuna.Trial) -> float:
    """As in Optuna's tutorial."""
    x = trial.suggest_float("x", 0, 1)
    assert trial.params["x"] == x and trial.number == 0
    assert trial.datetime_start is not None and not hasattr(trial.study, "sampler")
    for step in range(3):
        trial.report(x, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return x**2


def gives_up_as_optuna_does(trial: Any) -> float:
    raise optuna.exceptions.TrialPruned("as planned")


def defines(trial: Any) -> float:
    """Define-by-run, except for `x`."""
    x = trial.suggest_float("x", 0.0, 1.0)
    layers = trial.suggest_int("layers", 1, 3)
    widths = [trial.suggest_int(f"width {layer}", 8, 64, log=True) for layer in range(layers)]
    kind = trial.suggest_categorical("kind", ["a", "b", None])
    assert trial.suggest_int("layers", 1, 3) == layers
    print(trial.params, trial.distributions)
    return float(x + sum(widths) + (kind == "a"))


def reports_numpys_numbers(trial: Any) -> np.float32:
    trial.report(np.float32(0.5), np.int64(3))
    return np.float32(0.5)


def asks_for_the_sampler(trial: Any) -> float:
    return float(trial.study.sampler)


def of_config(config: dict[str, Any]) -> float:
    assert type(config) is dict
    return float(config["x"])


def of_nested_config(config: dict[str, Any]) -> float:
    return float(config["optimizer"]["lr"] + config["optimizer.lr"])


def of_cfg_by_name(cfg: dict[str, Any]) -> dict[str, float]:
    return {"score": cfg["x"], "loss": 0.5}


def of_anything(settings: Any) -> float:
    return float(settings["x"])


def yields(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    try:
        for epoch in range(3):
            yield {"score": config["x"] + epoch, "loss": 0.5, "note": "good"}
    finally:
        print("closed")


def yields_with_steps(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"score": 1.0, "step": 10}
    yield {"score": 2.0, "step": 20}


def yields_numbers(trial: Any) -> Iterator[float]:
    yield 1.0
    yield trial.params["x"]


def returns_another_name(config: dict[str, Any]) -> dict[str, float]:
    return {"loss": 0.5}


def takes_nothing() -> float:
    return 1.0


def takes_two(trial: Any, data: Any) -> float:
    return 1.0


async def is_async(trial: Any) -> float:
    return 1.0


def fails_inside(trial: Any) -> float:
    return _deeper(trial)


def _deeper(trial: Any) -> float:
    trial.report("high", step=0)
    return 1.0


def chooses_a_list(trial: Any) -> float:
    trial.suggest_categorical("shape", [[1, 2], [3]])
    return 1.0


def asks_twice(trial: Any) -> float:
    """Reports, suggests before it checks for pruning, and then checks."""
    for step in range(2):
        trial.report(0.5, step)
        time.sleep(0.2)
        trial.suggest_float(f"late {step}", 0.0, 1.0)
        if trial.should_prune():
            raise trial.Pruned
    return 1.0


RATE = os.environ.get("RATE")  # its value on import


def reads_its_environment(trial: Any) -> float:
    return float(RATE or "nan")
