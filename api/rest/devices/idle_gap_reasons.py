"""Explains the gaps between a device's trials from its recorded states; no I/O, api."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from podium.api.rest.devices.short_interval_merging import MIN_SHOWN_S, Interval, StateChange
from podium.db.queries.device_busy_intervals import BusyRow
from podium.sweep.values.device_state import RecordedState

CHANGE_S = 5.0  # a longer gap between two trials needs another explanation
MISSED_HEARTBEAT_S = 45.0  # the scheduler writes a heartbeat every 10 s


class GapReason(StrEnum):
    """The kind of a gap. During the first three, trials could have run."""

    BETWEEN = "between"  # between two consecutive trials
    CHOOSING = "choosing"  # the search was proposing the next trial
    IDLE = "idle"  # no trial to run, or none allowed to
    DEDICATED = "dedicated"
    DRAINED = RecordedState.DRAINED.value
    LOST = "lost"
    STARTING = "starting"
    DOWN = "down"
    UNKNOWN = "unknown"  # older than the recorded history
    ABSENT = "absent"


OPEN = (GapReason.BETWEEN, GapReason.CHOOSING, GapReason.IDLE)
_OF_STATE: dict[str, GapReason] = {
    RecordedState.DEDICATED: GapReason.DEDICATED,
    RecordedState.DRAINED: GapReason.DRAINED,
    RecordedState.LOST: GapReason.LOST,
    RecordedState.STARTING: GapReason.STARTING,
    RecordedState.DOWN: GapReason.DOWN,
    RecordedState.GONE: GapReason.ABSENT,
}


@dataclass(frozen=True, slots=True)
class Gap:
    """An interval without a trial."""

    start: float
    end: float
    why: GapReason
    reason: str
    of: int = 1  # number of merged gaps; `why` and `reason` are those of the longest share

    @property
    def duration_s(self) -> float:
        return self.end - self.start


def find_gaps(rows: Sequence[BusyRow], intervals: Sequence[Interval], from_s: float, until: float) -> list[Gap]:
    """All gaps from `from_s` to `until`, oldest first; adjacent gaps with the same reason are joined."""
    return list(_join_adjacent(_explained(rows, list(intervals), from_s, until)))


def with_missed_heartbeat(states: list[StateChange], seen_at: float | None, now: float) -> list[StateChange]:
    """The states; if the scheduler's heartbeat is missing, with `down` since then, as its last state is outdated."""
    if (
        seen_at is None
        or now - seen_at < MISSED_HEARTBEAT_S
        or not states
        or states[-1][1] in (RecordedState.DOWN, RecordedState.GONE)
    ):
        return states
    return [*states, (max(seen_at, states[-1][0]), RecordedState.DOWN, "the scheduler's heartbeat is missing")]


@dataclass(frozen=True, slots=True)
class _Timeline:
    """Recorded intervals of a device, and their starts for bisection."""

    intervals: list[Interval]
    starts: list[float]


def _explained(rows: Sequence[BusyRow], intervals: list[Interval], from_s: float, until: float) -> Iterator[Gap]:
    at, timeline = from_s, _Timeline(intervals, [interval.at for interval in intervals])
    for row in rows:
        if row.start > at:
            yield from _in_gap(at, row.start, timeline, following=row, known=at > from_s)
        at = max(at, row.end)
    if until > at:
        yield from _in_gap(at, until, timeline, following=None, known=bool(rows))


def _in_gap(start: float, end: float, timeline: _Timeline, *, following: BusyRow | None, known: bool) -> Iterator[Gap]:
    """A gap is split where the device's state changed. `known`: the device ran a trial before."""
    intervals, began = timeline.intervals, timeline.starts
    first, last = bisect_right(began, start), bisect_left(began, end)
    parts = intervals[first:last]
    if first:
        parts.insert(0, Interval(start, intervals[first - 1].state, intervals[first - 1].reason))
    else:
        unrecorded = not began or began[0] > end
        older = known or (following is not None and unrecorded)  # it ran before its first recorded state
        yield Gap(start, parts[0].at if parts else end, GapReason.UNKNOWN if older else GapReason.ABSENT, "")
    for index, interval in enumerate(parts):
        later = parts[index + 1] if index + 1 < len(parts) else None
        yield from _of_part(interval, end if later is None else later.at, later, following)


def _of_part(interval: Interval, end: float, later: Interval | None, following: BusyRow | None) -> Iterator[Gap]:
    if interval.state != RecordedState.READY or interval.reason:
        yield Gap(interval.at, end, reason_of(interval.state), interval.reason, of=interval.of)
    elif later is not None and end - interval.at <= MIN_SHOWN_S:
        yield from _of_part(Interval(interval.at, later.state, later.reason), end, None, None)
    else:
        yield from _unrecorded(interval.at, end, following)


def reason_of(state: str) -> GapReason:
    """The kind of gap during a recorded state."""
    return _OF_STATE.get(state, GapReason.IDLE)


def _unrecorded(start: float, end: float, following: BusyRow | None) -> Iterator[Gap]:
    """A gap without a recorded reason: a short one, or the search was slow."""
    if following is not None and following.planned_at > start:
        planned = min(following.planned_at, end)
        yield Gap(start, planned, GapReason.CHOOSING, _was_choosing(following))
        start = planned
    if end > start:
        short = end - start <= CHANGE_S
        yield Gap(
            start, end, GapReason.BETWEEN if short else GapReason.UNKNOWN, "" if short else "no reason was recorded"
        )


def _was_choosing(row: BusyRow) -> str:
    whose = "the search" if row.sweep_id is None else f"sweep {row.sweep_id}"
    return f"{whose} is choosing its next trial"  # as the scheduler says it, so that both are one reason


def _join_adjacent(found: Iterable[Gap]) -> Iterator[Gap]:
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
    """Seconds between the attempts that a row merges."""
    return max(0.0, min(row.end, until) - max(row.start, from_s) - row.busy_s)


def drop_short(found: Sequence[Gap], least_s: float, until: float) -> list[Gap]:
    """Gaps of at least `least_s`: shorter ones are merged with adjacent gaps, under the reason of the longest.

    A gap that is still open is always included.
    """
    shown: list[list[Gap]] = []
    for gap in found:
        if shown and shown[-1][-1].end == gap.start and _duration_s(shown[-1]) < least_s:
            shown[-1].append(gap)
        else:
            shown.append([gap])
    if len(shown) > 1 and _duration_s(shown[-1]) < least_s and shown[-2][-1].end == shown[-1][0].start:
        rest = shown.pop()
        shown[-1] += rest
    return [_as_one(run) for run in shown if _duration_s(run) >= least_s or run[-1].end == until]


def _duration_s(run: Sequence[Gap]) -> float:
    return run[-1].end - run[0].start


def _as_one(run: Sequence[Gap]) -> Gap:
    longest = max(run, key=lambda gap: gap.duration_s)
    return Gap(run[0].start, run[-1].end, longest.why, longest.reason, of=sum(gap.of for gap in run))
