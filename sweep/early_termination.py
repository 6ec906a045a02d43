"""Which running trials are given up; a block of the sweep file; cli, api and scheduler."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sweep.strict import Model


class EarlyTerminate(Model):
    """Which running trials to prune, from their reports of the metric.

    `asha`: at each rung (`min_iter` x `eta`^r steps) only the best 1/`eta` go on (Li et al. 2020, Algorithm 2).
    `median`: prune what is worse than the median of the earlier trials at the same step, from `min_iter` on.
    """

    type: Literal["asha", "median", "none"]
    min_iter: int = Field(1, ge=1)
    eta: int = Field(3, ge=2)
