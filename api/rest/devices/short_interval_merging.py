"""Merges recorded states of a device that are too short to display, per bucket of time; no I/O, api.

Only the order within a bucket is lost: the total duration of each reason is kept.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

from podium.db.queries.device_busy_intervals import BusyRow, TimelineInterval
from podium.sweep.values.device_state import RecordedState

MIN_SHOWN_S = 10.0  # the scheduler records a wait reason within this time
_AT = itemgetter(0)
_READY = RecordedState.READY.value  # a plain string: as fast as the states that it is compared with
_NO_REASON = (_READY, "")
_MAX_UNMERGED = 8  # intervals of one gap

StateChange = tuple[float, str, str]  # start, value of a `RecordedState`, and reason, as in the database


@dataclass(frozen=True, slots=True)
class Interval:
    """One recorded interval, or several merged ones: then state and reason are those of the longest share."""

    at: float
    state: str
    reason: str
    of: int = 1  # number of merged intervals, whose durations are in the shares


@dataclass(slots=True)
class Share:
    """Total duration and number of merged intervals with one state and reason."""

    duration_s: float = 0.0
    intervals: int = 0


Shares = dict[tuple[str, str], Share]  # by state and reason


def merge_short(
    states: Sequence[StateChange], rows: Sequence[BusyRow], stretch: TimelineInterval
) -> tuple[list[Interval], Shares]:
    """The intervals in the gaps between `rows`, oldest first; those shorter than a bucket are merged within it.

    The first two and the last interval of each gap are not merged: their meaning depends on the adjacent trials. Nor is
    the third if it explains the second.
    """
    found = [Interval(*state) for state in states[:1]]
    taken, shares = len(found), defaultdict[tuple[str, str], Share](Share)
    for start, end in _between(rows, stretch):
        first = max(bisect_right(states, start, key=_AT) - 1, taken)
        last = bisect_left(states, end, key=_AT)
        if last - first <= _MAX_UNMERGED:
            found += [Interval(*state) for state in states[first:last]]
        else:
            rest = first + (3 if _is_explained_by_next(states, first + 1) else 2)
            found += [Interval(*state) for state in states[first:rest]]
            found += _merge(states[rest:last], stretch, shares)
            found.append(Interval(*states[last - 1]))
        taken = max(taken, last)
    return found, shares


def _is_explained_by_next(states: Sequence[StateChange], index: int) -> bool:
    """Whether a state has no reason and is so short that the reason of the next one applies."""
    (at, state, reason), (end, _, _) = states[index : index + 2]
    return (state, reason) == _NO_REASON and end - at <= MIN_SHOWN_S


def _between(rows: Sequence[BusyRow], stretch: TimelineInterval) -> Iterator[tuple[float, float]]:
    at = stretch.from_s
    for row in rows:
        if row.start > at:
            yield at, row.start
        at = max(at, row.end)
    if stretch.to_s > at:
        yield at, stretch.to_s


def _merge(states: Sequence[StateChange], stretch: TimelineInterval, shares: Shares) -> list[Interval]:
    """All but the last state, which only ends the previous one."""
    found: list[Interval] = []
    pile: dict[tuple[str, str], list[float]] = {}  # seconds and number of intervals
    began = until = 0.0  # start of the pile, and end of its bucket
    bucket_s = stretch.bucket_s
    for (at, state, reason), (end, later_state, later_reason) in pairwise(states):
        duration_s, key, count = end - at, (state, reason), 1
        if not reason and state == _READY and duration_s <= MIN_SHOWN_S:
            key, count = (later_state, later_reason), 0
        alone = duration_s >= bucket_s or key == _NO_REASON
        if pile and (alone or at >= until):
            found.append(_as_one(began, pile, shares))
            pile = {}
        if alone:
            found.append(Interval(at, *key))
            continue
        if not pile:
            began, until = at, stretch.from_s + bucket_s * (int((at - stretch.from_s) / bucket_s) + 1)
        if key in pile:
            entry = pile[key]
            entry[0] += duration_s
            entry[1] += count
        else:
            pile[key] = [duration_s, count]
    return [*found, _as_one(began, pile, shares)] if pile else found


def _as_one(began: float, pile: dict[tuple[str, str], list[float]], shares: Shares) -> Interval:
    if len(pile) == 1:
        return Interval(began, *next(iter(pile)))
    of = 0
    for key, (duration_s, count) in pile.items():
        shares[key].duration_s += duration_s
        shares[key].intervals += max(1, int(count))
        of += max(1, int(count))
    state, reason = max(pile, key=lambda key: pile[key][0])
    return Interval(began, state, reason, of=of)
