"""Several sweeps side by side: the history of the best value of each, and the trials of all in one table; api."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, select

from podium.db.queries.best_trials import best
from podium.db.schema.tables import trials
from podium.db.stores import metric_summaries, sweeps, trial_reader
from podium.db.stores.feasible_trial_condition import FEASIBLE
from podium.db.stores.metric_summaries import ALL
from podium.db.stores.sweeps import SweepRow
from podium.db.stores.trial_reader import TrialRow
from podium.sweep.values.states import TrialState


# The last point of each curve. Names are found one after the other in the primary key, so that a curve of a million
# points costs as much as one of two.
@dataclass(frozen=True, slots=True)
class Improvement:
    """A trial that improved on all before."""

    trial_id: int
    number: int
    time_s: float  # its end, since the start of the sweep
    value: float


@dataclass(frozen=True, slots=True)
class History:
    """The best value of a sweep over its trials, by its first objective."""

    sweep: SweepRow
    improvements: tuple[Improvement, ...]
    trials: int  # that have ended with a value
    last_number: int  # of these; -1 without one
    last_s: float  # end of the last of them, since the start of the sweep


@dataclass(frozen=True, slots=True)
class JoinedTrial:
    """A trial with the sweep that it belongs to, and the last value of each of its metrics."""

    row: TrialRow
    sweep_name: str
    values: Mapping[str, float]  # of a finished trial, by objective
    metrics: Mapping[str, float]


def history(connection: Connection, sweep_id: int, *, by_number: bool) -> History:
    """In the order of numbers, or in that in which the trials ended.

    Trials that violate a constraint are left out. Raises `NotFoundError`.
    """
    sweep = sweeps.without_counts(connection, sweep_id)
    start = sweep.started_at if sweep.started_at is not None else sweep.created_at
    ended = and_(trials.c.sweep_id == sweep_id, trials.c.state == TrialState.FINISHED.value, FEASIBLE)
    columns = select(trials.c.id, trials.c.number, trials.c.ended_at, trials.c.value)
    order = (trials.c.number,) if by_number else (trials.c.ended_at, trials.c.number)
    rows = connection.execute(columns.where(ended, trials.c.value.is_not(None)).order_by(*order)).all()
    found: list[Improvement] = []
    for trial_id, number, ended_at, value in rows:
        if not found or (value > found[-1].value if sweep.goal == "maximize" else value < found[-1].value):
            found.append(Improvement(trial_id, number, max(0.0, (ended_at or start) - start), value))
    last_s = max((max(0.0, (row.ended_at or start) - start) for row in rows), default=0.0)
    last_number = max((row.number for row in rows), default=-1)
    return History(sweep, tuple(found), len(rows), last_number, last_s)


def joined_trials(
    connection: Connection, sweep_ids: Sequence[int], trial_ids: Sequence[int], best_of_each: int
) -> list[JoinedTrial]:
    """The best trials of each sweep and further trials, each once; unknown trials are left out.

    Raises `NotFoundError` for an unknown sweep.
    """
    rows: dict[int, TrialRow] = {row.id: row for row in trial_reader.read(connection, trial_ids)}
    known: dict[int, SweepRow] = {}
    for sweep_id in sweep_ids:
        known[sweep_id] = sweeps.without_counts(connection, sweep_id)
        for row in best(connection, sweep_id, known[sweep_id].goal, best_of_each):
            rows.setdefault(row.id, row)
    for sweep_id in {row.sweep_id for row in rows.values()} - known.keys():
        known[sweep_id] = sweeps.without_counts(connection, sweep_id)
    metrics = _last_values(connection, list(rows))
    return [
        JoinedTrial(row, known[row.sweep_id].name, _values(row, known[row.sweep_id]), metrics.get(row.id, {}))
        for row in rows.values()
    ]


def _values(row: TrialRow, sweep: SweepRow) -> Mapping[str, float]:
    if row.values is not None:
        return row.values
    return {} if row.value is None else {sweep.objectives[0][0]: row.value}


def _last_values(connection: Connection, trial_ids: Sequence[int]) -> dict[int, dict[str, float]]:
    """The last value of each metric, by trial."""
    found = metric_summaries.latest(connection, trial_ids, limit=ALL)
    return {trial_id: {name: value for name, (_, value) in last.items()} for trial_id, last in found.items()}
