"""The `retries` block of the sweep file; CLI, api process and scheduler."""

from __future__ import annotations

from pydantic import Field

from podium.sweep.spec.strict_model import Model


class Retries(Model):
    """How often a failed attempt is retried, by cause, and how many failures end the sweep."""

    infrastructure: int = Field(3, ge=0, le=100, description="retries after a lost slot, or a slow start")
    node_lost: int = Field(10, ge=0, le=100, description="retries after a lost machine, on another one if there is one")
    memory: int = Field(1, ge=0, le=100, description="retries after host or device memory ran out")
    user: int = Field(0, ge=0, le=100, description="retries after your code failed, hung or exceeded a time limit")
    max_consecutive_failures: int = Field(10, ge=1, description="consecutive failed trials after which the sweep fails")
    identical_failures: int | None = Field(
        3, ge=1, description="consecutive trials with the same error, before any has finished, after which it fails"
    )
