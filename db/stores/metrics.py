"""Metric points: one row per trial, name and step; scheduler and api.

The first report of a step is kept. An attempt that repeats steps replaces the points of earlier attempts from its first
step on: they belong to a network that no longer exists.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, bindparam, case, func, select, text

from podium.db.schema.dialect import DialectText
from podium.db.schema.sqlite_database import sqlite_module
from podium.db.schema.tables import metric_summaries as summaries
from podium.db.schema.tables import metrics, non_finite_metrics
from podium.db.stores import metric_summaries
from podium.db.stores.id_list import LISTED, id_list, listed
from podium.db.stores.metric_summaries import Curve, PointRow
from podium.db.stores.precompiled_sql_statements import DriverSelect, DriverText, RowInsert
from podium.sweep.lifecycle.database_changes import MetricPoint

Points = list[tuple[int, float]]  # (step, value)
NonFinite = dict[str, list[tuple[int, str]]]  # by metric, steps with `nan`, `inf` or `-inf`
MIN_POINTS = 4  # of a thinned curve: its ends, and one lowest and one highest value
_COLUMNS = ("trial_id", "attempt", "name", "step", "value", "at")
_ADD = RowInsert(metrics, _COLUMNS, may_exist=True)
# Next to a lone min() or max(), SQLite takes the other columns from the row where it was found.
_THIN_BY_SQLITE = (
    "SELECT step, value FROM metrics WHERE trial_id = :trial AND name = :name AND step IN (:first, :last)"
    " UNION SELECT step, value FROM (SELECT step, min(value) AS value FROM metrics"
    " WHERE trial_id = :trial AND name = :name GROUP BY (step - :first) / :width)"
    " UNION SELECT step, value FROM (SELECT step, max(value) AS value FROM metrics"
    " WHERE trial_id = :trial AND name = :name GROUP BY (step - :first) / :width)"
    " ORDER BY step"
)
_OF_CURVE = "FROM metrics WHERE trial_id = :trial AND name = :name"
_OF_PART = f"SELECT DISTINCT ON ((step - :first) / :width) step, value {_OF_CURVE} ORDER BY (step - :first) / :width"
_THIN_BY_POSTGRES = (
    f"SELECT step, value {_OF_CURVE} AND step IN (:first, :last)"
    f" UNION (({_OF_PART}, value, step) UNION ({_OF_PART}, value DESC, step)) ORDER BY step"
)


def _prints_exactly() -> bool:
    """Whether SQLite prints 17 digits of a number as JSON; earlier versions print 15."""
    with contextlib.closing(sqlite_module().connect(":memory:")) as connection:
        printed: str = connection.execute("SELECT json_array(0.1 + 0.2)").fetchone()[0]
    return printed == "[0.30000000000000004]"


PRINTS_EXACTLY = _prints_exactly()
EXACT_VALUE = "value" if PRINTS_EXACTLY else "printf('%!.17g', value)"


def exact_json(column: ColumnElement[Any], prints_exactly: bool = PRINTS_EXACTLY) -> ColumnElement[Any]:
    """A number with all its digits for a JSON function; NULL stays NULL."""
    if prints_exactly:
        return column
    return case((column.is_not(None), func.json(func.printf("%!.17g", column))))


# Several curves in one statement, as JSON: the driver releases the interpreter for each statement and each row, and
# waits for it again while other threads compute.
_ARRAYS = f"SELECT '[' || json_group_array(step) || ',' || json_group_array({EXACT_VALUE}) || ']' FROM"
_CURVE = """
    SELECT ({arrays} (
      SELECT step, value FROM metrics WHERE trial_id = {trial} AND name = {name} ORDER BY step
    ) AS points) FROM {curves} ORDER BY each.key
