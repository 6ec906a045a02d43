"""Callables that are not plain functions: instances, partials, bound methods, and classes by mistake."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any


class Objective:
    """As in Optuna's FAQ: an objective with data."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, trial: Any) -> float:
        return float(trial.suggest_float("x", 0, 1) * self.scale)

    def method(self, config: dict[str, Any]) -> float:
        return float(config["x"] * self.scale)

    @classmethod
    def of_class(cls, trial: Any) -> float:
        return float(trial.params["x"])

    @staticmethod
    def of_config(config: dict[str, Any]) -> float:
        return float(config["x"])


class Yields:
    """A generator as `__call__`."""

    def __call__(self, config: dict[str, Any]) -> Iterator[float]:
        yield 1.0
        yield float(config["x"])


class TakesTwo:
    """Requires more arguments than a trial."""

    def __call__(self, trial: Any, data: Any) -> float:
        return 0.0


class Slotted:
    """Has no `__dict__`, and a name of its own."""

    __slots__ = ()

    def __call__(self, config: dict[str, Any]) -> float:
        return float(config["x"])


def with_data(data: list[float], trial: Any, *, offset: float) -> float:
    return float(trial.params["x"] + sum(data) + offset)


def of_config_with_data(config: dict[str, Any], data: list[float]) -> float:
    return float(config["x"] + sum(data))


def takes_three(trial: Any, data: Any, more: Any) -> float:
    return 0.0


objective = Objective(2.0)
bound = objective.method
of_class = Objective.of_class
static = Objective.of_config
yields = Yields()
slotted = Slotted()
takes_two = TakesTwo()
partial = functools.partial(with_data, [1.0], offset=0.5)
partial_config = functools.partial(of_config_with_data, data=[1.0])
partial_of_instance = functools.partial(objective)
partial_of_partial = functools.partial(partial, offset=1.5)
partial_short = functools.partial(takes_three, data=1)
partial_full = functools.partial(with_data, [1.0], None, offset=0.5)
table = {"objective": objective}


def logs_images(trial: Any) -> float:
    """An array, a tensor with the channels first, and an image that is refused."""
    import numpy as np
    import torch

    for step in range(2):
        trial.log_image("val/samples", np.full((4, 6), step / 2), step)
    trial.log_image("tensor", torch.zeros(3, 4, 6), 0)
    try:
        trial.log_image("bad", np.zeros(3), 0)
    except Exception as error:
        print(f"refused: {error}")
    return 0.5


def saves_artifacts(trial: Any) -> float:
    """An image, a table under another name, and a folder."""
    from pathlib import Path

    (trial.dir / "plot.png").write_bytes(b"\x89PNG")
    (trial.dir / "figures").mkdir()
    (trial.dir / "figures" / "one.txt").write_text("one")
    trial.save_artifact(trial.dir / "plot.png")
    trial.save_artifact("plot.png", name="table.csv")
    trial.save_artifact(Path("figures"))
    return 0.5


def saves_nothing_there(trial: Any) -> None:
    trial.save_artifact("nowhere.png")
