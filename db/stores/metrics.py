"""Metric points: one row per trial, name and step; the first report of a step is kept; scheduler and api."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection, func, select, text

from podium.db.schema.tables import metrics
from podium.sweep.lifecycle.database_changes import MetricPoint

MIN_POINTS = 4  # of a thinned curve: its ends, and one lowest and one highest value
# Given to the driver as it is, with plain tuples: SQLAlchemy takes longer for its parameters than SQLite for the rows.
_ADD = "INSERT INTO metrics (trial_id, attempt, name, step, value, at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
# Next to a lone min() or max(), SQLite takes the other columns from the row where it was found.
_THIN = text(
    "SELECT step, value FROM metrics WHERE trial_id = :trial AND name = :name AND step IN (:first, :last)"
    " UNION SELECT step, value FROM (SELECT step, min(value) AS value FROM metrics"
    " WHERE trial_id = :trial AND name = :name GROUP BY (step - :first) / :width)"
    " UNION SELECT step, value FROM (SELECT step, max(value) AS value FROM metrics"
    " WHERE trial_id = :trial AND name = :name GROUP BY (step - :first) / :width)"
    " ORDER BY step"
)

# By seeks alone, however long the curves are: from each name to the next one, and to the last step of each.
_LATEST = text(
    "WITH RECURSIVE names(trial_id, name) AS ("
    " SELECT t.value, (SELECT min(name) FROM metrics WHERE trial_id = t.value) FROM json_each(:trials) t"
    " UNION ALL SELECT trial_id, (SELECT min(m.name) FROM metrics m"
    " WHERE m.trial_id = names.trial_id AND m.name > names.name) FROM names WHERE name IS NOT NULL LIMIT :most)"
    " SELECT m.trial_id, m.name, m.step, m.value FROM names JOIN metrics m ON m.trial_id = names.trial_id"
    " AND m.name = names.name AND m.step = (SELECT max(step) FROM metrics l"
    " WHERE l.trial_id = names.trial_id AND l.name = names.name)"
)


def add(connection: Connection, points: Sequence[MetricPoint]) -> None:
    """Write points; existing steps are not changed."""
    rows = [(point.key.trial_id, point.key.attempt, point.name, point.step, point.value, point.at) for point in points]
    connection.exec_driver_sql(_ADD, rows)


def latest(
    connection: Connection, trial_ids: Sequence[int], limit: int = 2_000
) -> dict[int, dict[str, tuple[int, float]]]:
    """The last (step, value) of each metric by trial and name; for about `limit` metrics at most."""
    found: dict[int, dict[str, tuple[int, float]]] = {}
    values = {"trials": json.dumps(list(trial_ids)), "most": limit}
    for trial_id, name, step, value in connection.execute(_LATEST, values):
        found.setdefault(trial_id, {})[name] = (step, value)
    return found


def of_trial(
    connection: Connection, trial_id: int, name: str | None = None, max_points: int | None = None
) -> dict[str, list[tuple[int, float]]]:
    """Each metric of a trial as (step, value) pairs in step order.

    With `max_points`, at least `MIN_POINTS`, a longer curve is thinned: its first and last point, and the lowest
    and highest of each of equal ranges of steps, so that no peak is lost.
    """
    if max_points is not None and max_points < MIN_POINTS:
        raise ValueError(f"max_points={max_points}: a thinned curve has {MIN_POINTS} points or more")
    statement = select(
        metrics.c.name, func.count().label("points"), func.min(metrics.c.step), func.max(metrics.c.step)
    ).where(metrics.c.trial_id == trial_id)
    if name is not None:
        statement = statement.where(metrics.c.name == name)
    curves: dict[str, list[tuple[int, float]]] = {}
    for curve, points, first, last in connection.execute(statement.group_by(metrics.c.name)):
        if max_points is None or points <= max_points:
            curves[curve] = _all_points(connection, trial_id, curve)
        else:
            width = (last - first) // ((max_points - 2) // 2) + 1
            values = {"trial": trial_id, "name": curve, "first": first, "last": last, "width": width}
            curves[curve] = [(step, value) for step, value in connection.execute(_THIN, values)]
    return curves


def last_of(connection: Connection, trial_ids: Sequence[int], name: str) -> dict[int, tuple[int, float]]:
    """The last (step, value) of a metric for each of these trials; trials without reports are omitted."""
    statement = (
        select(metrics.c.trial_id, func.max(metrics.c.step), metrics.c.value)  # SQLite takes the value from that row
        .where(metrics.c.trial_id.in_(trial_ids), metrics.c.name == name)
        .group_by(metrics.c.trial_id)
    )
    return {trial_id: (step, value) for trial_id, step, value in connection.execute(statement)}


def _all_points(connection: Connection, trial_id: int, name: str) -> list[tuple[int, float]]:
    statement = select(metrics.c.step, metrics.c.value).where(metrics.c.trial_id == trial_id, metrics.c.name == name)
    return [(step, value) for step, value in connection.execute(statement.order_by(metrics.c.step))]
