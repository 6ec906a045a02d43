"""Intervals of the trials of populations: what each starts from, and how it ended; scheduler and api."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select, update

from podium.db.schema import dialect
from podium.db.schema.tables import attempts, intervals, trial_params, trials
from podium.db.stores import parameter_columns
from podium.db.stores.trial_writer import param_row
from podium.sweep.lifecycle.database_changes import IntervalEnded, IntervalStarted
from podium.sweep.lifecycle.stored_sweeps import IntervalResult, StoredInterval


def start(connection: Connection, started: Sequence[IntervalStarted]) -> None:
    """Begin intervals; the parameters of their trials become those of the interval."""
    for item in started:
        connection.execute(
            insert(intervals),
            {
                "trial_id": item.trial_id,
                "number": item.interval,
                "params": json.dumps(item.params),
                "donor_id": item.donor_id,
                "donor_interval": item.donor_interval,
                "first_attempt": item.first_attempt,
                "started_at": item.at,
            },
        )
        _set_params(connection, item)


def _set_params(connection: Connection, item: IntervalStarted) -> None:
    gone = trial_params.c.name.not_in(list(item.params))
    connection.execute(delete(trial_params).where(trial_params.c.trial_id == item.trial_id, gone))
    statement = dialect.insert(trial_params)
    statement = statement.on_conflict_do_update(
        index_elements=["trial_id", "name"],
        set_={name: statement.excluded[name] for name in ("number", "value")},
    )
    connection.execute(statement, [param_row(item.trial_id, name, value, None) for name, value in item.params.items()])
    columns = parameter_columns.values_of(parameter_columns.names_of(connection, item.sweep_id), item.params)
    connection.execute(update(trials).where(trials.c.id == item.trial_id).values(columns))


def end(connection: Connection, ended: Sequence[IntervalEnded]) -> None:
    """End intervals that have not ended."""
    statement = update(intervals).where(
        intervals.c.trial_id == bindparam("b_trial"),
        intervals.c.number == bindparam("b_number"),
        intervals.c.ended_at.is_(None),
    )
    connection.execute(
        statement.values(
            attempt=bindparam("b_attempt"),
            step=bindparam("b_step"),
            value=bindparam("b_value"),
            ended_at=bindparam("b_at"),
        ),
        [
            {
                "b_trial": item.key.trial_id,
                "b_number": item.interval,
                "b_attempt": item.key.attempt,
                "b_step": item.step,
                "b_value": item.value,
                "b_at": item.at,
            }
            for item in ended
        ],
    )


def of_trials(connection: Connection, which: ColumnElement[bool]) -> dict[int, tuple[StoredInterval, ...]]:
    """The intervals of trials, by number, for the scheduler; `which` selects the rows."""
    joined = (attempts.c.trial_id == intervals.c.trial_id) & (attempts.c.number == intervals.c.attempt)
    statement = (
        select(intervals, attempts.c.nonce)
        .join(attempts, joined, isouter=True)
        .where(which)
        .order_by(intervals.c.trial_id, intervals.c.number)
    )
    found: dict[int, list[StoredInterval]] = {}
    for row in connection.execute(statement):
        result = None if row.ended_at is None else IntervalResult(row.attempt, row.nonce or "", row.step, row.value)
        interval = StoredInterval(
            row.number,
            json.loads(row.params),
            row.first_attempt,
            row.donor_id,
            row.donor_interval,
            result,
            has_checkpoint=not row.removed,
        )
        found.setdefault(row.trial_id, []).append(interval)
    return {trial_id: tuple(rows) for trial_id, rows in found.items()}
