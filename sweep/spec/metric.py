"""The `metric` block of the sweep file: an objective; CLI, api process and scheduler."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from podium.sweep.spec.strict_model import Model


class Metric(Model):
    """The metric to optimize."""

    name: str = Field(min_length=1, max_length=120, description="the name under which trials report it")
    goal: Literal["maximize", "minimize"] = Field(description="direction of optimization")
    target: float | None = Field(None, allow_inf_nan=False, description="the sweep ends when a trial reaches it")

    def better(self, one: float, other: float) -> bool:
        """Whether `one` is strictly better than `other`."""
        return one > other if self.goal == "maximize" else one < other

    def reached(self, value: float) -> bool:
        """Whether `value` meets the target; False without one."""
        return self.target is not None and (value == self.target or self.better(value, self.target))
