"""Assigns members to devices: one member for each device while there are enough; host process.

A dedicated member has its device to itself: no trial runs there, and other members are placed there only when every
device has a member. It may take the last device, since the user requested it; the wait reason of a blocked sweep then
says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from podium.sweep.values.device import node_name

_Rank = Callable[
    ["DeviceOccupancy", bool, int], tuple[int, ...]
]  # arguments: device, whether it holds the member, number of members


@dataclass(frozen=True, slots=True)
class DeviceOccupancy:
    """A device, and what runs on it."""

    device_id: str
    kind: str  # "cpu" or "gpu"
    node: str
    visible: str
    member_ids: tuple[int, ...] = ()  # one entry for each replica
    dedicated: bool = False  # a member has it to itself
    runs_trial: bool = False
    reserved: bool = False  # the scheduler places no more trials on it
    usable: bool = True
    siblings: int = 0  # members of the same ensemble on its machine

    @property
    def free_of_trials(self) -> bool:
        """Whether a dedicated member can start on it."""
        return self.reserved and not self.runs_trial


def place_shared(places: Sequence[DeviceOccupancy], member_ids: Sequence[int]) -> list[DeviceOccupancy]:
    """A device for each member of one process, next to trials; empty if there is no device.

    Prefers a machine without members of the ensemble, then the device with the fewest members, then the first in order.
    A device that is dedicated, or holds a replica of the same member, is used only if all are or do.
    """
    return _spread(
        places,
        member_ids,
        lambda place, holds, load: (place.dedicated, holds, place.siblings > 0, load, place.siblings),
    )


def place_dedicated(places: Sequence[DeviceOccupancy], member_ids: Sequence[int]) -> list[DeviceOccupancy]:
    """The same for dedicated members: prefers the emptiest device, then another machine, then one without a trial."""
    return _spread(
        places,
        member_ids,
        lambda place, holds, load: (holds, load, place.siblings, place.dedicated, place.runs_trial),
    )


def place_span(
    places: Sequence[DeviceOccupancy], member_id: int, count: int, *, dedicated: bool
) -> list[DeviceOccupancy]:
    """`count` different devices of one machine for the stages of a member; empty if no machine has as many.

    Prefers a machine without members of the ensemble, then devices that hold no other member.
    """

    def rank(place: DeviceOccupancy) -> tuple[int, ...]:
        holds, load = member_id in place.member_ids, len(place.member_ids)
        return (holds, load, place.runs_trial) if dedicated else (place.dedicated, holds, load)

    by_machine: dict[str, list[DeviceOccupancy]] = {}
    for place in _of_best_kind(places):
        by_machine.setdefault(node_name(place.device_id), []).append(place)
    candidates = [sorted(own, key=rank)[:count] for own in by_machine.values() if len(own) >= count]
    return min(candidates, key=lambda chosen: (chosen[0].siblings > 0, *map(rank, chosen)), default=[])


def _spread(places: Sequence[DeviceOccupancy], member_ids: Sequence[int], rank: _Rank) -> list[DeviceOccupancy]:
    """For each member in turn, the device with the lowest rank, given the members before it."""
    choice = _of_best_kind(places)
    choice = _of_one_node(choice) if len(member_ids) > 1 else choice
    load = {place.device_id: len(place.member_ids) for place in choice}
    chosen: list[DeviceOccupancy] = []
    for member_id in member_ids if choice else ():
        ranks = [rank(place, member_id in place.member_ids, load[place.device_id]) for place in choice]
        place = choice[ranks.index(min(ranks))]
        load[place.device_id] += 1
        chosen.append(place)
    return chosen


def _of_best_kind(places: Sequence[DeviceOccupancy]) -> list[DeviceOccupancy]:
    """The GPUs, or all devices if there is no GPU."""
    return [place for place in places if place.kind == "gpu"] or list(places)


def _of_one_node(places: Sequence[DeviceOccupancy]) -> list[DeviceOccupancy]:
    """The devices of the node with the most devices: a process runs on one node."""
    counts = Counter(place.node for place in places)
    return [place for place in places if place.node == counts.most_common(1)[0][0]]


def sharing_notes(chosen: Sequence[DeviceOccupancy], version_members: Sequence[int]) -> list[str]:
    """For each device, a note on how many other members of the same version share it; empty if none."""
    here = Counter(place.device_id for place in chosen)
    notes = []
    for place in chosen:
        others = here[place.device_id] - 1 + sum(member_id in version_members for member_id in place.member_ids)
        notes.append(
            f"shares {place.device_id} with {others} other member{'s' if others > 1 else ''} of this ensemble"
            if others
            else ""
        )
    return notes
