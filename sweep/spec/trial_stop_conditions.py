"""The `stop` block of the sweep file: conditions that end a trial as finished; CLI, api process and scheduler."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from podium.sweep.spec.strict_model import Model

STEP = "step"
TRAINING_ITERATION = "training_iteration"  # Ray Tune's name
MAX_CONDITIONS = 20
ObjectiveRule = Literal["last", "best", "min", "max"]
ValueRule = Literal["last", "min", "max"]  # `best` is resolved by the goal


class StopCondition(Model):
    """Ends a trial, as finished, as soon as a metric reaches a value."""

    metric: str = Field(
        min_length=1, max_length=200, description="step, training_iteration, or any metric that the trial reports"
    )
    at: float = Field(allow_inf_nan=False, description="the trial ends when the metric is at least this value")


def conditions(written: Any) -> Any:
    """Converts a single condition or Ray's `{metric: at, …}` to a list; other values are returned unchanged."""
    if not isinstance(written, dict):
        return written
    if "metric" in written or "at" in written:
        return [written]
    return [{"metric": name, "at": at} for name, at in written.items()]


def value_rule(objective: ObjectiveRule, goal: str, *, is_builtin: bool, has_population: bool) -> ValueRule:
    """Which reported value of the first objective is the value of a trial."""
    if is_builtin and has_population:
        return "last"  # the weights of the last epoch, not of a donor's best one
    if objective == "best" or is_builtin:  # a built-in program returns its best epoch
        return "max" if goal == "maximize" else "min"
    return objective
