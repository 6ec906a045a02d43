"""Last, lowest and highest value of each metric of each trial, and its non-finite values; scheduler and api.

Always equal to what the points give: written in the transaction that writes them. So a table of 10,000 trials is
sorted and filtered by a metric without reading a curve.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, select, text

from podium.db.schema.dialect import DialectText
from podium.db.schema.tables import metric_summaries
from podium.db.stores.id_list import id_list
from podium.db.stores.precompiled_sql_statements import DriverText, RowUpdate

PointRow = tuple[int, int, str, int, float, float]  # trial, attempt, name, step, value, time
Curve = tuple[int, str]  # trial and name


ALL = 2**62  # as a limit: every row


class Figure(StrEnum):
    """What a summary tells of a metric, as written in filters and names of columns: `min(val_loss)`."""

    LAST = "last"
    MIN = "min"
    MAX = "max"
    LAST_STEP = "last_step"
    MIN_STEP = "min_step"
    MAX_STEP = "max_step"
    NON_FINITE = "non_finite"


COLUMNS = {
    Figure.LAST: metric_summaries.c.last_value,
    Figure.MIN: metric_summaries.c.min_value,
    Figure.MAX: metric_summaries.c.max_value,
    Figure.LAST_STEP: metric_summaries.c.last_step,
    Figure.MIN_STEP: metric_summaries.c.min_step,
    Figure.MAX_STEP: metric_summaries.c.max_step,
    Figure.NON_FINITE: metric_summaries.c.non_finite,
}


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric of a trial; the values are None if all were non-finite."""

    name: str
    last: float | None
    last_step: int | None
    min: float | None
    min_step: int | None  # the first step with this value
    max: float | None
    max_step: int | None
    non_finite: int  # stored points that are NaN or infinite
    non_finite_step: int | None  # the first of them


# ?1 trial, ?2 name, then last, lowest and highest value, each with its step.
_FIGURES = ("trial_id", "name", "last_value", "last_step", "min_value", "min_step", "max_value", "max_step")
_UPDATE = RowUpdate(
    """
    UPDATE metric_summaries SET
      last_value = CASE WHEN last_step IS NULL OR ?4 >= last_step THEN ?3 ELSE last_value END,
      last_step = CASE WHEN last_step IS NULL OR ?4 >= last_step THEN ?4 ELSE last_step END,
      min_step = CASE WHEN min_value IS NULL OR ?5 < min_value OR (?5 = min_value AND ?6 < min_step)
        THEN ?6 ELSE min_step END,
      min_value = CASE WHEN min_value IS NULL OR ?5 < min_value THEN ?5 ELSE min_value END,
      max_step = CASE WHEN max_value IS NULL OR ?7 > max_value OR (?7 = max_value AND ?8 < max_step)
        THEN ?8 ELSE max_step END,
      max_value = CASE WHEN max_value IS NULL OR ?7 > max_value THEN ?7 ELSE max_value END
    {rows} WHERE trial_id = ?1 AND name = ?2
    """,
    [metric_summaries.c[name] for name in _FIGURES],
)
_ADD = DriverText("""
    INSERT INTO metric_summaries
      (trial_id, name, last_value, last_step, min_value, min_step, max_value, max_step, non_finite)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0) ON CONFLICT DO NOTHING
""")
_NAME_OF_SWEEP = DriverText("""
    INSERT INTO sweep_metrics (sweep_id, name) SELECT sweep_id, ?2 FROM trials WHERE id = ?1 ON CONFLICT DO NOTHING
""")
_COUNT = DriverText("""
    INSERT INTO metric_summaries (trial_id, name, non_finite, non_finite_step)
    SELECT trial_id, name, count(*), min(step) FROM non_finite_metrics WHERE trial_id = ?1 AND name = ?2
    GROUP BY trial_id, name
    ON CONFLICT (trial_id, name)
    DO UPDATE SET non_finite = excluded.non_finite, non_finite_step = excluded.non_finite_step
""")
_REMOVE = DriverText("DELETE FROM metric_summaries WHERE trial_id = ?1 AND name = ?2")


def from_points(where: str = "true") -> str:
    """A query of the summaries of finite points; `where` is a condition on the columns of `metrics`."""
    step_of = "(SELECT min(step) FROM metrics m WHERE m.trial_id = c.trial_id AND m.name = c.name AND m.value = {})"
    return f"""
        SELECT c.trial_id, c.name, l.value AS last_value, c.last_step,
          c.min_value, {step_of.format("c.min_value")} AS min_step,
          c.max_value, {step_of.format("c.max_value")} AS max_step
        FROM (SELECT trial_id, name, max(step) AS last_step, min(value) AS min_value, max(value) AS max_value
          FROM metrics WHERE {where} GROUP BY trial_id, name) c
        JOIN metrics l ON l.trial_id = c.trial_id AND l.name = c.name AND l.step = c.last_step
    """  # noqa: S608 - our own conditions


_REBUILD = DriverText(f"""
    INSERT INTO metric_summaries
      (trial_id, name, last_value, last_step, min_value, min_step, max_value, max_step, non_finite)
    SELECT points.*, 0 FROM ({from_points("trial_id = ?1 AND name = ?2")}) AS points
""")  # noqa: S608 - constants


def add(connection: Connection, rows: Sequence[PointRow]) -> None:
    """Add stored points. The order does not matter, and neither does adding a point twice."""
    if not rows:
        return
    summaries = _summarized(rows)
    updated = _UPDATE.execute(connection, summaries)
    if updated < len(summaries):  # the first points of a metric of a trial
        _ADD.execute_many(connection, summaries)
        _NAME_OF_SWEEP.execute_many(connection, [row[:2] for row in summaries])


