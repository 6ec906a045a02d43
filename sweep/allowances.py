"""What a trial may take, and how often it is tried; blocks of the sweep file; cli, api and scheduler."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sweep.strict import Model

MAX_GRACE_S = 300.0


class Resources(Model):
    """What a trial gets: one device, and a share of the machine's threads."""

    device: Literal["auto", "gpu", "cpu"] = "auto"
    max_concurrent: int | None = Field(None, ge=1)
    threads: int | None = Field(None, ge=1, le=1024)


class SpecLimits(Model):
    """The bounds of each attempt: clocks in seconds, and what it may take of the machine."""

    trial_s: float | None = Field(None, gt=0)
    silence_s: float | None = Field(None, gt=0)
    start_s: float = Field(60.0, gt=0)
    grace_s: float = Field(5.0, ge=0, le=MAX_GRACE_S)
    memory_mb: float | None = Field(None, ge=64, description="host memory of the trial's processes together")
    log_mb: float = Field(8.0, ge=1, le=1024, description="of the log that are kept: its beginning and its end")
    work_dir_mb: float | None = Field(1024.0, ge=1, description="working and temporary directory together")


class Retries(Model):
    """How often a failed attempt is repeated, by cause, and when to give the sweep up."""

    infrastructure: int = Field(3, ge=0, le=100)
    memory: int = Field(1, ge=0, le=100)
    user: int = Field(0, ge=0, le=100)
    max_consecutive_failures: int = Field(10, ge=1)
