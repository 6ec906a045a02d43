"""The device timeline over REST: trials on each device, and the gaps between them with their reasons; api."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy import Connection

from podium.api.http.authentication import viewer
from podium.api.http.request_limits import MAX_ID
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.devices.idle_gap_reasons import (
    OPEN,
    Gap,
    GapReason,
    drop_short,
    find_gaps,
    hidden_s,
    reason_of,
    with_missed_heartbeat,
)
from podium.api.rest.devices.short_interval_merging import Shares, merge_short
from podium.api.rest.schemas.base_schema import View
from podium.db.queries import device_busy_intervals
from podium.db.queries.device_busy_intervals import BusyRow, TimelineInterval
from podium.db.stores import device_history, devices, sweeps
from podium.sweep.values.device import node_name
from podium.sweep.values.errors import BadRequestError

router = APIRouter(prefix="/api/v1", tags=["devices"])

DEFAULT_S = 3600.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BUCKETS = 600  # resolution of a screen; attempts shorter than a bucket are merged
MAX_GAPS = 2 * BUCKETS  # per device
MIN_GAP_S = 1.0  # reasons are recorded to about a second


class BarsView(View):
    """Attempts on a device, as columns: each entry is one attempt, or several consecutive short ones."""

    start_s: list[float]
    end_s: list[float | None]  # null: running
    attempts: list[int]
    state: list[str]  # of the attempt, or the most frequent one
    failed: list[int]
    busy_s: list[float]
    sweep_id: list[int | None]  # null: several
    trial_id: list[int | None]  # null: several
    number: list[int]  # of the trial, or the lowest one
    last_number: list[int]  # the highest one


class GapsView(View):
    """Gaps between trials, as columns, without times when the device was absent."""

    start_s: list[float]
    end_s: list[float]
    reason: list[int]  # index into `reasons`
    gaps: list[int]  # number of merged gaps; `reason` is that of the longest


class ReasonView(View):
    """Total time of one reason."""

    why: GapReason
    reason: str
    total_s: float
    gaps: int


class DeviceTimelineView(View):
    """One device in the time range. The range is `busy_s` + `idle_s` + `closed_s` + the time it was absent."""

    id: str
    kind: str
    node: str
    present: bool  # currently a device of the service
    attempts: int
    failed: int
    busy_s: float
    sweep_busy_s: float | None  # of the requested sweep
    idle_s: float  # available, without a trial
    closed_s: float  # not available: dedicated, drained, lost, or the service was down
    busy_share: float | None  # busy_s / (busy_s + idle_s)
    bars: BarsView
    gaps: GapsView  # without those too short to display
    reasons: list[ReasonView]  # of all gaps, longest first


class TimelineView(View):
    """All devices in a time range; times are seconds since the epoch."""

    from_s: float
    to_s: float
    now_s: float
    sweep_id: int | None
    shortest_s: float  # shorter attempts and gaps are merged with adjacent ones, or left out
    busy_share: float | None
    sweeps: dict[int, str]  # names of the sweeps that ran, by id
    devices: list[DeviceTimelineView]


@dataclass(slots=True)
class _IdleTime:
    """Seconds by reason."""

    by_reason: dict[tuple[GapReason, str], list[float]] = field(default_factory=dict)

    def add(self, why: GapReason, reason: str, seconds: float, gaps: int = 1) -> None:
        entry = self.by_reason.setdefault((why, reason), [0.0, 0])
        entry[0] += seconds
        entry[1] += gaps

    def total(self, whys: Iterable[GapReason]) -> float:
        selected = set(whys)
        return sum(entry[0] for (why, _), entry in self.by_reason.items() if why in selected)

    def views(self) -> list[ReasonView]:
        found = [
            ReasonView(why=why, reason=reason, total_s=round(seconds, 3), gaps=int(count))
            for (why, reason), (seconds, count) in self.by_reason.items()
            if seconds > 0 and why is not GapReason.ABSENT
        ]
        return sorted(found, key=lambda view: -view.total_s)


@router.get("/timeline", dependencies=[viewer])
def read_timeline(
    since: Annotated[
        datetime | None,
        Query(
            alias="from",
            description="ISO 8601 or seconds since the epoch; default: one hour ago, or the sweep's start",
        ),
    ] = None,
    until: Annotated[datetime | None, Query(alias="to", description="default: now, or the sweep's end")] = None,
    sweep: Annotated[
        int | None, Query(ge=1, le=MAX_ID, description="use the time range of this sweep, and report its share")
    ] = None,
    service: ServiceContext = context,
) -> TimelineView:
    """Attempts and gaps of each device, node by node. Short attempts are merged; totals count each one."""
    now = time.time()
    with service.database.read() as connection:
        stretch = _stretch(connection, since, until, sweep_id=sweep, now=now)
        seen_at = device_history.seen_at(connection)
        present = {row.id: row for row in devices.all_of(connection)}
        removed = [name for name in device_history.known(connection) if name not in present]
        found = []
        for device_id in sorted([*present, *removed], key=node_name):
            row = present.get(device_id)
            kind, node = (device_id.rpartition(":")[2].partition("-")[0], "") if row is None else (row.kind, row.node)
            view = _device(connection, device_id, stretch, now=now, seen_at=seen_at)
            if row is not None or view.attempts or view.reasons:
                found.append(view.model_copy(update={"kind": kind, "node": node, "present": row is not None}))
        ran = {sweep_id for view in found for sweep_id in view.bars.sweep_id if sweep_id is not None}
        names = device_busy_intervals.sweep_names(connection, ran)
    return TimelineView(
        from_s=stretch.from_s, to_s=stretch.to_s, now_s=now, sweep_id=sweep, shortest_s=stretch.bucket_s,
        busy_share=_share(sum(view.busy_s for view in found), sum(view.idle_s for view in found)),
        sweeps=names, devices=found,
    )  # fmt: skip


def _stretch(
    connection: Connection, since: datetime | None, until: datetime | None, *, sweep_id: int | None, now: float
) -> TimelineInterval:
    """Raises `NotFoundError` and `BadRequestError`."""
    first, last = now - DEFAULT_S, now
    if sweep_id is not None:
        row = sweeps.get(connection, sweep_id)
        first, last = row.started_at or row.created_at, row.ended_at or now
    to_s = last if until is None else min(_seconds(until), now)
    from_s = (first if first < to_s else to_s - DEFAULT_S) if since is None else _seconds(since)
    if not 0 <= from_s < to_s:
        raise BadRequestError("`from` must be before `to`, and between 1970 and now")
    known_s = to_s - max(from_s, device_history.begins_at(connection) or from_s)
    return TimelineInterval(from_s, to_s, (known_s if known_s > 0 else to_s - from_s) / BUCKETS, sweep_id)


def _seconds(moment: datetime) -> float:
    """Seconds since the epoch; a time without a time zone is UTC."""
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH).total_seconds()


def _device(
    connection: Connection, device_id: str, stretch: TimelineInterval, *, now: float, seen_at: float | None
) -> DeviceTimelineView:
    rows = device_busy_intervals.busy_rows(connection, device_id, stretch)
    states = device_history.between(connection, device_id, stretch.from_s, stretch.to_s)
    intervals, shares = merge_short(with_missed_heartbeat(states, seen_at, now), rows, stretch)
    found = find_gaps(rows, intervals, stretch.from_s, stretch.to_s)
    spent = _idle_time(rows, found, shares, stretch)
    busy_s = sum(row.busy_s for row in rows)
    idle_s = spent.total(OPEN)
    reasons = spent.views()
    closed_s = spent.total(set(GapReason) - {*OPEN, GapReason.ABSENT})
    return DeviceTimelineView(
        id=device_id, kind="", node="", present=True,
        attempts=sum(row.attempts for row in rows),
        failed=sum(row.states.get("failed", 0) for row in rows),
        busy_s=round(busy_s, 3),
        sweep_busy_s=None if stretch.sweep_id is None else round(sum(row.sweep_busy_s for row in rows), 3),
        idle_s=round(idle_s, 3),
        closed_s=round(closed_s, 3),
        busy_share=_share(busy_s, idle_s),
        bars=_bars(rows),
        gaps=_gaps(_visible_gaps(found, stretch), reasons),
        reasons=reasons,
    )  # fmt: skip


def _idle_time(rows: list[BusyRow], found: list[Gap], shares: Shares, stretch: TimelineInterval) -> _IdleTime:
    spent = _IdleTime()
    for gap in found:
        if gap.of == 1:
            spent.add(gap.why, gap.reason, gap.duration_s)
    for (state, reason), share in shares.items():
        spent.add(reason_of(state), reason, share.duration_s, share.intervals)
    for row in rows:
        if row.attempts > 1:
            spent.add(GapReason.BETWEEN, "", hidden_s(row, stretch.from_s, stretch.to_s), row.attempts - 1)
    return spent


def _bars(rows: list[BusyRow]) -> BarsView:
    return BarsView(
        start_s=[round(row.start, 3) for row in rows],
        end_s=[None if row.runs else round(row.end, 3) for row in rows],
        attempts=[row.attempts for row in rows],
        state=[max(row.states, key=lambda state: row.states[state]) for row in rows],
        failed=[row.states.get("failed", 0) for row in rows],
        busy_s=[round(row.busy_s, 3) for row in rows],
        sweep_id=[row.sweep_id for row in rows],
        trial_id=[row.trial_id for row in rows],
        number=[row.number for row in rows],
        last_number=[row.last_number for row in rows],
    )


def _visible_gaps(found: list[Gap], stretch: TimelineInterval) -> list[Gap]:
    """Gaps of at least one second; if there are too many, those that a screen can show."""
    seen = drop_short(found, min(MIN_GAP_S, stretch.bucket_s), stretch.to_s)
    return seen if len(seen) <= MAX_GAPS else drop_short(found, stretch.bucket_s, stretch.to_s)


def _gaps(found: list[Gap], reasons: list[ReasonView]) -> GapsView:
    place = {(view.why, view.reason): index for index, view in enumerate(reasons)}
    there = [gap for gap in found if (gap.why, gap.reason) in place]
    return GapsView(
        start_s=[round(gap.start, 3) for gap in there],
        end_s=[round(gap.end, 3) for gap in there],
        reason=[place[gap.why, gap.reason] for gap in there],
        gaps=[gap.of for gap in there],
    )


def _share(busy_s: float, idle_s: float) -> float | None:
    return round(busy_s / (busy_s + idle_s), 4) if busy_s + idle_s > 0 else None
