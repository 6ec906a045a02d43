"""Reads all trials of a sweep with all their data in batches, for exports; api."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import takewhile
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, func, select, text

from podium.db.queries import population_schedules, trial_artifact_rows, trial_pages
from podium.db.queries.attempt_reader import running_and_queued_s
from podium.db.queries.population_schedules import IntervalRow
from podium.db.queries.trial_cursor import Position
from podium.db.schema.dialect import DialectText
from podium.db.schema.tables import attempts, metrics, trial_attrs, trial_params, trials
from podium.db.stores import metric_summaries, multi_device_attempt_ranks, sweeps
from podium.db.stores.current_attempt_condition import CURRENT_ATTEMPT
from podium.db.stores.metric_summaries import MetricSummary
from podium.db.stores.metrics import NonFinite, non_finite_of_trials
from podium.db.stores.trial_reader import TrialRow
from podium.sweep.spec.sweep_spec import spec_from_json

Curves = dict[str, list[tuple[int, float]]]
MAX_POINTS_PER_BATCH = 100_000  # some 15 MB; the curves of one trial may be more


class Kind(StrEnum):
    """The type of all values of a column."""

    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TEXT = "text"
    JSON = "json"  # of several kinds, or of a kind that table columns lack


_KINDS = {
    frozenset({"integer"}): Kind.INTEGER,
    frozenset({"real"}): Kind.NUMBER,
    frozenset({"integer", "real"}): Kind.NUMBER,
    frozenset({"true"}): Kind.BOOLEAN,
    frozenset({"false"}): Kind.BOOLEAN,
    frozenset({"true", "false"}): Kind.BOOLEAN,
    frozenset({"text"}): Kind.TEXT,
}
# Integers of more than 64 bits fit no column type.
_READ_TYPES = """
    SELECT v.name, CASE WHEN json_type(v.value) = 'integer' AND {is_large} THEN 'large' ELSE json_type(v.value) END
    AS type FROM {table} v JOIN trials t ON t.id = v.trial_id
    WHERE t.sweep_id = :sweep AND t.number <= :last GROUP BY 1, 2
"""
_TYPES = {
    name: DialectText(
        sqlite=text(_READ_TYPES.format(table=name, is_large="typeof(json_extract(v.value, '$')) = 'real'")),
        postgres=text(
            _READ_TYPES.format(table=name, is_large=f"CAST(v.value AS numeric) NOT BETWEEN {-(2**63)} AND {2**63 - 1}")
        ),
    )
    for name in (trial_params.name, trial_attrs.name)
}
_CONSTRAINTS = text(
    "SELECT DISTINCT c.name FROM trial_constraints c JOIN trials t ON t.id = c.trial_id"
    " WHERE t.sweep_id = :sweep AND t.number <= :last ORDER BY c.name"
)


@dataclass(frozen=True, slots=True)
class ExportSchema:
    """The columns of a sweep's trials, and the last trial at the time of the request."""

    sweep_id: int
    last_number: int  # -1 without trials
    objectives: tuple[str, ...]
    params: dict[str, Kind]
    user_attrs: dict[str, Kind]
    constraints: tuple[str, ...]
    metrics: tuple[str, ...] = ()  # names of the summaries


@dataclass(frozen=True, slots=True)
class ExportedTrial:
    """A trial with the outcome of its last attempt, and its curves if requested."""

    row: TrialRow
    cause: str | None
    message: str | None
    distributions: dict[str, Any]  # of parameters that the sweep file does not define
    curves: Curves = field(default_factory=dict)
    summaries: tuple[MetricSummary, ...] = ()  # of all metrics
    running_s: float | None = None  # of a trial that has ended
    queued_s: float | None = None
    artifacts: tuple[trial_artifact_rows.ArtifactRow, ...] = ()  # existing files
    intervals: tuple[IntervalRow, ...] = ()  # of a trial of a population
    devices: tuple[str, ...] = ()  # of the last attempt, in the order of ranks, if it has several
    non_finite: NonFinite = field(default_factory=dict)  # with the curves


def export_schema(connection: Connection, sweep_id: int) -> ExportSchema:
    """Raises `NotFoundError`."""
    spec = spec_from_json(sweeps.get(connection, sweep_id).spec_json)
    last = connection.execute(
        select(func.coalesce(func.max(trials.c.number), -1)).where(trials.c.sweep_id == sweep_id)
    ).scalar_one()
    which = {"sweep": sweep_id, "last": last}
    return ExportSchema(
        sweep_id=sweep_id,
        last_number=last,
        objectives=tuple(metric.name for metric in spec.objectives),
        params=_kinds(connection, trial_params, which, tuple(spec.parameters)),
        user_attrs=_kinds(connection, trial_attrs, which),
        constraints=tuple(connection.execute(_CONSTRAINTS, which).scalars()),
        metrics=tuple(metric_summaries.names_of(connection, sweep_id)),
    )


