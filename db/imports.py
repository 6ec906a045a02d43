"""Trials that ran elsewhere, stored whole as a finished sweep; api.

They have no attempts, since none of ours ran them: the audit knows them by their sampler and their sweep's program.
Their ids are of a range of their own, so that they never meet those that the scheduler counts up in its memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select

from db import events, sweeps
from db.events import NewEvent
from db.tables import sweeps as sweep_table
from db.tables import trial_attrs, trial_constraints, trial_params, trial_values, trials
from db.trials import IMPORTED_FROM, sortable
from sweep.imported import SAMPLER, ImportedTrial, SweepImport
from sweep.trial import SweepState

_POINT = (
    "INSERT INTO metrics (trial_id, attempt, name, step, value, at) VALUES (?, 0, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)


def accept(
    connection: Connection, imported: SweepImport, at: float, idempotency_key: str | None = None
) -> tuple[int, bool]:
    """Store the sweep, finished, with its trials; returns its id, and whether it is new.

    The same key with the same content gives the same sweep again. Raises `ConflictError` for another content, and
    `InvalidSpecError`.
    """
    sweep_id, new = sweeps.accept(connection, imported.spec(), at, idempotency_key)
    if new:
        _store(connection, sweep_id, imported.trials, [metric.name for metric in imported.metrics], at)
        _finish(connection, sweep_id, imported, at)
    return sweep_id, new


def _store(
    connection: Connection, sweep_id: int, imported: list[ImportedTrial], objectives: list[str], at: float
) -> None:
    first = connection.execute(select(func.max(trials.c.id))).scalar_one() or 0
    first = max(IMPORTED_FROM, first + 1)
    if not imported:
        return
    rows = [_row(first + number, sweep_id, number, trial, at) for number, trial in enumerate(imported)]
    connection.execute(insert(trials), rows)
    if params := [row for number, trial in enumerate(imported) for row in _params(first + number, trial)]:
        connection.execute(insert(trial_params), params)
    for table, notes in _notes(first, imported, objectives).items():
        if notes:
            connection.execute(insert(table), notes)
    if points := [row for number, trial in enumerate(imported) for row in _points(first + number, trial, at)]:
        connection.exec_driver_sql(_POINT, points)


def _row(trial_id: int, sweep_id: int, number: int, trial: ImportedTrial, at: float) -> dict[str, Any]:
    ended_at = at if trial.ended_at is None else trial.ended_at
    return {
        "id": trial_id,
        "sweep_id": sweep_id,
        "number": number,
        "state": trial.state,
        "value": trial.values[0] if trial.values else None,
        "attempt": 0,
        "sampler": SAMPLER,
        "created_at": at if trial.started_at is None else trial.started_at,
        "started_at": trial.started_at,
        "ended_at": ended_at,
    }


def _params(trial_id: int, trial: ImportedTrial) -> Iterator[dict[str, Any]]:
    for name, value in trial.params.items():
        own = trial.distributions.get(name)
        yield {
            "trial_id": trial_id,
            "name": name,
            "number": sortable(value),
            "value": json.dumps(value),
            "distribution": None if own is None else own.model_dump_json(exclude_unset=True),
        }


def _notes(first: int, imported: list[ImportedTrial], objectives: list[str]) -> dict[Table, list[dict[str, Any]]]:
    """What trials have beside their first value, by table."""
    of_all = [(first + number, trial) for number, trial in enumerate(imported)]
    several = len(objectives) > 1
    return {
        trial_values: [
            {"trial_id": trial_id, "position": position, "name": objectives[position], "value": value}
            for trial_id, trial in of_all
            for position, value in enumerate(trial.values or ())
            if several
        ],
        trial_constraints: [
            {"trial_id": trial_id, "name": name, "value": value}
            for trial_id, trial in of_all
            for name, value in trial.constraints.items()
        ],
        trial_attrs: [
            {"trial_id": trial_id, "name": name, "value": json.dumps(value)}
            for trial_id, trial in of_all
            for name, value in trial.user_attrs.items()
        ],
    }


def _points(trial_id: int, trial: ImportedTrial, at: float) -> Iterator[tuple[object, ...]]:
    for name, curve in trial.metrics.items():
        for step, value in curve:
            yield trial_id, name, step, value, trial.ended_at or at


def _finish(connection: Connection, sweep_id: int, imported: SweepImport, at: float) -> None:
    """Directly, and not by way of `running`: no scheduler is to take it up meanwhile."""
    started = [trial.started_at for trial in imported.trials if trial.started_at is not None]
    ended = [trial.ended_at for trial in imported.trials if trial.ended_at is not None]
    reason = f"imported from {imported.source}"
    values = {
        "state": SweepState.FINISHED.value,
        "reason": reason,
        "started_at": min(started, default=None),
        "ended_at": max(ended, default=at),
    }
    connection.execute(sweep_table.update().where(sweep_table.c.id == sweep_id).values(values))
    payload = {"reason": reason}
    events.add(connection, [NewEvent(at, "sweep.finished", sweep_id=sweep_id, payload=payload)])
