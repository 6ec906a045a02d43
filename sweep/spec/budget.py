"""The `budget` block of the sweep file: limits that end the sweep; CLI, api process and scheduler."""

from __future__ import annotations

from pydantic import Field

from podium.sweep.spec.strict_model import Model


class Plateau(Model):
    """Ends the sweep after `trials` consecutive counted trials without an improvement of more than `min_delta`."""

    trials: int = Field(ge=1, description="number of consecutive counted trials without improvement")
    min_delta: float = Field(0.0, ge=0, allow_inf_nan=False, description="smallest change that counts as improvement")


class Budget(Model):
    """Limits of the whole sweep. The first one reached ends it; running trials end as with `podium sweep stop`."""

    wall_s: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="seconds since the first trial started, including pauses"
    )
    device_s: float | None = Field(None, gt=0, allow_inf_nan=False, description="device seconds, over all attempts")
    plateau: Plateau | None = Field(None, description="stop when the best value no longer improves")