def count_non_finite(connection: Connection, curves: Iterable[Curve]) -> None:
    """Non-finite points of these metrics were stored."""
    wanted = list(curves)
    _COUNT.execute_many(connection, wanted)
    _NAME_OF_SWEEP.execute_many(connection, wanted)


def rebuild(connection: Connection, curves: Iterable[Curve]) -> None:
    """Compute the summaries of metrics whose points were removed."""
    wanted = list(curves)
    for statement in (_REMOVE, _REBUILD, _COUNT):
        statement.execute_many(connection, wanted)


def _summarized(rows: Sequence[PointRow]) -> list[tuple[Any, ...]]:
    """One row of parameters for each metric of each trial."""
    found: dict[Curve, list[Any]] = {}
    for trial_id, _, name, step, value, _ in rows:
        curve = (trial_id, name)
        own = found.get(curve)
        if own is None:
            found[curve] = [trial_id, name, value, step, value, step, value, step]
            continue
        if step >= own[3]:
            own[2], own[3] = value, step
        if value < own[4] or (value == own[4] and step < own[5]):
            own[4], own[5] = value, step
        if value > own[6] or (value == own[6] and step < own[7]):
            own[6], own[7] = value, step
    return [tuple(own) for own in found.values()]


def names_of(connection: Connection, sweep_id: int) -> list[str]:
    """The names of all metrics that trials of a sweep have logged, sorted."""
    found = connection.execute(
        text("SELECT name FROM sweep_metrics WHERE sweep_id = :sweep ORDER BY name"), {"sweep": sweep_id}
    )
    return list(found.scalars())


def of_trial(connection: Connection, trial_id: int) -> list[MetricSummary]:
    """The metrics of a trial, by name."""
    columns = [column for column in metric_summaries.c if column.name != "trial_id"]
    rows = connection.execute(select(*columns).where(metric_summaries.c.trial_id == trial_id).order_by("name"))
    return [MetricSummary(*row) for row in rows]


def of_trials(connection: Connection, trial_ids: Sequence[int], names: Iterable[str]) -> dict[Curve, MetricSummary]:
    """The named metrics of these trials."""
    columns = [column for column in metric_summaries.c if column.name != "trial_id"]
    statement = select(metric_summaries.c.trial_id, *columns).where(
        metric_summaries.c.trial_id.in_(id_list(trial_ids)), metric_summaries.c.name.in_(sorted(set(names)))
    )
    return {(trial_id, row[0]): MetricSummary(*row) for trial_id, *row in connection.execute(statement)}


def all_of_trials(connection: Connection, trial_ids: Sequence[int]) -> dict[int, list[MetricSummary]]:
    """All metrics of these trials, by name."""
    columns = [column for column in metric_summaries.c if column.name != "trial_id"]
    statement = select(metric_summaries.c.trial_id, *columns)
    found: dict[int, list[MetricSummary]] = {}
    for trial_id, *row in connection.execute(statement.where(metric_summaries.c.trial_id.in_(id_list(trial_ids)))):
        found.setdefault(trial_id, []).append(MetricSummary(*row))
    return found


# From each name to the next one, so that a limit leaves out the last names of each trial instead of the last trials.
_LATEST = DialectText(
    sqlite=text(
        "WITH RECURSIVE names(trial_id, name) AS ("
        " SELECT t.value, (SELECT min(name) FROM metric_summaries WHERE trial_id = t.value) FROM json_each(:trials) t"
        " UNION ALL SELECT trial_id, (SELECT min(m.name) FROM metric_summaries m"
        " WHERE m.trial_id = names.trial_id AND m.name > names.name) FROM names WHERE name IS NOT NULL LIMIT :most)"
        " SELECT s.trial_id, s.name, s.last_step, s.last_value FROM names JOIN metric_summaries s"
        " ON s.trial_id = names.trial_id AND s.name = names.name WHERE s.last_step IS NOT NULL"
    ),
    postgres=text(
        "SELECT s.trial_id, s.name, s.last_step, s.last_value FROM json_each(:trials) t CROSS JOIN LATERAL"
        " (SELECT m.*, row_number() OVER (ORDER BY name) AS turn FROM metric_summaries m"
        " WHERE m.trial_id = t.value ORDER BY name LIMIT :most) s"
        " WHERE s.last_step IS NOT NULL ORDER BY s.turn LIMIT :most"
    ),
)


def latest(
    connection: Connection, trial_ids: Sequence[int], limit: int = 2_000
) -> dict[int, dict[str, tuple[int, float]]]:
    """The last (step, value) of each metric by trial and name; for about `limit` metrics at most, in turn by trial."""
    found: dict[int, dict[str, tuple[int, float]]] = {}
    values = {"trials": json.dumps(list(trial_ids)), "most": limit}
    for trial_id, name, step, value in connection.execute(_LATEST.on(connection), values):
        found.setdefault(trial_id, {})[name] = (step, value)
    return found


def last_of(connection: Connection, trial_ids: Sequence[int], name: str) -> dict[int, tuple[int, float]]:
    """The last (step, value) of a metric for each of these trials; trials without reports are omitted."""
    found = of_trials(connection, trial_ids, [name])
    return {
        trial_id: (each.last_step, each.last)
        for (trial_id, _), each in found.items()
        if each.last_step is not None and each.last is not None
    }
