"""Metric points: one row per trial, name and step; the first report of a step is kept; scheduler and api."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson
from sqlalchemy import ColumnElement, Connection, func, select, text

from podium.db.schema.engine import sqlite_module
from podium.db.schema.tables import metrics
from podium.db.stores.id_list import id_list
from podium.sweep.lifecycle.recorded_changes import MetricPoint

Points = list[tuple[int, float]]  # (step, value)
MIN_POINTS = 4  # of a thinned curve: its ends, and one lowest and one highest value
# Given to the driver as it is, with plain tuples: SQLAlchemy takes longer for its parameters than SQLite for the rows.
_ADD = "INSERT INTO metrics (trial_id, attempt, name, step, value, at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
# Next to a lone min() or max(), SQLite takes the other columns from the row where it was found.
_THIN = (
    "SELECT step, value FROM metrics WHERE trial_id = :trial AND name = :name AND step IN (:first, :last)"
    " UNION SELECT step, value FROM (SELECT step, min(value) AS value FROM metrics"
    " WHERE trial_id = :trial AND name = :name GROUP BY (step - :first) / :width)"
    " UNION SELECT step, value FROM (SELECT step, max(value) AS value FROM metrics"
    " WHERE trial_id = :trial AND name = :name GROUP BY (step - :first) / :width)"
    " ORDER BY step"
)


def _prints_exactly() -> bool:
    """Whether SQLite prints 17 digits of a number as JSON; earlier versions print 15."""
    with contextlib.closing(sqlite_module().connect(":memory:")) as connection:
        printed: str = connection.execute("SELECT json_array(0.1 + 0.2)").fetchone()[0]
    return printed == "[0.30000000000000004]"


_EXACT = "value" if _prints_exactly() else "printf('%!.17g', value)"

# Several curves in one statement, as JSON: the driver releases the interpreter for each statement and each row, and
# waits for it again while other threads compute.
_WHOLE = text(f"""
    SELECT (SELECT json_array(json_group_array(step), json_group_array({_EXACT})) FROM (
      SELECT step, value FROM metrics
      WHERE trial_id = json_extract(each.value, '$[0]') AND name = json_extract(each.value, '$[1]') ORDER BY step
    )) FROM json_each(:curves) AS each ORDER BY each.key
""")  # noqa: S608 - constants
_THINNED = text(
    f"SELECT json_array(json_group_array(step), json_group_array({_EXACT})) FROM ({_THIN})"  # noqa: S608 - constants
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
) -> dict[str, Points]:
    """Each metric of a trial as (step, value) pairs in step order.

    With `max_points`, at least `MIN_POINTS`, a longer curve is thinned: its first and last point, and the lowest
    and highest of each of equal ranges of steps, so that no peak is lost.
    """
    where = metrics.c.trial_id == trial_id
    if name is not None:
        where &= metrics.c.name == name
    return {extent.name: points for extent, points in _read(connection, where, max_points)}


def of_trials(
    connection: Connection, trial_ids: Sequence[int], name: str, max_points: int
) -> dict[int, tuple[int, Points]]:
    """By trial, the number of points of a metric and its points, thinned as in `of_trial`."""
    where = metrics.c.trial_id.in_(id_list(trial_ids)) & (metrics.c.name == name)
    return {extent.trial_id: (extent.points, points) for extent, points in _read(connection, where, max_points)}


@dataclass(frozen=True, slots=True)
class _Extent:
    """One curve: the number of its points, its first and last step."""

    trial_id: int
    name: str
    points: int
    first: int
    last: int


def _read(
    connection: Connection, where: ColumnElement[bool], max_points: int | None
) -> Iterator[tuple[_Extent, Points]]:
    if max_points is not None and max_points < MIN_POINTS:
        raise ValueError(f"max_points={max_points}: a thinned curve has {MIN_POINTS} points or more")
    columns = (metrics.c.trial_id, metrics.c.name)
    steps = (func.count(), func.min(metrics.c.step), func.max(metrics.c.step))
    rows = connection.execute(select(*columns, *steps).where(where).group_by(*columns)).all()
    extents = [_Extent(*row) for row in rows]
    short = [extent for extent in extents if max_points is None or extent.points <= max_points]
    curves = json.dumps([[extent.trial_id, extent.name] for extent in short])
    whole = dict(zip(short, connection.execute(_WHOLE, {"curves": curves}).scalars(), strict=True)) if short else {}
    for extent in extents:
        found = whole.get(extent) or _thinned(connection, extent, max_points or 0)
        yield extent, _points(found)


def _thinned(connection: Connection, extent: _Extent, max_points: int) -> str:
    width = (extent.last - extent.first) // ((max_points - 2) // 2) + 1
    curve = {"trial": extent.trial_id, "name": extent.name}
    within = {"first": extent.first, "last": extent.last, "width": width}
    found: str = connection.execute(_THINNED, curve | within).scalar_one()
    return found


def last_of(connection: Connection, trial_ids: Sequence[int], name: str) -> dict[int, tuple[int, float]]:
    """The last (step, value) of a metric for each of these trials; trials without reports are omitted."""
    statement = (
        select(metrics.c.trial_id, func.max(metrics.c.step), metrics.c.value)  # SQLite takes the value from that row
        .where(metrics.c.trial_id.in_(trial_ids), metrics.c.name == name)
        .group_by(metrics.c.trial_id)
    )
    return {trial_id: (step, value) for trial_id, step, value in connection.execute(statement)}


def _points(text: str) -> Points:
    """The points of `[[step, …], [value, …]]`."""
    try:
        steps, values = orjson.loads(text)
    except orjson.JSONDecodeError:  # an infinite number, which an imported study can have
        steps, values = json.loads(text)
    if values and isinstance(values[0], str):
        values = [float(value) for value in values]
    return list(zip(steps, values, strict=True))
