"""The `resources` block of the sweep file; CLI, api process and scheduler."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from podium.sweep.spec.strict_model import Model


class Resources(Model):
    """The resources of a trial: one device, and CPU threads."""

    device: Literal["auto", "gpu", "cpu"] = Field("auto", description="device kind; auto: any device of the service")
    max_concurrent: int | None = Field(
        None, ge=1, description="maximum number of running trials of this sweep; default: one on each device"
    )
    threads: int | None = Field(
        None, ge=1, le=1024, description="threads of a trial on the CPU; default: its share of the cores"
    )
