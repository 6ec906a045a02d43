"""A device's spells between its trials, too short ones made one where a screen could not show them apart; api.

Nothing is lost but the order within a bucket: for how long each reason held is counted whole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

from podium.db.queries.timeline import BusyRow, Stretch
from podium.db.stores.device_history import READY

NOTICED_S = 10.0  # the scheduler looks every second and says what a device waits for at the second look
_AT = itemgetter(0)
_UNSAID = (READY, "")
_FEW = 8  # of one gap are left as they are

Said = tuple[float, str, str]  # from when on, state and reason, as in the database


@dataclass(frozen=True, slots=True)
class Spell:
    """A spell, or several short ones: then `state` and `reason` are those of most of the time."""

    at: float
    state: str
    reason: str
    of: int = 1  # so many; the time of those merged is in the shares


@dataclass(slots=True)
class Share:
    """For how long a device was something, in spells that were merged."""

    long_s: float = 0.0
    spells: int = 0


Shares = dict[tuple[str, str], Share]  # by state and reason


def merged(spells: Sequence[Said], rows: Sequence[BusyRow], stretch: Stretch) -> tuple[list[Spell], Shares]:
    """Those of the gaps between `rows`, oldest first. Spells shorter than a bucket are one with their neighbours in it.

    The first two and the last of each gap stay alone: what they mean depends on the trials around them.
    """
    found = [Spell(*spell) for spell in spells[:1]]
    taken, shares = len(found), defaultdict[tuple[str, str], Share](Share)
    for start, end in _between(rows, stretch):
        first = max(bisect_right(spells, start, key=_AT) - 1, taken)
        last = bisect_left(spells, end, key=_AT)
        if last - first <= _FEW:
            found += [Spell(*spell) for spell in spells[first:last]]
        else:
            found += [Spell(*spell) for spell in spells[first : first + 2]]
            found += _piled(spells[first + 2 : last], stretch, shares)
            found.append(Spell(*spells[last - 1]))
        taken = max(taken, last)
    return found, shares


def _between(rows: Sequence[BusyRow], stretch: Stretch) -> Iterator[tuple[float, float]]:
    at = stretch.from_s
    for row in rows:
        if row.start > at:
            yield at, row.start
        at = max(at, row.end)
    if stretch.to_s > at:
        yield at, stretch.to_s


def _piled(spells: Sequence[Said], stretch: Stretch, shares: Shares) -> list[Spell]:
    """All but the last, which says where the one before it ends."""
    found: list[Spell] = []
    pile: dict[tuple[str, str], list[float]] = {}  # seconds and number of spells
    began = until = 0.0  # of the pile, and where its bucket ends
    bucket_s = stretch.bucket_s
    for (at, state, reason), (end, later_state, later_reason) in pairwise(spells):
        long_s, words, said = end - at, (state, reason), 1
        if not reason and state == READY and long_s <= NOTICED_S:
            words, said = (later_state, later_reason), 0
        alone = long_s >= bucket_s or words == _UNSAID
        if pile and (alone or at >= until):
            found.append(_as_one(began, pile, shares))
            pile = {}
        if alone:
            found.append(Spell(at, *words))
            continue
        if not pile:
            began, until = at, stretch.from_s + bucket_s * (int((at - stretch.from_s) / bucket_s) + 1)
        if words in pile:
            entry = pile[words]
            entry[0] += long_s
            entry[1] += said
        else:
            pile[words] = [long_s, said]
    return [*found, _as_one(began, pile, shares)] if pile else found


def _as_one(began: float, pile: dict[tuple[str, str], list[float]], shares: Shares) -> Spell:
    if len(pile) == 1:
        return Spell(began, *next(iter(pile)))
    of = 0
    for words, (long_s, spells) in pile.items():
        shares[words].long_s += long_s
        shares[words].spells += max(1, int(spells))
        of += max(1, int(spells))
    return Spell(began, *max(pile, key=lambda words: pile[words][0]), of)
