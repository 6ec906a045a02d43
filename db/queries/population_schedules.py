"""The intervals of a population, and the schedule of configurations that one trial has followed; api."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Row, Select, case, func, select

from podium.db.schema.tables import intervals, trials
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.errors import NotFoundError
from podium.sweep.values.states import TrialState

_KEY_BITS = 32  # of the number of an interval in the key of a row


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """An interval of a trial."""

    trial_id: int
    trial: int  # its number
    interval: int
    params: Params
    donor_id: int | None  # the trial whose checkpoint it starts from; None: its own, or none
    donor: int | None  # its number
    donor_interval: int | None
    attempt: int | None  # that ended it; None: it has not ended, or the trial ended in it
    step: int | None
    value: float | None  # of a trial that finished in it, the value of the trial
    started_at: float
    ended_at: float | None

    @property
    def key(self) -> int:
        """Orders the intervals of a sweep by trial, then by number."""
        return (self.trial << _KEY_BITS) + self.interval


@dataclass(frozen=True, slots=True)
class PopulationSummary:
    """How far the trials of a population are."""

    trials: int  # that have started an interval
    intervals: int  # that have ended
    exploits: int  # that started from the checkpoint of another trial
    fewest: int  # the interval of the trial that is behind all others
    most: int


def _rows() -> Select[tuple[object, ...]]:
    donors = trials.alias("donors")
    finished = trials.c.state == TrialState.FINISHED.value
    value = func.coalesce(intervals.c.value, case((finished, trials.c.value)))
    ended_at = func.coalesce(intervals.c.ended_at, trials.c.ended_at)
    return (
        select(
            intervals.c.trial_id,
            trials.c.number.label("trial"),
            intervals.c.number.label("interval"),
            intervals.c.params,
            intervals.c.donor_id,
            donors.c.number.label("donor"),
            intervals.c.donor_interval,
            intervals.c.attempt,
            intervals.c.step,
            value.label("value"),
            intervals.c.started_at,
            ended_at.label("ended_at"),
        )
        .join(trials, trials.c.id == intervals.c.trial_id)
        .join(donors, donors.c.id == intervals.c.donor_id, isouter=True)
        .order_by(trials.c.number, intervals.c.number)
    )


def _row(row: Row[tuple[object, ...]]) -> IntervalRow:
    plain = dict(row._mapping)
    return IntervalRow(**{**plain, "params": json.loads(plain["params"])})


def page(connection: Connection, sweep_id: int, *, after: int | None, limit: int) -> list[IntervalRow]:
    """The next intervals of a sweep after the one with the key `after`, by trial and number."""
    statement = _rows().where(trials.c.sweep_id == sweep_id).limit(limit)
    if after is not None:
        number, interval = after >> _KEY_BITS, after % (1 << _KEY_BITS)
        later = (trials.c.number > number) | ((trials.c.number == number) & (intervals.c.number > interval))
        statement = statement.where(later)
    return [_row(row) for row in connection.execute(statement)]


def of_trials(connection: Connection, trial_ids: Sequence[int]) -> dict[int, list[IntervalRow]]:
    """The intervals of trials, by trial id; trials without intervals are omitted."""
    found: dict[int, list[IntervalRow]] = {}
    for row in connection.execute(_rows().where(intervals.c.trial_id.in_(trial_ids))):
        interval = _row(row)
        found.setdefault(interval.trial_id, []).append(interval)
    return found


def summary(connection: Connection, sweep_id: int) -> PopulationSummary | None:
    """How far a population is; None before its first interval, and for a sweep without a population."""
    last = (
        select(
            func.max(intervals.c.number).label("last"),
            func.count(intervals.c.ended_at).label("ended"),
            func.count(intervals.c.donor_id).label("exploits"),
        )
        .join(trials, trials.c.id == intervals.c.trial_id)
        .where(trials.c.sweep_id == sweep_id)
        .group_by(intervals.c.trial_id)
        .subquery()
    )
    sums = (
        func.count(),
        func.sum(last.c.ended),
        func.sum(last.c.exploits),
        func.min(last.c.last),
        func.max(last.c.last),
    )
    row = connection.execute(select(*sums).select_from(last)).one()
    return None if not row[0] else PopulationSummary(*map(int, row))


def schedule(connection: Connection, trial_id: int) -> list[IntervalRow]:
    """The intervals that led to the current state of a trial, oldest first: back from its last one, through those of
    the trials that it continued. Raises `NotFoundError` if the trial was not trained in intervals.
    """
    path: list[IntervalRow] = []
    known: dict[int, list[IntervalRow]] = {}
    wanted, before = trial_id, None
    while True:
        if wanted not in known:
            known |= {wanted: [], **of_trials(connection, [wanted])}
        found = [row for row in known[wanted] if before is None or row.interval <= before]
        if not found:
            break
        path.append(found[-1])
        if found[-1].donor_id is not None:
            wanted, before = found[-1].donor_id, found[-1].donor_interval
        else:
            before = found[-1].interval - 1
    if not path:
        raise NotFoundError(f"trial {trial_id} was not trained in intervals: its sweep has no population")
    return path[::-1]
