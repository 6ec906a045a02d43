"""Imported studies, which show many trials or parameters of known results without running them."""

from __future__ import annotations

import random
from typing import Any

PARAMETERS = 26
DECISIVE = "p17"  # the only parameter that the score depends on
ENDED = {"finished": 30, "pruned": 8, "failed": 4}  # trials, in this order
LINES = 2_000


def tied_study() -> dict[str, Any]:
    """Trials over 26 parameters, some pruned or failed: the score has three values, and the objective `flat` one."""
    draw = random.Random(1)
    names = [f"p{number:02}" for number in range(PARAMETERS)]
    trials = [
        _trial(state, {name: draw.random() for name in names}) for state, count in ENDED.items() for _ in range(count)
    ]
    metrics = [{"name": "score", "goal": "maximize"}, {"name": "flat", "goal": "minimize"}]
    return _study("ties", metrics, names, trials)


def _trial(state: str, params: dict[str, float]) -> dict[str, Any]:
    """The score is 0, 1 or 2; the last report of a trial without a result is between them."""
    score = float(int(3 * params[DECISIVE]))
    if state == "finished":
        return {"state": state, "params": params, "values": [score, 0.5]}
    return {"state": state, "params": params, "metrics": {"score": [[0, 0.1], [1, score / 2 + 0.25]]}}


def dense_study() -> dict[str, Any]:
    """More trials than parallel coordinates draw as single lines."""
    draw = random.Random(2)
    points = [(draw.random(), draw.random()) for _ in range(LINES)]
    trials = [{"state": "finished", "params": {"x": x, "y": y}, "values": [(x - 0.3) ** 2 + y**2]} for x, y in points]
    return _study("dense", [{"name": "loss", "goal": "minimize"}], ["x", "y"], trials)


def _study(name: str, metrics: list[Any], names: list[str], trials: list[Any]) -> dict[str, Any]:
    parameters = {each: {"min": 0.0, "max": 1.0} for each in names}
    return {"name": name, "source": "a test", "metrics": metrics, "parameters": parameters, "trials": trials}
