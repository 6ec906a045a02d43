"""What a trial may take, and how often it is tried; blocks of the sweep file; cli, api and scheduler."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from podium.sweep.spec.strict_model import Model

MAX_GRACE_S = 300.0


class Resources(Model):
    """What a trial gets: one device, and a share of the machine's threads."""

    device: Literal["auto", "gpu", "cpu"] = Field("auto", description="auto takes whichever the service has")
    max_concurrent: int | None = Field(None, ge=1, description="trials of this sweep at a time; all devices if absent")
    threads: int | None = Field(
        None, ge=1, le=1024, description="of a trial on the CPU; its share of the cores if absent"
    )


class SpecLimits(Model):
    """The bounds of each attempt: clocks in seconds, and what it may take of the machine."""

    trial_s: float | None = Field(None, gt=0, description="that an attempt may take; null: no limit")
    on_timeout: Literal["fail", "finish"] = Field(
        "fail", description="at trial_s; finish: the trial finishes with what it has reported"
    )
    silence_s: float | None = Field(None, gt=0, description="between two reports; null: no limit")
    start_s: float = Field(60.0, gt=0, description="until the first line of your code runs")
    grace_s: float = Field(5.0, ge=0, le=MAX_GRACE_S, description="between SIGTERM and SIGKILL")
    memory_mb: float | None = Field(None, ge=64, description="host memory of the trial's processes together")
    log_mb: float = Field(8.0, ge=1, le=1024, description="of the log that are kept: its beginning and its end")
    work_dir_mb: float | None = Field(1024.0, ge=1, description="working and temporary directory together")


class Retries(Model):
    """How often a failed attempt is repeated, by cause, and when to give the sweep up."""

    infrastructure: int = Field(3, ge=0, le=100, description="a slot or a machine was lost, or too slow to start")
    memory: int = Field(1, ge=0, le=100, description="the host's or the device's memory was not enough")
    user: int = Field(0, ge=0, le=100, description="your code failed, hung, or took too long")
    max_consecutive_failures: int = Field(10, ge=1, description="trials in a row; then the sweep ends, failed")
    identical_failures: int | None = Field(
        3, ge=1, description="trials in a row with the same error before any has finished; then the sweep ends, failed"
    )
