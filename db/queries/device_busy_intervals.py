"""The attempts of a device in an interval of time, short ones merged by bucket; api."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Select,
    Subquery,
    case,
    cast,
    func,
    select,
    true,
    union_all,
)

from podium.db.schema.dialect import truncated
from podium.db.schema.tables import attempt_ranks, attempts, sweeps, trials
from podium.sweep.values.states import TrialState

_SHORT_OF_S = 1.0  # an attempt lost with the service ended at its last heartbeat, not when it was found


@dataclass(frozen=True, slots=True)
class TimelineInterval:
    """The requested interval and resolution; seconds since the epoch."""

    from_s: float
    to_s: float
    bucket_s: float  # shorter attempts are merged with others of the same bucket
    sweep_id: int | None = None  # the sweep whose share is counted separately


@dataclass(frozen=True, slots=True)
class BusyRow:
    """One attempt, or several consecutive short ones; a running one ends at the end of the interval."""

    start: float
    end: float
    attempts: int
    busy_s: float  # within the interval
    sweep_busy_s: float  # of the requested sweep
    runs: bool
    states: dict[str, int]  # counts by outcome: finished, pruned, …
    sweep_id: int | None  # None: of several
    trial_id: int | None  # of one attempt
    number: int  # of its trial, or the lowest
    last_number: int
    planned_at: float  # when its trial was chosen, or the first one


def busy_rows(connection: Connection, device_id: str, stretch: TimelineInterval) -> list[BusyRow]:
    """The busy intervals of a device, oldest first; at most two rows per bucket."""
    joined = _merge_short(_held(device_id, stretch), stretch)
    return [_row(row) for row in connection.execute(joined).mappings()]


def sweep_names(connection: Connection, sweep_ids: set[int]) -> dict[int, str]:
    """The names of these sweeps."""
    rows = connection.execute(select(sweeps.c.id, sweeps.c.name).where(sweeps.c.id.in_(sweep_ids)))
    return {row.id: row.name for row in rows}


def _held(device_id: str, stretch: TimelineInterval) -> Subquery:
    """Attempts on the device in the interval with their actual ends, including one that started before."""
    mine = attempts.c.device_id == device_id
    first = select(func.max(attempts.c.started_at)).where(mine, attempts.c.started_at <= stretch.from_s)
    started = attempts.c.started_at >= func.coalesce(first.scalar_subquery(), stretch.from_s)
    alone = _attempts_within(mine & started, stretch)
    of_ranks = (attempt_ranks.c.device_id == device_id) & (attempt_ranks.c.rank > 0)
    first_rank = select(func.max(attempt_ranks.c.started_at)).where(
        of_ranks, attempt_ranks.c.started_at <= stretch.from_s
    )
    ranks = (
        select(attempt_ranks.c.trial_id, attempt_ranks.c.number)
        .where(
            of_ranks,
            attempt_ranks.c.started_at >= func.coalesce(first_rank.scalar_subquery(), stretch.from_s),
            attempt_ranks.c.started_at < stretch.to_s,
        )
        .subquery()
    )
    same = (attempts.c.trial_id == ranks.c.trial_id) & (attempts.c.number == ranks.c.number)
    shared = _attempts_within(true(), stretch, ranks, same)
    return union_all(alone, shared).subquery()


def _attempts_within(
    which: ColumnElement[bool],
    stretch: TimelineInterval,
    joined: Subquery | None = None,
    on: ColumnElement[bool] | None = None,
) -> Select[Any]:
    known_end = attempts.c.started_at + attempts.c.device_s / attempts.c.devices
    sends = attempts.c.ended_at.is_(None)  # its files, if it has left the device
    ended = case((sends | (known_end < attempts.c.ended_at - _SHORT_OF_S), known_end), else_=attempts.c.ended_at)
    of_sweep: Any = 0 if stretch.sweep_id is None else cast(trials.c.sweep_id == stretch.sweep_id, Integer)
    end = func.coalesce(ended, stretch.to_s)
    source = attempts if joined is None else joined.join(attempts, on)
    return (
        select(
            attempts.c.trial_id,
            attempts.c.started_at.label("start"),
            end.label("end"),
            (func.min(end, stretch.to_s) - func.max(attempts.c.started_at, stretch.from_s)).label("busy_s"),
            func.coalesce(attempts.c.state, TrialState.RUNNING.value).label("state"),
            trials.c.number,
            trials.c.sweep_id,
            trials.c.created_at,
            cast(of_sweep, Integer).label("of_sweep"),
            cast(ended.is_(None), Integer).label("runs"),
        )
        .select_from(source.join(trials, trials.c.id == attempts.c.trial_id))
        .where(which, attempts.c.started_at < stretch.to_s, end > stretch.from_s)
    )


def _merge_short(held: Subquery, stretch: TimelineInterval) -> Any:
    """Long attempts alone, short ones merged with those that started in the same bucket."""
    c = held.c
    long = (c.end - c.start >= stretch.bucket_s) | (c.runs == 1)
    bucket = truncated((c.start - stretch.from_s) / stretch.bucket_s)
    same = func.min(c.sweep_id) == func.max(c.sweep_id)
    return (
        select(
            func.min(c.start).label("start"),
            func.max(c.end).label("end"),
            func.count().label("attempts"),
            func.sum(func.max(c.busy_s, 0.0)).label("busy_s"),
            func.sum(func.max(c.busy_s, 0.0) * c.of_sweep).label("sweep_busy_s"),
            *(func.sum(cast(c.state == state.value, Integer)).label(state.value) for state in TrialState),
            func.max(c.runs).label("runs"),
            case((same, func.min(c.sweep_id))).label("sweep_id"),
            case((func.count() == 1, func.min(c.trial_id))).label("trial_id"),
            func.min(c.number).label("number"),
            func.max(c.number).label("last_number"),
            func.min(c.created_at).label("planned_at"),
        )
        .group_by(bucket, cast(long, Integer))
        .order_by(func.min(c.start))
    )


def _row(row: Any) -> BusyRow:
    states = {state.value: row[state.value] for state in TrialState if row[state.value]}
    named = {name: row[name] for name in BusyRow.__dataclass_fields__ if name not in ("runs", "states")}
    return BusyRow(**named, runs=bool(row["runs"]), states=states)
