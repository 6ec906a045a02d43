"""The `keep` block of the sweep file: which files of finished trials are kept; CLI, api process and scheduler."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from podium.sweep.spec.strict_model import Model


class Keep(Model):
    """Which files of finished trials are kept. Predictions on validation and calibration rows are always kept."""

    checkpoints: Literal["none", "best", "all"] = Field(
        "none", description="checkpoints to keep: of no finished trial, of the best one, or of all"
    )
    models: int | None = Field(None, ge=1, description="keep the weights of this many best trials; default: all")

    artifacts: int | None = Field(
        None, ge=1, description="keep the files saved with `save_artifact` of this many best trials; default: all"
    )

    @property
    def removes_something(self) -> bool:
        """Whether files of ended trials may have to be removed."""
        return self.models is not None or self.artifacts is not None or self.checkpoints == "best"
