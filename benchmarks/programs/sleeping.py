"""A trial that takes `seconds` and uses almost no processor time."""

from __future__ import annotations

import time
from typing import Any


def objective(trial: Any) -> float:
    time.sleep(trial.params["seconds"])
    return float(trial.params["x"])
