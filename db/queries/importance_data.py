"""The data from which parameter importances are computed; api."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from podium.db.queries.metric_column_expressions import figure_of_trial, parse_figure
from podium.db.queries.trial_column_expressions import PEAKS_MB, RUNNING_S
from podium.db.schema.tables import trial_values, trials
from podium.db.stores.sweeps import SweepRow
from podium.db.stores.trial_params import params_of_trials
from podium.sweep.values.errors import BadRequestError
from podium.sweep.values.states import TrialState

DURATION, RUNNING = "duration_s", "running_s"  # usable like a metric
MAX_TRIALS = 400  # trials: fANOVA's time grows with their square


def count_finished(connection: Connection, sweep: SweepRow, metric: str) -> int:
    """The number of finished trials with a value of the metric. Raises `BadRequestError` for an unknown metric."""
    where = _value_column(sweep, metric).is_not(None)
    return connection.execute(
        select(func.count()).select_from(trials).where(_terminal_trials(sweep), where)
    ).scalar_one()


def importance_data(connection: Connection, sweep: SweepRow, metric: str) -> list[dict[str, Any]]:
    """Parameters and value of each finished trial; an even sample by number if there are too many."""
    value = _value_column(sweep, metric)
    statement = select(trials.c.id, value.label("value")).where(_terminal_trials(sweep), value.is_not(None))
    rows = connection.execute(statement.order_by(trials.c.number)).all()
    wanted = min(len(rows), MAX_TRIALS)
    rows = [rows[index * len(rows) // wanted] for index in range(wanted)]
    params: Mapping[int, Any] = params_of_trials(connection, [row.id for row in rows])
    return [{"params": params.get(row.id, {}), "value": row.value} for row in rows]


def _terminal_trials(sweep: SweepRow) -> ColumnElement[bool]:
    return (trials.c.sweep_id == sweep.id) & (trials.c.state == TrialState.FINISHED.value)


def _value_column(sweep: SweepRow, metric: str) -> ColumnElement[Any]:
    if metric == sweep.objectives[0][0]:
        return trials.c.value
    if metric in dict(sweep.objectives):
        found = select(trial_values.c.value).where(
            trial_values.c.trial_id == trials.c.id, trial_values.c.name == metric
        )
        return found.scalar_subquery()
    if metric == DURATION:
        return trials.c.ended_at - trials.c.started_at
    if metric == RUNNING:
        return RUNNING_S
    if metric in PEAKS_MB:
        return PEAKS_MB[metric]
    if figure := parse_figure(metric):
        return figure_of_trial(figure)
    names = ", ".join([*dict(sweep.objectives), RUNNING, DURATION, *PEAKS_MB])
    raise BadRequestError(f"metric={metric}: use one of {names}, or last(NAME), min(NAME) or max(NAME) of a metric")
