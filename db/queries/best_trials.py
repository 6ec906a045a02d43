"""Reads the best trials of a sweep, and its Pareto front; api and scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, select

from podium.db.schema.tables import trial_values, trials
from podium.db.stores import trial_reader
from podium.db.stores.feasible_trial_condition import FEASIBLE
from podium.db.stores.trial_reader import TrialRow
from podium.sweep.lifecycle.pareto import fronts
from podium.sweep.values.states import TrialState


def best(
    connection: Connection, sweep_id: int, goal: str, limit: int, *, further: Sequence[str] = ()
) -> list[TrialRow]:
    """The best finished trials of a sweep by its first metric; ties go to the earlier trial.

    With the goals of `further` objectives, ties are ordered by these first, so that the best one is not dominated.
    Infeasible trials are omitted.
    """
    by = [trials.c.value, *(_value_at(position) for position in range(1, len(further) + 1))]
    order = [_best_first(column, each) for column, each in zip(by, (goal, *further), strict=True)]
    where = and_(trials.c.sweep_id == sweep_id, trials.c.state == TrialState.FINISHED.value, FEASIBLE)
    chosen = select(trials.c.id).where(where).order_by(*order, trials.c.number).limit(limit)
    return trial_reader.read(connection, connection.execute(chosen).scalars().all())


def _best_first(column: ColumnElement[Any], goal: str) -> ColumnElement[Any]:
    return column.desc().nulls_last() if goal == "maximize" else column.asc().nulls_first()


def _value_at(position: int) -> ColumnElement[Any]:
    found = select(trial_values.c.value).where(
        trial_values.c.trial_id == trials.c.id, trial_values.c.position == position
    )
    return found.scalar_subquery()


def pareto(
    connection: Connection, sweep_id: int, goals: Sequence[str], limit: int | None = None
) -> list[tuple[int, TrialRow]]:
    """The non-dominated finished trials as (0, trial); with a `limit`, those of the next fronts (1, 2, …) follow.

    Within a front, the order is by the first metric, then by number. Infeasible trials are omitted.
    """
    points: dict[int, list[float]] = {}
    where = and_(trials.c.sweep_id == sweep_id, trials.c.state == TrialState.FINISHED.value, FEASIBLE)
    statement = select(trial_values.c.trial_id, trial_values.c.value).join(trials).where(where)
    for trial_id, value in connection.execute(statement.order_by(trials.c.number, trial_values.c.position)):
        points.setdefault(trial_id, []).append(value)
    sign = -1 if goals[0] == "maximize" else 1
    ids, values = list(points), list(points.values())
    ranked = [
        (rank, ids[position])
        for rank, front in enumerate(fronts(values, goals, limit or 1))
        for position in sorted(front, key=lambda position: sign * values[position][0])
    ][:limit]
    rows = trial_reader.read(connection, [trial_id for _, trial_id in ranked])
    return [(rank, row) for (rank, _), row in zip(ranked, rows, strict=True)]
