"""When a trial ends early and finishes with what it has reported; a block of the sweep file; cli, api and scheduler."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from podium.sweep.spec.strict_model import Model

STEP = "step"
TRAINING_ITERATION = "training_iteration"  # Ray's name
MAX_CONDITIONS = 20
ObjectiveRule = Literal["last", "best", "min", "max"]


class StopCondition(Model):
    """A trial ends, as finished, as soon as a metric is at least as large as a number."""

    metric: str = Field(
        min_length=1, max_length=200, description="step, training_iteration, or any metric that the trial reports"
    )
    at: float = Field(allow_inf_nan=False, description="the trial ends when the metric is at least this")


def conditions(written: Any) -> Any:
    """One condition, a list of them, or Ray's `{metric: at, …}`, as a list; anything else as it is, to be refused."""
    if not isinstance(written, dict):
        return written
    if "metric" in written or "at" in written:
        return [written]
    return [{"metric": name, "at": at} for name, at in written.items()]
