"""What the sweeps need of a pool whose slots come and go; scheduler process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SlotDemand:
    """How many more trials would start now if there were free slots, by the kind of device that they require."""

    gpu: int = 0
    cpu: int = 0
    any: int = 0


class ElasticPool(Protocol):
    """A pool that opens slots on demand. Calls never block."""

    def request(self, demand: SlotDemand) -> None:
        """Set the demand of now."""
        ...

    def release(self, device_id: str) -> None:
        """Close a slot that runs no trial; it is opened again only on demand."""
        ...
