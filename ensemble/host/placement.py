"""Which device each member goes to: one member a device while there are enough; pure, host.

A dedicated member has its device to itself: no trial runs there, and other members come only when every device has
one already. It may take the last device too, since somebody asked for it by name; sweeps that then wait say why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_Rank = Callable[["Place", bool, int], tuple[int, ...]]  # by whether it holds the member, and how many it holds


@dataclass(frozen=True, slots=True)
class Place:
    """A device of the ledger as a member finds it."""

    device_id: str
    kind: str  # "cpu" or "gpu"
    node: str
    visible: str
    member_ids: tuple[int, ...] = ()  # on it already, once for each replica
    dedicated: bool = False  # some member's own
    runs_trial: bool = False
    set_aside: bool = False  # the scheduler gives it no trials any more
    usable: bool = True

    @property
    def free_of_trials(self) -> bool:
        """Whether a dedicated member can start here."""
        return self.set_aside and not self.runs_trial


def shared(places: Sequence[Place], member_ids: Sequence[int]) -> list[Place]:
    """A place for each of the members of one process, beside trials; none where there is no device.

    The one with the fewest members, the first in ledger order in a tie; a device that holds a replica of the same
    member, or is dedicated, only where all do or are.
    """
    return _spread(places, member_ids, lambda place, holds, load: (place.dedicated, holds, load))


def dedicated(places: Sequence[Place], member_ids: Sequence[int]) -> list[Place]:
    """The same for members that want no trials beside them: the emptiest, and among those one without a trial."""
    return _spread(places, member_ids, lambda place, holds, load: (holds, load, place.dedicated, place.runs_trial))


def _spread(places: Sequence[Place], member_ids: Sequence[int], rank: _Rank) -> list[Place]:
    """For each member the place that ranks first, as it is after those before it."""
    choice = _of_best_kind(places)
    choice = _of_one_node(choice) if len(member_ids) > 1 else choice
    load = {place.device_id: len(place.member_ids) for place in choice}
    chosen: list[Place] = []
    for member_id in member_ids if choice else ():
        ranks = [rank(place, member_id in place.member_ids, load[place.device_id]) for place in choice]
        place = choice[ranks.index(min(ranks))]
        load[place.device_id] += 1
        chosen.append(place)
    return chosen


def _of_best_kind(places: Sequence[Place]) -> list[Place]:
    """GPUs where there are any."""
    return [place for place in places if place.kind == "gpu"] or list(places)


def _of_one_node(places: Sequence[Place]) -> list[Place]:
    """A process is on one node: the one with the most devices."""
    counts = Counter(place.node for place in places)
    return [place for place in places if place.node == counts.most_common(1)[0][0]]


def sharing(chosen: Sequence[Place], version_members: Sequence[int]) -> list[str]:
    """For each place what to say of it: how many other members of the same version are on that device, if any."""
    here = Counter(place.device_id for place in chosen)
    said = []
    for place in chosen:
        others = here[place.device_id] - 1 + sum(member_id in version_members for member_id in place.member_ids)
        said.append(f"shares {place.device_id} with {others} other of this ensemble" if others else "")
    return said
