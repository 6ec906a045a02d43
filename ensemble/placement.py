"""Which device each member goes to: one member a device while there are enough; pure, host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A device of the ledger that can hold a member beside its slot."""

    device_id: str
    node: str
    visible: str
    members: int


def spread(places: Sequence[Place], members: int) -> list[Place]:
    """A place for each member: always the one with the fewest members, the first in ledger order in a tie."""
    load = {place.device_id: place.members for place in places}
    chosen: list[Place] = []
    for _ in range(members):
        place = min(places, key=lambda p: load[p.device_id])
        load[place.device_id] += 1
        chosen.append(place)
    return chosen
