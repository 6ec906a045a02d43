"""Why a device ran no trial between two: recorded spells and the attempts put together; pure, api."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from podium.api.rest.devices.merged_intervals import NOTICED_S, Said, Spell
from podium.db.queries.timeline import BusyRow
from podium.db.stores.device_history import DOWN, GONE, READY, STARTING

CHANGE_S = 5.0  # between two trials; a longer gap without a word is not explained by that
SILENT_S = 45.0  # the scheduler says every 10 s that it goes on


class Why(StrEnum):
    """What kind of gap it is: the first three are time in which trials could have run."""

    BETWEEN = "between"  # one trial ended, the next one began
    CHOOSING = "choosing"  # the search had not chosen the next one
    IDLE = "idle"  # nothing to run, or nothing that may
    DEDICATED = "dedicated"
    ASIDE = "set aside"
    LOST = "lost"
    STARTING = "starting"
    DOWN = "down"
    UNKNOWN = "unknown"  # older than what is kept
    ABSENT = "absent"


OPEN = (Why.BETWEEN, Why.CHOOSING, Why.IDLE)
_OF_STATE = {
    "dedicated": Why.DEDICATED,
    "set aside": Why.ASIDE,
    "lost": Why.LOST,
    STARTING: Why.STARTING,
    DOWN: Why.DOWN,
    GONE: Why.ABSENT,
}


@dataclass(frozen=True, slots=True)
class Gap:
    """No trial ran from `start` to `end`."""

    start: float
    end: float
    why: Why
    reason: str
    of: int = 1  # so many, too short to be seen apart: `why` and `reason` are those of most of the time

    @property
    def long_s(self) -> float:
        return self.end - self.start


def gaps(rows: Sequence[BusyRow], spells: Sequence[Spell], from_s: float, until: float) -> list[Gap]:
    """Every gap from `from_s` to `until`, each with its reason, oldest first. Neighbours that say the same are one."""
    return list(_joined(_explained(rows, list(spells), from_s, until)))


def silent_since(spells: list[Said], seen_at: float | None, now: float) -> list[Said]:
    """The spells, and that the scheduler is silent, if it is: whatever it wrote last is not known to be true still."""
    if seen_at is None or now - seen_at < SILENT_S or not spells or spells[-1][1] in (DOWN, GONE):
        return spells
    silent = (max(seen_at, spells[-1][0]), DOWN, "nothing has been heard of the scheduler")
    return [*spells, silent]


def _explained(rows: Sequence[BusyRow], spells: list[Spell], from_s: float, until: float) -> Iterator[Gap]:
    at, began = from_s, [spell.at for spell in spells]
    for row in rows:
        if row.start > at:
            yield from _in_gap(at, row.start, spells, began, row, at > from_s)
        at = max(at, row.end)
    if until > at:
        yield from _in_gap(at, until, spells, began, None, bool(rows))


def _in_gap(
    start: float, end: float, spells: list[Spell], began: list[float], following: BusyRow | None, known: bool
) -> Iterator[Gap]:
    """A gap is cut where the device became something else. `known`: the device ran something before."""
    first, last = bisect_right(began, start), bisect_left(began, end)
    parts = spells[first:last]
    if first:
        parts.insert(0, Spell(start, spells[first - 1].state, spells[first - 1].reason))
    else:
        unsaid = not began or began[0] > end
        older = known or (following is not None and unsaid)  # it ran something before the first word of it
        yield Gap(start, parts[0].at if parts else end, Why.UNKNOWN if older else Why.ABSENT, "")
    for index, spell in enumerate(parts):
        later = parts[index + 1] if index + 1 < len(parts) else None
        yield from _of_part(spell, end if later is None else later.at, later, following)


def _of_part(spell: Spell, end: float, later: Spell | None, following: BusyRow | None) -> Iterator[Gap]:
    if spell.state != READY or spell.reason:
        yield Gap(spell.at, end, why_of(spell.state), spell.reason, spell.of)
    elif later is not None and end - spell.at <= NOTICED_S:
        yield from _of_part(Spell(spell.at, later.state, later.reason), end, None, None)
    else:
        yield from _unsaid(spell.at, end, following)


def why_of(state: str) -> Why:
    """What kind of gap a state makes of which something was said."""
    return _OF_STATE.get(state, Why.IDLE)


def _unsaid(start: float, end: float, following: BusyRow | None) -> Iterator[Gap]:
    """Nothing was written down: too short for that, or the search was slow."""
    if following is not None and following.planned_at > start:
        planned = min(following.planned_at, end)
        yield Gap(start, planned, Why.CHOOSING, _chose(following))
        start = planned
    if end > start:
        short = end - start <= CHANGE_S
        yield Gap(start, end, Why.BETWEEN if short else Why.UNKNOWN, "" if short else "no reason was written down")


def _chose(row: BusyRow) -> str:
    whose = "the search" if row.sweep_id is None else f"sweep {row.sweep_id}"
    return f"{whose} was choosing its next trial"


def _joined(found: Iterable[Gap]) -> Iterator[Gap]:
    last: Gap | None = None
    for gap in found:
        same = last is not None and (last.end, last.why, last.reason) == (gap.start, gap.why, gap.reason)
        if last is not None and same and last.of == gap.of == 1:
            last = Gap(last.start, gap.end, gap.why, gap.reason)
            continue
        if last is not None:
            yield last
        last = gap
    if last is not None:
        yield last


def hidden_s(row: BusyRow, from_s: float, until: float) -> float:
    """Seconds between the attempts that a row joins."""
    return max(0.0, min(row.end, until) - max(row.start, from_s) - row.busy_s)


def thinned(found: Sequence[Gap], least_s: float, until: float) -> list[Gap]:
    """What a screen can show: what is too short to see goes into its neighbour, under the reason of the longest.

    One that goes on at the end is always there: it becomes longer.
    """
    shown: list[list[Gap]] = []
    for gap in found:
        if shown and shown[-1][-1].end == gap.start and _long_s(shown[-1]) < least_s:
            shown[-1].append(gap)
        else:
            shown.append([gap])
    if len(shown) > 1 and _long_s(shown[-1]) < least_s and shown[-2][-1].end == shown[-1][0].start:
        rest = shown.pop()
        shown[-1] += rest
    return [_as_one(run) for run in shown if _long_s(run) >= least_s or run[-1].end == until]


def _long_s(run: Sequence[Gap]) -> float:
    return run[-1].end - run[0].start


def _as_one(run: Sequence[Gap]) -> Gap:
    longest = max(run, key=lambda gap: gap.long_s)
    return Gap(run[0].start, run[-1].end, longest.why, longest.reason, sum(gap.of for gap in run))
