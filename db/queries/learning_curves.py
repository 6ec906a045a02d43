"""Downsampled learning curves of the trials of a sweep, the most relevant first; api."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, exists, func, select, text

from podium.db.queries.trial_filter import IN_NUMBER_ORDER
from podium.db.schema.tables import metric_summaries, non_finite_metrics, trials
from podium.db.stores import metrics as metric_points
from podium.db.stores.feasible_trial_condition import FEASIBLE
from podium.db.stores.id_list import id_list
from podium.db.stores.sweeps import SweepRow
from podium.sweep.values.states import TrialState

MAX_RANKED = 500  # trials whose metric names are listed: the first ones shown
_MOST_NAMES = 20_000  # that are looked up: fewer trials, if each has many metrics
_SAMPLED = 20  # trials that show how many metrics each has
Condition = ColumnElement[bool]
_NAMES = text(
    "SELECT DISTINCT name FROM metric_summaries WHERE trial_id IN (SELECT value FROM json_each(:ids))"
    " AND last_step IS NOT NULL ORDER BY name"
)


@dataclass(frozen=True, slots=True)
class Curve:
    """One trial's values of a metric, in step order."""

    trial_id: int
    number: int
    state: TrialState
    points: int  # before downsampling
    steps: list[int]
    values: list[float]


@dataclass(frozen=True, slots=True)
class Curves:
    """One metric of several trials."""

    metrics: list[str]  # names of all reported metrics, the objectives first
    metric: str | None  # of these curves
    matching: int  # trials that have reported it
    curves: list[Curve]


def curves(
    connection: Connection, sweep: SweepRow, where: Condition, metric: str | None, max_points: int, limit: int
) -> Curves:
    """Up to `limit` trials that match `where`: running ones, then finished ones by value, then the newest.

    Each curve has about `max_points` points at most, including its extrema. The default `metric` is the objective, or
    the first reported one by name.
    """
    names = metric_names(connection, sweep, where)
    metric = metric or next(iter(names), None)
    if metric is None:
        return Curves([], None, 0, [])
    reported = exists().where(
        metric_summaries.c.trial_id == trials.c.id,
        metric_summaries.c.name == metric,
        metric_summaries.c.last_step.is_not(None),
    )
    counted = select(func.count()).select_from(trials).where(where, IN_NUMBER_ORDER, reported)
    matching = connection.execute(counted).scalar_one()
    rows = first_trials(connection, sweep, where & reported, limit)
    found = metric_points.of_trials(connection, [row.id for row in rows], metric, max_points)
    return Curves(names, metric, matching, [_curve(row, *found[row.id]) for row in rows])


def first_trials(connection: Connection, sweep: SweepRow, where: Condition, limit: int) -> list[Row[int, int, str]]:
    """The most relevant trials: of each of the three kinds, until there are enough.

    Running ones, at most one for each slot, are found by their state and sorted; the others are read in the order of an
    index.
    """
    finished = (trials.c.state == TrialState.FINISHED.value) & FEASIBLE
    runs = trials.c.state == TrialState.RUNNING.value
    newest = trials.c.number.desc()
    kinds: tuple[tuple[Condition, tuple[ColumnElement[Any], ...]], ...] = (
        (runs, ((trials.c.number + 0).desc(),)),  # otherwise SQLite reads all trials in the order of their numbers
        (finished, (_best_first(trials.c.value, sweep.goal), newest)),
        (~runs & ~finished & IN_NUMBER_ORDER, (newest,)),
    )
    columns = select(trials.c.id, trials.c.number, trials.c.state)
    rows: list[Row[int, int, str]] = []
    for kind, order in kinds:
        if len(rows) < limit:
            rows += connection.execute(columns.where(where, kind).order_by(*order).limit(limit - len(rows))).all()
    return rows


def _best_first(value: ColumnElement[Any], goal: str) -> ColumnElement[Any]:
    return value.desc() if goal == "maximize" else value.asc()


def metric_names(connection: Connection, sweep: SweepRow, where: Condition) -> list[str]:
    """The names of the metrics that the first trials have reported, the objectives first."""
    ids = [row.id for row in first_trials(connection, sweep, where, MAX_RANKED)]
    found = _names_of(connection, ids[:_SAMPLED])
    if len(ids) > _SAMPLED:
        found = sorted(
            {*found, *_names_of(connection, ids[_SAMPLED : max(_SAMPLED, _MOST_NAMES // len(found or "-"))])}
        )
    return objectives_first(sweep, found)


def objectives_first(sweep: SweepRow, names: Sequence[str]) -> list[str]:
    """Names of metrics in the order in which people read them."""
    own = [name for name, _ in sweep.objectives if name in names]
    return own + [name for name in names if name not in own]


def _names_of(connection: Connection, ids: Sequence[int]) -> list[str]:
    marked = select(non_finite_metrics.c.name).where(non_finite_metrics.c.trial_id.in_(id_list(ids))).distinct()
    names = {*connection.execute(_NAMES, {"ids": json.dumps(ids)}).scalars(), *connection.execute(marked).scalars()}
    return sorted(names)


def _curve(row: Row[int, int, str], points: int, found: Sequence[tuple[int, float]]) -> Curve:
    steps, values = [step for step, _ in found], [value for _, value in found]
    return Curve(
        trial_id=row.id, number=row.number, state=TrialState(row.state), points=points, steps=steps, values=values
    )