"""
_WHOLE = DialectText(
    sqlite=text(
        _CURVE.format(
            arrays=_ARRAYS,
            trial="json_extract(each.value, '$[0]')",
            name="json_extract(each.value, '$[1]')",
            curves="json_each(:curves) AS each",
        )
    ),
    postgres=text(
        _CURVE.format(
            arrays=_ARRAYS,
            trial="CAST(each.value ->> 0 AS bigint)",
            name="each.value ->> 1",
            curves="json_array_elements(CAST(:curves AS json)) WITH ORDINALITY AS each (value, key)",
        )
    ),
)
_THINNED = DialectText(
    sqlite=text(f"{_ARRAYS} ({_THIN_BY_SQLITE}) AS points"), postgres=text(f"{_ARRAYS} ({_THIN_BY_POSTGRES}) AS points")
)

# The first and the last step of each metric: the first entry of the curve in the index, and a figure of its summary.
_FIRST = (
    select(func.min(metrics.c.step))
    .where(metrics.c.trial_id == summaries.c.trial_id, metrics.c.name == summaries.c.name)
    .scalar_subquery()
)
_OF_TRIAL = (
    select(summaries.c.name, _FIRST, summaries.c.last_step)
    .where(summaries.c.trial_id == bindparam("trial"), summaries.c.last_step.is_not(None))
    .order_by(summaries.c.name)
)
_EXTENTS = DriverSelect(_OF_TRIAL)
_EXTENT = DriverSelect(_OF_TRIAL.where(summaries.c.name == bindparam("name")))
_EXTENTS_OF_LISTED = DriverSelect(
    select(metrics.c.trial_id, func.min(metrics.c.step), func.max(metrics.c.step), func.count())
    .where(metrics.c.trial_id.in_(LISTED), metrics.c.name == bindparam("name"))
    .group_by(metrics.c.trial_id)
)
_COUNT = DriverSelect(
    select(func.count()).where(metrics.c.trial_id == bindparam("trial"), metrics.c.name == bindparam("name"))
)

_STORED = DriverText(
    "SELECT EXISTS (SELECT 1 FROM metrics WHERE trial_id = ? AND name = ? AND step = ? AND attempt = ? AND value = ?)"
)
_ADD_NON_FINITE = RowInsert(non_finite_metrics, _COLUMNS, may_exist=True)
_SUPERSEDE = tuple(
    DriverText(f"DELETE FROM {table} WHERE trial_id = ? AND name = ? AND step >= ? AND attempt < ?")  # noqa: S608 - constants
    for table in ("metrics", "non_finite_metrics")
)


def add(connection: Connection, points: Sequence[MetricPoint]) -> None:
    """Write points and their summaries; existing steps of the attempt are not changed."""
    add_rows(
        connection,
        [(point.key.trial_id, point.key.attempt, point.name, point.step, point.value, point.at) for point in points],
    )


def add_rows(connection: Connection, rows: Sequence[PointRow]) -> None:
    """Like `add`, with plain rows."""
    superseded = _supersede(connection, rows)
    finite = [row for row in rows if math.isfinite(row[4])]
    if finite:
        added = _ADD.execute(connection, finite)
        stored = finite if added == len(finite) else [row for row in finite if _is_stored(connection, row)]
        metric_summaries.add(connection, stored)
    if len(finite) < len(rows):
        _add_non_finite(connection, [row for row in rows if not math.isfinite(row[4])])
    if superseded:
        metric_summaries.rebuild(connection, superseded)


def _supersede(connection: Connection, rows: Sequence[PointRow]) -> set[Curve]:
    """Remove the points of earlier attempts that an attempt replaces; returns the metrics that may have lost points."""
    repeated = [row for row in rows if row[1] > 1]
    if not repeated:
        return set()
    first: dict[tuple[int, str, int], int] = {}
    for trial_id, attempt, name, step, _, _ in repeated:
        key = (trial_id, name, attempt)
        first[key] = min(step, first.get(key, step))
    ends = [(trial_id, name, step, attempt) for (trial_id, name, attempt), step in first.items()]
    removed = sum(statement.execute_many(connection, ends) for statement in _SUPERSEDE)
    return {(trial_id, name) for trial_id, name, _ in first} if removed else set()


def _is_stored(connection: Connection, row: PointRow) -> bool:
    """Whether this point is stored, rather than an earlier one of its step."""
    trial_id, attempt, name, step, value, _ = row
    stored: bool = _STORED.execute(connection, (trial_id, name, step, attempt, value)).scalar_one()
    return stored


def _add_non_finite(connection: Connection, rows: Sequence[PointRow]) -> None:
    written = [(trial, attempt, name, step, str(value), at) for trial, attempt, name, step, value, at in rows]
    _ADD_NON_FINITE.execute(connection, written)
    metric_summaries.count_non_finite(connection, {(row[0], row[2]) for row in rows})


def of_trial(
    connection: Connection, trial_id: int, name: str | None = None, max_points: int | None = None
) -> dict[str, Points]:
    """Each metric of a trial as (step, value) pairs in step order.

    With `max_points`, at least `MIN_POINTS`, a longer curve is thinned: its first and last point, and the lowest
    and highest of each of equal ranges of steps, so that no peak is lost.
    """
    _check_max_points(max_points)
    values = {"trial": trial_id, "name": name}
    rows = (_EXTENTS if name is None else _EXTENT).rows(connection, values)
    extents = [_Extent(trial_id, *row) for row in rows if row[1] is not None]  # NULL: a summary without points
    long = {extent for extent in extents if max_points is not None and _is_longer(connection, extent, max_points)}
    return {extent.name: points for extent, points in _read(connection, extents, long, max_points)}


def non_finite_of_trial(connection: Connection, trial_id: int) -> NonFinite:
    """By metric, the steps at which a trial logged NaN or an infinity, each with `nan`, `inf` or `-inf`."""
    return non_finite_of_trials(connection, [trial_id]).get(trial_id, {})


def non_finite_of_trials(connection: Connection, trial_ids: Sequence[int]) -> dict[int, NonFinite]:
    """The same of several trials, by id; only those that have any."""
    table = non_finite_metrics
    columns = (table.c.trial_id, table.c.name, table.c.step, table.c.value)
    statement = select(*columns).where(table.c.trial_id.in_(id_list(trial_ids)))
    found: dict[int, NonFinite] = {}
    for trial_id, name, step, value in connection.execute(statement.order_by(*columns[:3])):
        found.setdefault(trial_id, {}).setdefault(name, []).append((step, value))
    return found


def of_trials(
    connection: Connection, trial_ids: Sequence[int], name: str, max_points: int
) -> dict[int, tuple[int, Points]]:
    """By trial, the number of points of a metric and its points, thinned as in `of_trial`."""
    _check_max_points(max_points)
    rows = _EXTENTS_OF_LISTED.rows(connection, listed(trial_ids) | {"name": name})
    extents = {_Extent(trial_id, name, first, last): points for trial_id, first, last, points in rows}
    long = {extent for extent, points in extents.items() if points > max_points}
    found = _read(connection, tuple(extents), long, max_points)
    return {extent.trial_id: (extents[extent], points) for extent, points in found}


@dataclass(frozen=True, slots=True)
class _Extent:
    """One curve: its first and last step."""

    trial_id: int
    name: str
    first: int
    last: int


def _check_max_points(max_points: int | None) -> None:
    if max_points is not None and max_points < MIN_POINTS:
        raise ValueError(f"max_points={max_points}: a thinned curve has {MIN_POINTS} points or more")


def _is_longer(connection: Connection, extent: _Extent, max_points: int) -> bool:
    """Whether a curve has more than `max_points` points. They are counted only if its range of steps is wider."""
    if extent.last - extent.first < max_points:
        return False
    ((points,),) = _COUNT.rows(connection, {"trial": extent.trial_id, "name": extent.name})
    return int(points) > max_points


def _read(
    connection: Connection, extents: Sequence[_Extent], long: Set[_Extent], max_points: int | None
) -> Iterator[tuple[_Extent, Points]]:
    """Each curve; those in `long` are thinned."""
    short = [extent for extent in extents if extent not in long]
    curves = json.dumps([[extent.trial_id, extent.name] for extent in short])
    whole = (
        dict(zip(short, connection.execute(_WHOLE.on(connection), {"curves": curves}).scalars(), strict=True))
        if short
        else {}
    )
    for extent in extents:
        found = whole.get(extent) or _thinned(connection, extent, max_points or 0)
        yield extent, _points(found)


def _thinned(connection: Connection, extent: _Extent, max_points: int) -> str:
    width = (extent.last - extent.first) // ((max_points - 2) // 2) + 1
    curve = {"trial": extent.trial_id, "name": extent.name}
    within = {"first": extent.first, "last": extent.last, "width": width}
    found: str = connection.execute(_THINNED.on(connection), curve | within).scalar_one()
    return found


def _points(text: str) -> Points:
    """The points of `[[step, …], [value, …]]`."""
    steps, values = orjson.loads(text)
    if values and isinstance(values[0], str):
        values = [float(value) for value in values]
    return list(zip(steps, values, strict=True))
