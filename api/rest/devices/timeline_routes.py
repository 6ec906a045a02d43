"""What each device did, and why it did nothing: trials, and the gaps between them with their reasons; api."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy import Connection

from podium.api.http.authentication import viewer
from podium.api.http.route_context import MAX_ID, ServiceContext, context
from podium.api.rest.devices.idle_gaps import OPEN, Gap, Why, gaps, hidden_s, silent_since, thinned, why_of
from podium.api.rest.devices.merged_intervals import Shares, merged
from podium.api.rest.models.response_models import View
from podium.db.queries import timeline
from podium.db.queries.timeline import BusyRow, Stretch
from podium.db.stores import device_history, devices, sweeps
from podium.sweep.values.errors import BadRequestError

router = APIRouter(prefix="/api/v1", tags=["devices"])

DEFAULT_S = 3600.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BUCKETS = 600  # what a screen shows apart; attempts shorter than a bucket are joined
MOST_GAPS = 2 * BUCKETS  # of a device
LEAST_GAP_S = 1.0  # reasons are known to about a second


class BarsView(View):
    """What ran on a device, as columns: each entry is an attempt, or several short ones one after another."""

    start_s: list[float]
    end_s: list[float | None]  # null: it runs
    attempts: list[int]
    state: list[str]  # of the attempt, or of most of them
    failed: list[int]
    busy_s: list[float]
    sweep_id: list[int | None]  # null: several
    trial_id: list[int | None]  # null: several
    number: list[int]  # of the trial, or the lowest
    last_number: list[int]  # and the highest


class GapsView(View):
    """When no trial ran, as columns; nothing of when the device was not there."""

    start_s: list[float]
    end_s: list[float]
    reason: list[int]  # its place in `reasons`
    gaps: list[int]  # above 1: so many, too short to be seen apart; `reason` is that of most of the time


class ReasonView(View):
    """How much time went for one reason."""

    why: Why
    reason: str
    total_s: float
    gaps: int


class DeviceTimelineView(View):
    """One device in the stretch. Its time is `busy_s`, `idle_s`, `closed_s` and what it was not there for."""

    id: str
    kind: str
    node: str
    present: bool  # it is one of the devices of the service now
    attempts: int
    failed: int
    busy_s: float
    sweep_busy_s: float | None  # of the sweep that was asked for
    idle_s: float  # open to trials, and none ran
    closed_s: float  # not open to trials: dedicated, set aside, lost, or the service was down
    busy_share: float | None  # of the time in which it was open to trials
    bars: BarsView
    gaps: GapsView  # but for those too short to see
    reasons: list[ReasonView]  # of all gaps, the longest first


class TimelineView(View):
    """All devices in a stretch of time; times are seconds since the epoch."""

    from_s: float
    to_s: float
    now_s: float
    sweep_id: int | None
    shortest_s: float  # attempts and gaps shorter than this are joined with their neighbours, or gaps left out
    busy_share: float | None
    sweeps: dict[int, str]  # the names of those that ran, by id
    devices: list[DeviceTimelineView]


@dataclass(slots=True)
class _Spent:
    """Seconds by reason."""

    by_reason: dict[tuple[Why, str], list[float]] = field(default_factory=dict)

    def add(self, why: Why, reason: str, seconds: float, gaps: int = 1) -> None:
        entry = self.by_reason.setdefault((why, reason), [0.0, 0])
        entry[0] += seconds
        entry[1] += gaps

    def total(self, whys: Iterable[Why]) -> float:
        wanted = set(whys)
        return sum(entry[0] for (why, _), entry in self.by_reason.items() if why in wanted)

    def views(self) -> list[ReasonView]:
        found = [
            ReasonView(why=why, reason=reason, total_s=round(seconds, 3), gaps=int(count))
            for (why, reason), (seconds, count) in self.by_reason.items()
            if seconds > 0 and why is not Why.ABSENT
        ]
        return sorted(found, key=lambda view: -view.total_s)


@router.get("/timeline", dependencies=[viewer])
def read_timeline(
    since: Annotated[
        datetime | None,
        Query(
            alias="from", description="ISO 8601, or seconds since the epoch; by default an hour, or the sweep's start"
        ),
    ] = None,
    until: Annotated[datetime | None, Query(alias="to", description="now, or the sweep's end, by default")] = None,
    sweep: Annotated[
        int | None, Query(ge=1, le=MAX_ID, description="whose stretch, and whose share of the time")
    ] = None,
    service: ServiceContext = context,
) -> TimelineView:
    """What each device ran, when it ran nothing, and why: short attempts are joined, totals count every one."""
    now = time.time()
    with service.database.read() as connection:
        stretch = _stretch(connection, since, until, sweep, now)
        seen_at = device_history.seen_at(connection)
        present = {row.id: row for row in devices.all_of(connection)}
        gone = [name for name in device_history.known(connection) if name not in present]
        found = []
        for device_id in [*present, *gone]:
            row = present.get(device_id)
            kind, node = (device_id.partition("-")[0], "") if row is None else (row.kind, row.node)
            view = _device(connection, device_id, stretch, now, seen_at)
            if row is not None or view.attempts or view.reasons:
                found.append(view.model_copy(update={"kind": kind, "node": node, "present": row is not None}))
        ran = {sweep_id for view in found for sweep_id in view.bars.sweep_id if sweep_id is not None}
        names = timeline.sweep_names(connection, ran)
    return TimelineView(
        from_s=stretch.from_s, to_s=stretch.to_s, now_s=now, sweep_id=sweep, shortest_s=stretch.bucket_s,
        busy_share=_share(sum(view.busy_s for view in found), sum(view.idle_s for view in found)),
        sweeps=names, devices=found,
    )  # fmt: skip


def _stretch(
    connection: Connection, since: datetime | None, until: datetime | None, sweep_id: int | None, now: float
) -> Stretch:
    """Raises `NotFoundError` and `BadRequestError`."""
    first, last = now - DEFAULT_S, now
    if sweep_id is not None:
        row = sweeps.get(connection, sweep_id)
        first, last = row.started_at or row.created_at, row.ended_at or now
    to_s = last if until is None else min(_seconds(until), now)
    from_s = (first if first < to_s else to_s - DEFAULT_S) if since is None else _seconds(since)
    if not 0 <= from_s < to_s:
        raise BadRequestError("`from` must be before `to`, after 1970, and not in the future")
    known_s = to_s - max(from_s, device_history.begins_at(connection) or from_s)
    return Stretch(from_s, to_s, (known_s if known_s > 0 else to_s - from_s) / BUCKETS, sweep_id)


def _seconds(moment: datetime) -> float:
    """Since the epoch; what says no time zone is UTC, like all that the service says itself."""
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH).total_seconds()


def _device(
    connection: Connection, device_id: str, stretch: Stretch, now: float, seen_at: float | None
) -> DeviceTimelineView:
    rows = timeline.busy(connection, device_id, stretch)
    said = device_history.between(connection, device_id, stretch.from_s, stretch.to_s)
    spells, shares = merged(silent_since(said, seen_at, now), rows, stretch)
    found = gaps(rows, spells, stretch.from_s, stretch.to_s)
    spent = _spent(rows, found, shares, stretch)
    busy_s = sum(row.busy_s for row in rows)
    idle_s = spent.total(OPEN)
    reasons = spent.views()
    closed_s = spent.total(set(Why) - {*OPEN, Why.ABSENT})
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
        gaps=_gaps(_seen(found, stretch), reasons),
        reasons=reasons,
    )  # fmt: skip


def _spent(rows: list[BusyRow], found: list[Gap], shares: Shares, stretch: Stretch) -> _Spent:
    spent = _Spent()
    for gap in found:
        if gap.of == 1:
            spent.add(gap.why, gap.reason, gap.long_s)
    for (state, reason), share in shares.items():
        spent.add(why_of(state), reason, share.long_s, share.spells)
    for row in rows:
        if row.attempts > 1:
            spent.add(Why.BETWEEN, "", hidden_s(row, stretch.from_s, stretch.to_s), row.attempts - 1)
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


def _seen(found: list[Gap], stretch: Stretch) -> list[Gap]:
    """All but the shortest; of very many, those that a screen shows apart."""
    seen = thinned(found, min(LEAST_GAP_S, stretch.bucket_s), stretch.to_s)
    return seen if len(seen) <= MOST_GAPS else thinned(found, stretch.bucket_s, stretch.to_s)


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
