"""Which checkpoints of a population are no longer needed, and the record of removed ones; scheduler.

Like for other files that are not kept, a row is marked first, then the files are deleted, then the row is marked as
gone. A marked interval is not continued, so a sweep that is resumed at the same time does not use a lost checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select, update

from podium.db.schema.tables import artifacts, attempts, intervals, sweeps, trials
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.spec.population import CHECKPOINTS_KEPT
from podium.sweep.values.states import COUNTED_TRIAL_STATES, TERMINAL_SWEEP_STATES, SweepState, TrialState

KEPT, MARKED, GONE = 0, 1, 2  # `intervals.removed`


@dataclass(frozen=True, slots=True)
class MarkedInterval:
    """An interval with files to remove: `models` are folders of attempts whose model was saved again later."""

    trial_id: int
    number: int
    checkpoints: tuple[str, ...]  # folders of attempts, relative to `DataDirectory.trials`
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    trial_id: int
    number: int
    donor_id: int | None
    donor_interval: int | None
    ended_at: float | None
    state: TrialState

    @property
    def key(self) -> tuple[int, int]:
        return self.trial_id, self.number


def sweeps_with_checkpoints(connection: Connection) -> list[int]:
    """The sweeps of which a checkpoint of an interval may have to be removed."""
    statement = select(trials.c.sweep_id).join(intervals, intervals.c.trial_id == trials.c.id)
    found = connection.execute(statement.where(intervals.c.removed != GONE).distinct().order_by(trials.c.sweep_id))
    return list(found.scalars())


def mark(connection: Connection, sweep_id: int, *, keeps: bool) -> None:
    """Mark the intervals whose checkpoints nothing needs. `keeps`: the sweep keeps those of finished trials."""
    state = connection.execute(select(sweeps.c.state).where(sweeps.c.id == sweep_id)).scalar_one()
    over = SweepState(state) in TERMINAL_SWEEP_STATES
    never_again = state == SweepState.CANCELLED and not keeps
    columns = (intervals.c.trial_id, intervals.c.number, intervals.c.donor_id, intervals.c.donor_interval)
    statement = (
        select(*columns, intervals.c.ended_at, trials.c.state)
        .join(trials, trials.c.id == intervals.c.trial_id)
        .where(trials.c.sweep_id == sweep_id, intervals.c.removed == KEPT)
        .order_by(intervals.c.trial_id, intervals.c.number)
    )
    rows = [_Row(*row[:5], TrialState(row.state)) for row in connection.execute(statement)]
    needed = set() if never_again else _needed(rows, over=over, keeps=keeps)
    surplus = [row for row in rows if row.key not in needed and (over or row.ended_at is not None)]
    _set(connection, [row.key for row in surplus], MARKED)


def _needed(rows: Sequence[_Row], *, over: bool, keeps: bool) -> set[tuple[int, int]]:
    """The last checkpoints of each trial that may be continued, and those that unfinished intervals start from."""
    needed: set[tuple[int, int]] = set()
    ended: dict[int, list[_Row]] = {}
    for row in rows:
        if row.ended_at is not None:
            ended.setdefault(row.trial_id, []).append(row)
    for own in ended.values():
        if not over or own[-1].state not in COUNTED_TRIAL_STATES:
            needed |= {row.key for row in own[-CHECKPOINTS_KEPT:]}
        elif keeps:
            needed.add(own[-1].key)
    for row in rows:
        if row.ended_at is None and row.state not in COUNTED_TRIAL_STATES:
            needed.add(row.key)
            if row.donor_id is not None and row.donor_interval is not None:
                needed.add((row.donor_id, row.donor_interval))
        elif row.ended_at is None and keeps:
            needed.add(row.key)
    return needed


def marked(connection: Connection, sweep_id: int) -> list[MarkedInterval]:
    """The intervals of a sweep whose files are to be removed."""
    statement = (
        select(intervals, trials.c.sweep_id, trials.c.number.label("of"))
        .join(trials, trials.c.id == intervals.c.trial_id)
        .where(trials.c.sweep_id == sweep_id, intervals.c.removed == MARKED)
    )
    found: list[MarkedInterval] = []
    for row in connection.execute(statement).all():
        within = (attempts.c.trial_id == row.trial_id) & (attempts.c.number >= row.first_attempt)
        if row.attempt is not None:
            within &= attempts.c.number <= row.attempt
        places = connection.execute(select(attempts.c.number, attempts.c.nonce).where(within)).all()
        saved = select(artifacts.c.attempt).where(artifacts.c.trial_id == row.trial_id)
        used = set(connection.execute(saved).scalars())
        keys = {number: DataDirectory.attempt_key(row.sweep_id, row.of, number, nonce) for number, nonce in places}
        old = tuple(key for number, key in keys.items() if used and number not in used)
        found.append(MarkedInterval(row.trial_id, row.number, tuple(keys.values()), old))
    return found


def mark_gone(connection: Connection, removed: Iterable[MarkedInterval]) -> None:
    """Record that the files of these intervals are deleted."""
    _set(connection, [(each.trial_id, each.number) for each in removed], GONE)


def _set(connection: Connection, keys: Sequence[tuple[int, int]], removed: int) -> None:
    if not keys:
        return
    statement = update(intervals).where(
        intervals.c.trial_id == bindparam("b_trial"), intervals.c.number == bindparam("b_number")
    )
    rows = [{"b_trial": trial_id, "b_number": number} for trial_id, number in keys]
    connection.execute(statement.values(removed=removed), rows)
