"""A node of an existing Ray cluster that the service does not use; scheduler and api."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RefusedNode:
    """Its agent is never started, so that it reports nothing."""

    address: str
    versions: Mapping[str, str]  # of its packages, by name, and of `python`
    cores: int
    gpus: int
    reason: str
