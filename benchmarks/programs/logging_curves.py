"""A trial that only logs: four metrics per step, as fast as they are accepted."""

from __future__ import annotations

from typing import Any


def objective(trial: Any) -> float:
    for step in range(int(trial.params["steps"])):
        trial.log(dict.fromkeys(("a", "b", "c", "d"), step * 0.5), step)
    return float(trial.params["x"])