def _kinds(connection: Connection, table: Table, which: dict[str, int], first: tuple[str, ...] = ()) -> dict[str, Kind]:
    """The kind of each name, starting with those of `first`."""
    types: dict[str, set[str]] = {name: set() for name in first}
    for name, kind in connection.execute(_TYPES[table.name].on(connection), which):
        types.setdefault(name, set()).add(kind)
    return {name: kind_of(found) for name, found in types.items()}


def kind_of(types: set[str]) -> Kind:
    """The kind of a column from SQLite's JSON types of its values; null fits any kind."""
    return _KINDS.get(frozenset(types - {"null"}), Kind.JSON)


def read_batch(
    connection: Connection,
    wanted: ExportSchema,
    after: int,
    limit: int,
    *,
    among: ColumnElement[bool] | None = None,
    curves: bool,
    max_points: int = MAX_POINTS_PER_BATCH,
) -> list[ExportedTrial]:
    """The next `limit` trials after number `after`; fewer, but at least one, if their curves exceed `max_points`.

    `among` is a filter's condition.
    """
    page = trial_pages.page(connection, wanted.sweep_id, after=Position(after), limit=limit, among=among)
    rows = [row for row in page.rows if row.number <= wanted.last_number]
    found: dict[int, Curves] = {}
    if curves and rows:
        found, first_left = _curves(connection, [row.id for row in rows], max_points)
        rows = list(takewhile(lambda row: row.id < first_left, rows))  # ids rise as numbers do
    ids = [row.id for row in rows]
    ends = _ends(connection, ids)
    own = _distributions(connection, ids)
    left = trial_artifact_rows.files_of(connection, ids)
    trained = population_schedules.of_trials(connection, ids)
    several = multi_device_attempt_ranks.devices_of_trials(connection, ids)
    logged = metric_summaries.all_of_trials(connection, ids)
    times = running_and_queued_s(connection, ids)
    marked = non_finite_of_trials(connection, ids) if curves else {}
    return [
        ExportedTrial(
            row,
            *ends.get(row.id, (None, None)),
            own.get(row.id, {}),
            found.get(row.id, {}),
            tuple(logged.get(row.id, ())),
            *(times[row.id] if row.ended_at is not None else (None, None)),
            left.get(row.id, ()),
            tuple(trained.get(row.id, ())),
            several.get(row.id, ()),
            marked.get(row.id, {}),
        )
        for row in rows
    ]


def _ends(connection: Connection, ids: Sequence[int]) -> dict[int, tuple[str | None, str | None]]:
    """Cause and message of the current attempts."""
    statement = select(trials.c.id, attempts.c.cause, attempts.c.message).join(attempts, CURRENT_ATTEMPT)
    rows = connection.execute(statement.where(trials.c.id.in_(ids)))
    return {row.id: (row.cause, row.message or None) for row in rows}


def _distributions(connection: Connection, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = defaultdict(dict)
    columns = select(trial_params.c.trial_id, trial_params.c.name, trial_params.c.distribution)
    for row in connection.execute(
        columns.where(trial_params.c.trial_id.in_(ids), trial_params.c.distribution.is_not(None))
    ):
        found[row.trial_id][row.name] = json.loads(row.distribution)
    return found


def _curves(connection: Connection, ids: Sequence[int], max_points: int) -> tuple[dict[int, Curves], float]:
    """Curves by trial id, at least of the first one, and the first id left for the next batch.

    The curves of a trial are never split.
    """
    found: dict[int, Curves] = defaultdict(lambda: defaultdict(list))
    columns = select(metrics.c.trial_id, metrics.c.name, metrics.c.step, metrics.c.value)
    statement = columns.where(metrics.c.trial_id.in_(ids)).order_by(
        metrics.c.trial_id, metrics.c.name, metrics.c.step
    )  # the order of the primary key
    with closing(connection.execute(statement)) as points:
        for count, (trial_id, name, step, value) in enumerate(points):
            if count >= max_points and trial_id not in found:
                return found, trial_id
            found[trial_id][name].append((step, value))
    return found, math.inf
