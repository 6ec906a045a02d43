"""Metric points: one row a trial, name and step; the first report of a step stays."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from db.tables import metrics
from sweep.changes import MetricPoint


def add(connection: Connection, points: Sequence[MetricPoint]) -> None:
    """Write points; a step that is there already is left as it is."""
    rows = [
        {
            "trial_id": point.key.trial_id,
            "attempt": point.key.attempt,
            "name": point.name,
            "step": point.step,
            "value": point.value,
            "at": point.at,
        }
        for point in points
    ]
    connection.execute(insert(metrics).on_conflict_do_nothing(), rows)


def of_trial(connection: Connection, trial_id: int, name: str | None = None) -> dict[str, list[tuple[int, float]]]:
    """Each metric of a trial as (step, value) pairs in step order."""
    statement = select(metrics.c.name, metrics.c.step, metrics.c.value).where(metrics.c.trial_id == trial_id)
    if name is not None:
        statement = statement.where(metrics.c.name == name)
    curves: dict[str, list[tuple[int, float]]] = {}
    for row in connection.execute(statement.order_by(metrics.c.name, metrics.c.step)):
        curves.setdefault(row.name, []).append((row.step, row.value))
    return curves
