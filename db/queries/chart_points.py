"""Trials of a sweep as columns of plain values for charts: all matches, or a sample; api."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from itertools import islice
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Select, bindparam, func, select, text

from podium.db.queries.metric_column_expressions import MetricFigure
from podium.db.queries.rounded_columns import rounded
from podium.db.queries.trial_column_expressions import DURATION_S, RUNNING_S
from podium.db.schema.tables import attempts, trial_params, trials
from podium.db.stores.current_attempt_condition import CURRENT_ATTEMPT
from podium.db.stores.feasible_trial_condition import FEASIBLE
from podium.db.stores.metric_summaries import COLUMNS, Figure
from podium.db.stores.metrics import exact_json
from podium.db.stores.sweeps import SweepRow
from podium.sweep.lifecycle.pareto import fronts
from podium.sweep.values.megabytes import megabytes
from podium.sweep.values.states import TrialState

BEST_IN_SAMPLE = 1_000  # best trials in every sample
Columns = dict[str, list[Any]]
Condition = ColumnElement[bool]

_PLAIN_COLUMNS: dict[str, ColumnElement[Any]] = {
    **{name: trials.c[name] for name in ("id", "number", "state", "value", "ended_at")},
    "duration_s": DURATION_S,
    "running_s": RUNNING_S,
    "device": attempts.c.device_id,
    "cause": attempts.c.cause,
    "feasible": FEASIBLE,
}
_PEAKS = {"peak_memory_mb": attempts.c.peak_memory_bytes, "peak_gpu_memory_mb": attempts.c.peak_gpu_memory_bytes}
_ROWS = (
    select(*(column.label(name) for name, column in (_PLAIN_COLUMNS | _PEAKS).items()))
    .select_from(trials.outerjoin(attempts, CURRENT_ATTEMPT))
    .where(trials.c.id.in_(select(text("value")).select_from(text("json_each(:ids)"))))
    .order_by(trials.c.number)
    .subquery()
)
# SQLite builds whole columns as JSON: 0.1 s faster than rows in Python for 10,000 trials.
_PLAIN = select(
    *(
        func.json_group_array(exact_json(column) if column.name == "value" else column).label(column.name)
        for column in _ROWS.c
    )
)
_EACH = func.json_each(bindparam("ids")).table_valued("key", "value", name="each")
# The values are JSON already.
_PARAMS = (
    select(trial_params.c.name, func.json_group_array(_EACH.c.key), func.aggregate_strings(trial_params.c.value, ","))
    .select_from(_EACH.join(trial_params, trial_params.c.trial_id == _EACH.c.value))
    .group_by(trial_params.c.name)
)
_FIGURE = """
    SELECT json_group_array(figure) FROM (
      SELECT s.{} AS figure FROM json_each(:ids) AS each
      LEFT JOIN metric_summaries AS s ON s.trial_id = each.value AND s.name = :name ORDER BY each.key
    ) AS figures
"""
_VALUES = text("""
    SELECT v.name, json_group_array(each.key), json_group_array(v.value)
    FROM json_each(:ids) AS each JOIN trial_values AS v ON v.trial_id = each.value GROUP BY v.name
