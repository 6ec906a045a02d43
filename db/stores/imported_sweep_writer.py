"""Stores imported trials as a finished sweep; api.

Imported trials have no attempts; the audit recognizes them by their sampler and their sweep's program. Their ids are in
a separate range, so that they never collide with the scheduler's ids. All rows are built before the transaction starts,
since it blocks all other writers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, func, select

from podium.db.schema.tables import metrics, trial_attrs, trial_constraints, trial_params, trial_values, trials
from podium.db.schema.tables import sweeps as sweep_table
from podium.db.stores import event_outbox, parameter_columns, sweeps
from podium.db.stores import metrics as metric_points
from podium.db.stores.event_outbox import NewEvent
from podium.db.stores.metric_summaries import PointRow
from podium.db.stores.parameter_columns import sortable
from podium.db.stores.precompiled_sql_statements import RowInsert
from podium.db.stores.trial_writer import IMPORTED_FROM
from podium.sweep.lifecycle.imported_sweep import SAMPLER, ImportedSweep, ImportedTrial
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.states import SweepState

Row = tuple[object, ...]
# The columns without the trial's id, which is the first of each row.
_COLUMNS: dict[Table, tuple[str, ...]] = {
    trials: (
        "number", "state", "value", "started_at", "ended_at", "created_at", *parameter_columns.NAMES, "attempt",
        "sampler", "sweep_id",
    ),
    trial_params: ("name", "number", "value", "distribution"),
    trial_values: ("position", "name", "value"),
    trial_constraints: ("name", "value"),
    trial_attrs: ("name", "value"),
    metrics: ("name", "step", "value", "at"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PreparedImport:
    """A study ready to be stored: the sweep, and (trial number, row) pairs by table."""

    spec: SweepSpec
    source: str
    rows: dict[Table, list[tuple[int, Row]]]
    started_at: float | None
    ended_at: float


def prepare(imported: ImportedSweep, at: float) -> PreparedImport:
    """Build all rows. Raises `InvalidSpecError`."""
    started = [trial.started_at for trial in imported.trials if trial.started_at is not None]
    ended = [trial.ended_at for trial in imported.trials if trial.ended_at is not None]
    rows: dict[Table, list[tuple[int, Row]]] = {table: [] for table in _COLUMNS}
    objectives = [metric.name for metric in imported.metrics]
    spec = imported.spec()
    in_columns = parameter_columns.names_in(spec.to_json())
    for number, trial in enumerate(imported.trials):
        columns = parameter_columns.values_of(in_columns, trial.params)
        rows[trials].append((number, _trial_row(number, trial, at, tuple(columns.values()))))
        for table, row in _rows(trial, objectives, at):
            rows[table].append((number, row))
    return PreparedImport(
        spec=spec,
        source=imported.source,
        rows=rows,
        started_at=min(started, default=None),
        ended_at=max(ended, default=at),
    )


def _trial_row(number: int, trial: ImportedTrial, at: float, columns: Row) -> Row:
    created_at = at if trial.started_at is None else trial.started_at
    value = trial.values[0] if trial.values else None
    return (number, trial.state, value, trial.started_at, _ended_at(trial, at), created_at, *columns)


def _ended_at(trial: ImportedTrial, at: float) -> float:
    return at if trial.ended_at is None else trial.ended_at


def _rows(trial: ImportedTrial, objectives: list[str], at: float) -> Iterator[tuple[Table, Row]]:
    """The rows of a trial in other tables."""
    for name, param in trial.params.items():
        own = trial.distributions.get(name)
        drawn_from = None if own is None else own.model_dump_json(exclude_unset=True)
        yield trial_params, (name, sortable(param), json.dumps(param), drawn_from)
    for position, one in enumerate(trial.values or () if len(objectives) > 1 else ()):
        yield trial_values, (position, objectives[position], one)
    for name, constraint in trial.constraints.items():
        yield trial_constraints, (name, constraint)
    for name, attribute in trial.user_attrs.items():
        yield trial_attrs, (name, json.dumps(attribute))
    for name, curve in trial.metrics.items():
        for step, point in dict(reversed(curve)).items():  # the first value of a step is kept
            yield metrics, (name, step, point, _ended_at(trial, at))
    for name, marks in trial.non_finite.items():
        for step, mark in dict(reversed(marks)).items():
            yield metrics, (name, step, float(mark), _ended_at(trial, at))


def accept(
    connection: Connection, prepared: PreparedImport, at: float, idempotency_key: str | None = None, *, owner: str = ""
) -> tuple[int, bool]:
    """Store the finished sweep with its trials; returns its id, and whether it is new.

    The same key and content return the same sweep. Raises `ConflictError` for different content.
    """
    sweep_id, new = sweeps.accept(connection, prepared.spec, at, idempotency_key, owner=owner)
    if new:
        _store(connection, sweep_id, prepared)
        _finish(connection, sweep_id, prepared, at)
    return sweep_id, new


def _store(connection: Connection, sweep_id: int, prepared: PreparedImport) -> None:
    last = connection.execute(select(func.max(trials.c.id))).scalar_one() or 0
    first = max(IMPORTED_FROM, last + 1)
    same: dict[Table, Row] = {trials: (0, SAMPLER, sweep_id)}
    for table, rows in prepared.rows.items():
        if table is not metrics:
            _insert(connection, table, ((first + number, *row, *same.get(table, ())) for number, row in rows))
    metric_points.add_rows(connection, [_point(first + number, *row) for number, row in prepared.rows[metrics]])


def _point(trial_id: int, *row: Any) -> PointRow:
    name, step, value, at = row
    return trial_id, 0, name, step, value, at


def _insert(connection: Connection, table: Table, rows: Iterable[Row]) -> None:
    """Insert with the driver directly: SQLAlchemy's parameter handling takes longer than the inserts."""
    names = ("id" if table is trials else "trial_id", *_COLUMNS[table])
    if wanted := list(rows):
        RowInsert(table, names).execute(connection, wanted)


def _finish(connection: Connection, sweep_id: int, prepared: PreparedImport, at: float) -> None:
    """Set the sweep finished without passing `running`, so that no scheduler picks it up."""
    reason = f"imported from {prepared.source}"
    values = {
        "state": SweepState.FINISHED.value,
        "reason": reason,
        "wait_reason": None,
        "wait_message": "",
        "started_at": prepared.started_at,
        "ended_at": prepared.ended_at,
    }
    connection.execute(sweep_table.update().where(sweep_table.c.id == sweep_id).values(values))
    event_outbox.add(connection, [NewEvent(at, "sweep.finished", sweep_id=sweep_id, payload={"reason": reason})])
