"""Trials of a sweep as columns of plain values for charts: all matches, or a sample; api."""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Row, and_, select, text

from podium.db.queries.trial_column_expressions import DURATION_S
from podium.db.schema.tables import attempts, trial_params, trials
from podium.db.stores.sweeps import SweepRow
from podium.db.stores.trial_values_and_attributes import FEASIBLE
from podium.sweep.lifecycle.pareto import fronts
from podium.sweep.values.states import TrialState

BEST_IN_SAMPLE = 1_000  # best trials in every sample
Columns = dict[str, list[Any]]
Condition = ColumnElement[bool]

_CURRENT = and_(attempts.c.trial_id == trials.c.id, attempts.c.number == trials.c.attempt)
_PLAIN_COLUMNS: dict[str, ColumnElement[Any]] = {
    **{name: trials.c[name] for name in ("id", "number", "state", "value", "ended_at")},
    "duration_s": DURATION_S,
    "device": attempts.c.device_id,
    "cause": attempts.c.cause,
}
_PLAIN = (
    select(*(column.label(name) for name, column in _PLAIN_COLUMNS.items()))
    .select_from(trials.outerjoin(attempts, _CURRENT))
    .where(trials.c.id.in_(select(text("value")).select_from(text("json_each(:ids)"))))
    .order_by(trials.c.number)
)
# SQLite builds whole columns as JSON: 0.1 s faster than rows in Python for 10,000 trials.
_PARAMS = text("""
    SELECT p.name, json_group_array(each.key), json_group_array(p.number),
    json_group_array(CASE WHEN p.number IS NULL OR p.value IN ('true', 'false') THEN json(p.value) END)
    FROM json_each(:ids) AS each JOIN trial_params AS p ON p.trial_id = each.value GROUP BY p.name
""")
_VALUES = text("""
    SELECT v.name, json_group_array(each.key), json_group_array(v.value)
    FROM json_each(:ids) AS each JOIN trial_values AS v ON v.trial_id = each.value GROUP BY v.name
""")


@dataclass(frozen=True, slots=True)
class Points:
    """Columns of equal length, ordered by trial number; None: no value."""

    matching: int  # number of matching trials
    columns: Columns

    @property
    def shown(self) -> int:
        return len(self.columns["id"])


def points(connection: Connection, sweep: SweepRow, where: Condition, most: int) -> Points:
    """The trials that match `where`. If there are more than `most`: the best, and an even sample of the rest.

    Columns are `id`, `number`, `state`, `value`, `duration_s`, `ended_at` (seconds since the epoch), `device`,
    `cause`, `feasible`, `params.NAME` of each parameter that a trial has, and with several objectives `values.NAME`
    and `pareto`: whether the trial is on the Pareto front of the matching trials.
    """
    found = connection.execute(_valued(where)).all()
    front = _front(connection, sweep, found)
    chosen = _sample(found, sweep.goal, front, most)
    ids = [row.id for row in chosen]
    columns = _plain(connection, ids) | {"feasible": [bool(row.feasible) for row in chosen]}
    columns |= _params(connection, ids)
    if len(sweep.objectives) > 1:
        columns |= _values(connection, ids, [name for name, _ in sweep.objectives])
        columns["pareto"] = [id_ in front for id_ in ids]
    return Points(len(found), columns)


def distributions(connection: Connection, sweep_id: int) -> dict[str, dict[str, Any]]:
    """By name, the parameters that the sweep file does not define, in its format."""
    columns = select(trial_params.c.name, trial_params.c.distribution).join(trials)
    own = (trials.c.sweep_id == sweep_id) & trial_params.c.distribution.is_not(None)
    rows = connection.execute(columns.where(own).group_by(trial_params.c.name))
    return {name: json.loads(distribution) for name, distribution in rows}


def _valued(where: Condition) -> Any:
    """The columns needed to sample."""
    return (
        select(trials.c.id, trials.c.state, trials.c.value, FEASIBLE.label("feasible"))
        .where(where)
        .order_by(trials.c.number)
    )


def _plain(connection: Connection, ids: Sequence[int]) -> Columns:
    rows = connection.execute(_PLAIN, {"ids": json.dumps(ids)}).all()
    return {name: [row[place] for row in rows] for place, name in enumerate(_PLAIN_COLUMNS)}


def _params(connection: Connection, ids: Sequence[int]) -> Columns:
    columns: Columns = {}
    for name, places, numbers, written in connection.execute(_PARAMS, {"ids": json.dumps(ids)}):
        column = columns[f"params.{name}"] = [None] * len(ids)
        for place, number, other in zip(*map(orjson.loads, (places, numbers, written)), strict=True):
            column[place] = number if other is None else other
    return columns


def _values(connection: Connection, ids: Sequence[int], names: Sequence[str]) -> Columns:
    columns: Columns = {name: [None] * len(ids) for name in names}
    for name, places, values in connection.execute(_VALUES, {"ids": json.dumps(ids)}):
        for place, value in zip(orjson.loads(places), orjson.loads(values), strict=True):
            columns[name][place] = value
    return {f"values.{name}": column for name, column in columns.items()}


def _front(connection: Connection, sweep: SweepRow, rows: Sequence[Row[Any]]) -> set[int]:
    """The ids of the non-dominated trials; empty with one objective."""
    goals = [goal for _, goal in sweep.objectives]
    if len(goals) == 1:
        return set()
    ids = [row.id for row in rows if _is_valued(row)]
    columns = _values(connection, ids, [name for name, _ in sweep.objectives])
    costs = list(zip(*columns.values(), strict=True))
    whole = [place for place, values in enumerate(costs) if None not in values]
    first = fronts([costs[place] for place in whole], goals)[:1]
    return {ids[whole[place]] for front in first for place in front}


def _is_valued(row: Row[Any]) -> bool:
    return row.state == TrialState.FINISHED.value and row.value is not None and bool(row.feasible)


def _sample(rows: Sequence[Row[Any]], goal: str, front: set[int], most: int) -> list[Row[Any]]:
    """The trials to show, in the same order."""
    if len(rows) <= most:
        return list(rows)
    sign = -1 if goal == "maximize" else 1
    ranked = [(row.id not in front, sign * row.value, place) for place, row in enumerate(rows) if _is_valued(row)]
    kept = {place for _, _, place in heapq.nsmallest(min(BEST_IN_SAMPLE, most // 2), ranked)}
    rest = [place for place in range(len(rows)) if place not in kept]
    wanted = most - len(kept)
    kept.update(rest[index * len(rest) // wanted] for index in range(wanted))
    return [rows[place] for place in sorted(kept)]
