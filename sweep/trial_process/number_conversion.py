"""Converts reported numbers and steps of any library to Python's types; trial process."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

STEPS = ("step", "epoch", "training_iteration")


def named_step(metrics: Mapping[Any, Any]) -> int | None:
    """The step among the metrics; None if there is none."""
    return next((found for key in STEPS if (found := integer_of(metrics.get(key))) is not None), None)


def integer_of(value: Any) -> int | None:
    """An integer of Python, numpy or torch; None for anything else."""
    try:
        return None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        return None


def number_of(value: Any) -> float | None:
    """A number of Python, numpy or torch, also NaN and infinities, or a tensor of one; None for anything else."""
    if isinstance(value, bool | np.bool_ | str | bytes):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # torch raises RuntimeError for several values
        return None
