"""All points of metrics of several trials as arrays, by step, time, running time or another metric; api."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, select, text

from podium.db.schema.tables import attempts, non_finite_metrics
from podium.db.stores.id_list import id_list
from podium.db.stores.metrics import EXACT_VALUE

MAX_MARKS = 300  # reports of NaN and infinities that are listed, per metric
BY_METRIC = "metric:"  # before the name of the metric that is the x axis
X_AXES = ("step", "time", "runtime")
Numbers = NDArray[np.float64]
# One statement per metric, as JSON: the driver releases the interpreter for each statement and each row.
_READ = f"""
    SELECT (SELECT '[' || json_group_array(step) || ',' || json_group_array({EXACT_VALUE}) || ','
                       || json_group_array(x) || ',' || json_group_array(attempt) || ']'
      FROM (SELECT m.step, m.value, m.attempt, {{x}} AS x FROM metrics m {{join}}
            WHERE m.trial_id = each.value AND m.name = :name ORDER BY m.step) AS points)
    FROM json_each(:trials) AS each ORDER BY each.key
"""  # noqa: S608 - constants
_BY_STEP = text(_READ.format(x="m.step", join=""))
_BY_TIME = text(_READ.format(x="m.at", join=""))
_BY_OTHER = text(
    _READ.format(
        x="n.value", join="LEFT JOIN metrics n ON n.trial_id = m.trial_id AND n.name = :other AND n.step = m.step"
    )
)


@dataclass(frozen=True, slots=True)
class CurvePoints:
    """All finite points of one trial in step order, and its reports that are not finite."""

    x: Numbers
    y: Numbers
    marks: tuple[tuple[float, str], ...] = ()  # x, and nan, inf or -inf
    without_x: int = 0  # points omitted because the metric of the x axis has no value at their step


def read(connection: Connection, trial_ids: Sequence[int], name: str, x_axis: str) -> dict[int, CurvePoints]:
    """The points of a metric by trial; trials without reports of it are omitted.

    `x_axis` is `step`; `time`, seconds since the epoch; `runtime`, seconds for which the trial had run; or
    `metric:NAME`, the value of another metric at the same step.
    """
    values = {"trials": json.dumps(list(trial_ids)), "name": name}
    if x_axis == "step":
        statement = _BY_STEP
    elif x_axis.startswith(BY_METRIC):
        statement, values["other"] = _BY_OTHER, x_axis.removeprefix(BY_METRIC)
    else:
        statement = _BY_TIME
    shifts = _shifts(connection, trial_ids) if x_axis == "runtime" else {}
    found = dict(zip(trial_ids, connection.execute(statement, values).scalars(), strict=True))
    marks = _marks(connection, trial_ids, name)
    curves = {}
    for trial_id, plain in found.items():
        curve = _curve(plain, marks.get(trial_id, ()), shifts.get(trial_id), x_axis)
        if curve is not None:
            curves[trial_id] = curve
    return curves


def _curve(
    plain: str, marked: Sequence[Row[int, int, str, float, int]], shifts: Mapping[int, float] | None, x_axis: str
) -> CurvePoints | None:
    steps, values, xs, numbers = _arrays(plain)
    if values.size == 0 and not marked:
        return None
    if shifts is not None:
        xs = xs + np.array([shifts.get(int(number), np.nan) for number in numbers])
    has_x, finite = np.isfinite(xs), np.isfinite(values)
    marks = [(x, str(value)) for x, value in zip(xs[has_x & ~finite], values[has_x & ~finite], strict=True)]
    for row in marked:
        x = _mark_x(row, steps, xs=xs, shifts=shifts, x_axis=x_axis)
        if x is not None:
            marks.append((x, row.value))
    kept = has_x & finite
    return CurvePoints(xs[kept], values[kept], tuple(sorted(marks)), int(np.count_nonzero(~has_x)))


def _mark_x(
    row: Row[int, int, str, float, int], steps: Numbers, xs: Numbers, shifts: Mapping[int, float] | None, x_axis: str
) -> float | None:
    """Where a report that is not finite is marked; by another metric, where the nearest earlier point is."""
    if x_axis == "step":
        return float(row.step)
    if not x_axis.startswith(BY_METRIC):
        return float(row.at) + (0.0 if shifts is None else shifts.get(row.attempt, np.nan))
    at = int(np.searchsorted(steps, row.step, side="right")) - 1
    return float(xs[at]) if at >= 0 and np.isfinite(xs[at]) else None


def _arrays(plain: str) -> list[Numbers]:
    try:
        columns = orjson.loads(plain)
    except orjson.JSONDecodeError:  # an infinite number, which an imported study can have
        columns = json.loads(plain)
    return [np.array(column, dtype=np.float64) for column in columns]  # null becomes NaN


def _marks(
    connection: Connection, trial_ids: Sequence[int], name: str
) -> dict[int, list[Row[int, int, str, float, int]]]:
    table = non_finite_metrics
    statement = (
        select(table.c.trial_id, table.c.step, table.c.value, table.c.at, table.c.attempt)
        .where(table.c.trial_id.in_(id_list(trial_ids)), table.c.name == name)
        .order_by(table.c.trial_id, table.c.step)
        .limit(MAX_MARKS)
    )
    found: dict[int, list[Row[int, int, str, float, int]]] = {}
    for row in connection.execute(statement):
        found.setdefault(row.trial_id, []).append(row)
    return found


def _shifts(connection: Connection, trial_ids: Sequence[int]) -> dict[int, dict[int, float]]:
    """By trial and attempt, what is added to a time to get the running time, without waits between attempts."""
    statement = (
        select(attempts.c.trial_id, attempts.c.number, attempts.c.started_at, attempts.c.ended_at)
        .where(attempts.c.trial_id.in_(id_list(trial_ids)))
        .order_by(attempts.c.trial_id, attempts.c.number)
    )
    found: dict[int, dict[int, float]] = {trial_id: {} for trial_id in trial_ids}
    ran: dict[int, float] = {}
    for trial_id, number, started_at, ended_at in connection.execute(statement):
        before = ran.get(trial_id, 0.0)
        found[trial_id][number] = before - started_at
        ran[trial_id] = before + ((ended_at or started_at) - started_at)
    return found
