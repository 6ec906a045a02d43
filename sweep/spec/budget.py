"""When a sweep has done enough, and what is kept of it; blocks of the sweep file; cli, api and scheduler."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from podium.sweep.spec.strict_model import Model


class Plateau(Model):
    """The sweep ends when `trials` counted ones in a row have not improved the best by more than `min_delta`."""

    trials: int = Field(ge=1, description="how many in a row, of those that count")
    min_delta: float = Field(0.0, ge=0, allow_inf_nan=False, description="what counts as better")


class Budget(Model):
    """What the whole sweep may take; the first that is spent ends it, and running trials end as on `stop`."""

    wall_s: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="since its first trial started; pauses count"
    )
    device_s: float | None = Field(None, gt=0, allow_inf_nan=False, description="of all its attempts together")
    plateau: Plateau | None = Field(None, description="when nothing gets better any more")


class Keep(Model):
    """What of finished trials stays on the disk; predictions on validation and calibration rows always do."""

    checkpoints: Literal["none", "best", "all"] = Field("none", description="of the finished trials; best: of the best")
    models: int | None = Field(None, ge=1, description="the weights of so many best trials; all where it is left out")

    artifacts: int | None = Field(
        None, ge=1, description="the files saved by `save_artifact`, of so many best trials; all where it is left out"
    )

    @property
    def removes_something(self) -> bool:
        """Whether somebody has to look at what trials have left, after they have ended."""
        return self.models is not None or self.artifacts is not None or self.checkpoints == "best"
