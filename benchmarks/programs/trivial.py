"""The smallest trial with torch: use it once and return a value."""

from __future__ import annotations

from typing import Any

import torch


def objective(trial: Any) -> float:
    return float((torch.zeros(3) + 1).sum()) + sum(float(trial.params[name]) ** 2 for name in "xyz")
