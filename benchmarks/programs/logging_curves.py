"""A trial that does nothing but log: four metrics at each step, as fast as they are taken."""

from __future__ import annotations

from typing import Any


def objective(trial: Any) -> float:
    for step in range(int(trial.params["steps"])):
        trial.log(dict.fromkeys(("a", "b", "c", "d"), step * 0.5), step)
    return float(trial.params["x"])
