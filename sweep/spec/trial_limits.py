"""The `limits` block of the sweep file; CLI, api process and scheduler."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from podium.sweep.spec.strict_model import Model

MAX_GRACE_S = 300.0


class SpecLimits(Model):
    """The limits of each attempt: times in seconds, memory and disk in MB."""

    trial_s: float | None = Field(None, gt=0, description="duration of an attempt, in seconds; null: no limit")
    on_timeout: Literal["fail", "finish"] = Field(
        "fail", description="at trial_s, the trial fails, or finishes with the values reported so far"
    )
    silence_s: float | None = Field(None, gt=0, description="seconds between two reports; null: no limit")
    start_s: float = Field(60.0, gt=0, description="seconds until user code starts")
    join_s: float = Field(
        180.0, gt=0, description="seconds until each rank of a trial with several devices has connected to rank 0"
    )
    stall_s: float | None = Field(
        300.0, gt=0, description="seconds in which no rank reports, prints or computes; null: no limit"
    )
    grace_s: float = Field(5.0, ge=0, le=MAX_GRACE_S, description="seconds between SIGTERM and SIGKILL")
    memory_mb: float | None = Field(None, ge=64, description="host memory of all processes of the trial, in MB")
    log_mb: float = Field(
        8.0, ge=1, le=1024, description="log size, in MB; of a longer log, the beginning and the end are kept"
    )
    work_dir_mb: float | None = Field(1024.0, ge=1, description="size of working and temporary directories, in MB")
