"""The attempts of a sweep's trials over time, each with the time before it in the queue, as columns of JSON; api."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, null, or_, select, union_all

from podium.db.schema.tables import attempt_ranks, attempts, trials
from podium.db.stores.current_attempt_condition import CURRENT_ATTEMPT
from podium.sweep.values.states import TrialState

COLUMNS = ("id", "number", "attempt", "state", "cause", "device", "queued_s", "start_s", "end_s")
_STEPS = 6  # digits of a time in the whole range, at most down to a millisecond
Condition = ColumnElement[bool]


@dataclass(frozen=True, slots=True)
class TrialTimeline:
    """One entry per attempt, and one per trial or repetition that has not started, by trial and attempt."""

    matching: int  # trials
    shown: int
    from_s: float  # seconds since the epoch: the creation of the first trial; other times are relative to it
    columns: dict[str, str]  # JSON arrays of equal length


@dataclass(frozen=True, slots=True)
class _Axis:
    from_s: float
    range_s: float

    @property
    def digits(self) -> int:
        """Decimals of a time: as many as a chart can show, since each takes space in the response."""
        return min(3, max(0, _STEPS - math.ceil(math.log10(max(self.range_s, 1.0)))))


def timeline(connection: Connection, where: Condition, most: int) -> TrialTimeline:
    """The attempts of the trials that match `where`. If there are more than `most` trials, those that run and every
    n-th of the others.
    """
    last = func.max(trials.c.created_at, func.coalesce(trials.c.ended_at, 0.0))
    counted = select(func.count(), func.min(trials.c.created_at), func.max(last)).where(where)
    matching, from_s, to_s = connection.execute(counted).one()
    axis = _Axis(from_s or 0.0, (to_s or 0.0) - (from_s or 0.0))
    every = max(1, -(-matching // most))
    runs = trials.c.state == TrialState.RUNNING.value
    kept = where if every == 1 else where & or_(trials.c.number % every == 0, runs)
    found = union_all(_attempts(kept, axis), _repetitions(kept, axis)).subquery()
    rows = select(found).order_by(found.c.number, found.c.attempt).subquery()
    # SQLite builds whole columns as JSON, which is faster than rows in Python.
    columns = [func.json_group_array(rows.c[name]) for name in COLUMNS]
    shown, *written = connection.execute(select(func.count(rows.c.id.distinct()), *columns)).one()
    return TrialTimeline(matching, shown, axis.from_s, dict(zip(COLUMNS, written, strict=True)))


def _attempts(where: Condition, axis: _Axis) -> Select[Any]:
    """All attempts. A trial without attempts is one entry: it waits, never started, or was imported."""
    before = attempts.alias("before")
    previous = and_(before.c.trial_id == trials.c.id, before.c.number == attempts.c.number - 1)
    held_until = attempts.c.started_at + attempts.c.device_s / attempts.c.devices  # a lost one is found later
    none = attempts.c.number.is_(None)
    return (
        _entry(
            axis,
            attempt=func.coalesce(attempts.c.number, 0),
            state=case((none, trials.c.state), else_=func.coalesce(attempts.c.state, TrialState.RUNNING.value)),
            cause=attempts.c.cause,
            device=_devices(),
            queued_s=func.coalesce(before.c.ended_at, trials.c.created_at),
            start_s=case((none, trials.c.started_at), else_=attempts.c.started_at),
            end_s=case((none, trials.c.ended_at), else_=func.coalesce(held_until, attempts.c.ended_at)),
        )
        .select_from(trials.outerjoin(attempts, attempts.c.trial_id == trials.c.id).outerjoin(before, previous))
        .where(where)
    )


def _repetitions(where: Condition, axis: _Axis) -> Select[Any]:
    """The next attempt of trials that wait for it after an earlier one."""
    waits = and_(trials.c.state == TrialState.WAITING.value, trials.c.attempt > 0)
    return (
        _entry(
            axis,
            attempt=trials.c.attempt + 1,
            state=trials.c.state,
            cause=null(),
            device=null(),
            queued_s=func.coalesce(attempts.c.ended_at, trials.c.created_at),
            start_s=null(),
            end_s=null(),
        )
        .select_from(trials.join(attempts, CURRENT_ATTEMPT))
        .where(where, waits)
    )


def _entry(axis: _Axis, **columns: Any) -> Select[Any]:
    times = {
        name: func.round(column - axis.from_s, axis.digits) for name, column in columns.items() if name.endswith("_s")
    }
    named = {"id": trials.c.id, "number": trials.c.number, **columns, **times}
    return select(*(named[name].label(name) for name in COLUMNS))


def _devices() -> ColumnElement[Any]:
    """The device of an attempt, or all of them, by rank."""
    same = and_(attempt_ranks.c.trial_id == attempts.c.trial_id, attempt_ranks.c.number == attempts.c.number)
    ranks = select(attempt_ranks.c.device_id).where(same).order_by(attempt_ranks.c.rank).correlate(attempts).subquery()
    names = select(func.aggregate_strings(ranks.c.device_id, ", ")).scalar_subquery()
    return case((attempts.c.devices > 1, func.coalesce(names, attempts.c.device_id)), else_=attempts.c.device_id)