""")


class Part(StrEnum):
    """The columns that a caller may request separately."""

    TRIALS = "trials"
    PARAMETERS = "parameters"
    METRICS = "metrics"


@dataclass(frozen=True, slots=True)
class Points:
    """Columns of equal length, ordered by trial number; None: no value."""

    matching: int  # number of matching trials
    shown: int  # rows
    digest: str  # equal for the same trials in the same order
    columns: Columns


def points(
    connection: Connection,
    sweep: SweepRow,
    where: Condition,
    most: int,
    figures: Sequence[MetricFigure] = (),
    parts: frozenset[Part] = frozenset(Part),
    digits: int | None = None,
) -> Points:
    """The trials that match `where`. If there are more than `most`: the best, and an even sample of the rest.

    The columns of `trials` are `id`, `number`, `state`, `value`, `duration_s`, `running_s`, `ended_at` (seconds since
    the epoch), `device`, `cause`, `feasible`, `reported` (the last report of the objective, of trials without a
    value), `peak_memory_mb` and `peak_gpu_memory_mb` if any trial was measured, and with several objectives
    `values.NAME` and `pareto`: whether the trial is on the Pareto front of the matching trials. The columns of
    `parameters` are `params.NAME` of each parameter that a trial has, those of `metrics` are the `figures`; with
    `digits`, the fractions of both are rounded to that number of significant digits.
    """
    matching = _ids(connection, where)
    front = _front(connection, sweep, where)
    ids = _sample(connection, sweep, where=where, matching=matching, front=front, most=most)
    columns: Columns = {}
    if Part.TRIALS in parts:
        columns |= _plain(connection, ids) | _objectives(connection, sweep, ids, frozenset(front))
        columns["reported"] = _reported(connection, sweep, ids, columns["value"])
    if Part.PARAMETERS in parts:
        columns |= rounded(_params(connection, ids), digits)
    if Part.METRICS in parts:
        columns |= rounded(_figures(connection, ids, figures), digits)
    return Points(len(matching), len(ids), blake2b(orjson.dumps(ids), digest_size=8).hexdigest(), columns)


def distributions(connection: Connection, sweep_id: int) -> dict[str, dict[str, Any]]:
    """By name, the parameters that the sweep file does not define, in its format."""
    columns = select(trial_params.c.name, func.min(trial_params.c.distribution)).join(trials)
    own = (trials.c.sweep_id == sweep_id) & trial_params.c.distribution.is_not(None)
    rows = connection.execute(columns.where(own).group_by(trial_params.c.name))
    return {name: json.loads(distribution) for name, distribution in rows}


def _ids(connection: Connection, where: Condition) -> list[int]:
    """The ids of the matching trials, by number; as one JSON value, since rows take ten times longer."""
    matching = select(trials.c.id).where(where).order_by(trials.c.number).subquery()
    found: list[int] = orjson.loads(connection.execute(select(func.json_group_array(matching.c.id))).scalar_one())
    return found


def _plain(connection: Connection, ids: Sequence[int]) -> Columns:
    found = connection.execute(_PLAIN, {"ids": json.dumps(ids)}).mappings().one()
    columns: Columns = {name: orjson.loads(column) for name, column in found.items()}
    columns["feasible"] = list(map(bool, columns["feasible"]))
    for name in _PEAKS:
        peaks_bytes = columns.pop(name)
        if any(peak is not None for peak in peaks_bytes):
            columns[name] = list(map(megabytes, peaks_bytes))
    return columns


def _objectives(connection: Connection, sweep: SweepRow, ids: Sequence[int], front: frozenset[int]) -> Columns:
    """With several objectives, their values and the Pareto front; else nothing."""
    if len(sweep.objectives) == 1:
        return {}
    values = _values(connection, ids, [name for name, _ in sweep.objectives])
    return values | {"pareto": [id_ in front for id_ in ids]}


def _reported(connection: Connection, sweep: SweepRow, ids: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """The last report of the objective, of trials without a value."""
    without = [id_ for id_, value in zip(ids, values, strict=True) if value is None]
    (last,) = _figures(connection, without, [MetricFigure(Figure.LAST, sweep.metric)]).values()
    reports = iter(last)
    return [next(reports) if value is None else None for value in values]


def _params(connection: Connection, ids: Sequence[int]) -> Columns:
    columns: Columns = {}
    for name, places, values in connection.execute(_PARAMS, {"ids": json.dumps(ids)}):
        column = columns[f"params.{name}"] = [None] * len(ids)
        for place, value in zip(orjson.loads(places), orjson.loads(f"[{values}]"), strict=True):
            column[place] = value
    return columns


def _figures(connection: Connection, ids: Sequence[int], figures: Iterable[MetricFigure]) -> Columns:
    columns: Columns = {}
    for figure in figures:
        statement = text(_FIGURE.format(COLUMNS[figure.figure].name))
        found = connection.execute(statement, {"ids": json.dumps(ids), "name": figure.metric}).scalar_one()
        columns[figure.key] = orjson.loads(found)
    return columns


def _values(connection: Connection, ids: Sequence[int], names: Sequence[str]) -> Columns:
    columns: Columns = {name: [None] * len(ids) for name in names}
    for name, places, values in connection.execute(_VALUES, {"ids": json.dumps(ids)}):
        for place, value in zip(orjson.loads(places), orjson.loads(values), strict=True):
            columns[name][place] = value
    return {f"values.{name}": column for name, column in columns.items()}


def _front(connection: Connection, sweep: SweepRow, where: Condition) -> list[int]:
    """The ids of the non-dominated trials, the best by the first objective first; none with one objective."""
    goals = [goal for _, goal in sweep.objectives]
    if len(goals) == 1:
        return []
    ids = list(connection.execute(_best(sweep, where)).scalars())
    columns = _values(connection, ids, [name for name, _ in sweep.objectives])
    costs = list(zip(*columns.values(), strict=True))
    whole = [place for place, values in enumerate(costs) if None not in values]
    first = fronts([costs[place] for place in whole], goals)[:1]
    return [ids[place] for place in sorted(whole[place] for front in first for place in front)]


def _best(sweep: SweepRow, where: Condition) -> Select[int]:
    """The ids of the finished, feasible trials, best first by the first objective."""
    valued = (trials.c.state == TrialState.FINISHED.value) & trials.c.value.is_not(None) & FEASIBLE
    by = trials.c.value.desc() if sweep.goal == "maximize" else trials.c.value.asc()
    return select(trials.c.id).where(where, valued).order_by(by, trials.c.number)


def _best_of(connection: Connection, sweep: SweepRow, among: frozenset[int]) -> list[int]:
    """The best of many trials: read in order of value until enough are found, without evaluating the filter again."""
    in_order = connection.execute(_best(sweep, trials.c.sweep_id == sweep.id)).scalars()
    found = list(islice((id_ for id_ in in_order if id_ in among), BEST_IN_SAMPLE))
    in_order.close()
    return found


def _sample(
    connection: Connection, sweep: SweepRow, where: Condition, matching: list[int], front: Sequence[int], most: int
) -> list[int]:
    """The trials to show, in the same order: the front, the best ones, and an even sample of the others."""
    if len(matching) <= most:
        return matching
    best = _best_of(connection, sweep, frozenset(matching))
    kept = set(list(dict.fromkeys([*front, *best]))[: min(BEST_IN_SAMPLE, most // 2)])
    rest = [id_ for id_ in matching if id_ not in kept]
    wanted = most - len(kept)
    kept.update(rest[index * len(rest) // wanted] for index in range(wanted))
    return [id_ for id_ in matching if id_ in kept]
