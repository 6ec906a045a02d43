"""The evaluations of ensembles: queued by the api, done by the host."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from db.tables import evaluations
from sweep.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """An evaluation: queued, finished or failed."""

    id: int
    ensemble_id: int
    version: int
    split: str  # or posted
    forced: bool
    state: str
    reason: str
    result: dict[str, Any] | None
    created_at: float
    ended_at: float | None


def queue(connection: Connection, ensemble_id: int, version: int, split: str, *, forced: bool, at: float) -> int:
    """Ask the host for an evaluation; returns its id."""
    values = {
        "ensemble_id": ensemble_id,
        "version": version,
        "split": split,
        "forced": forced,
        "state": "queued",
        "created_at": at,
    }
    (evaluation_id,) = connection.execute(insert(evaluations).values(values).returning(evaluations.c.id)).one()
    return int(evaluation_id)


def queued(connection: Connection) -> list[EvaluationRow]:
    """Evaluations that nobody has finished, oldest first; one that a dead host was on is among them."""
    statement = select(evaluations).where(evaluations.c.state == "queued").order_by(evaluations.c.id)
    return [_row(row) for row in connection.execute(statement)]


def finish(
    connection: Connection, evaluation_id: int, result: dict[str, Any] | None, reason: str, at: float
) -> None:  # fmt: skip
    """Store the result, or why there is none."""
    values = {
        "state": "failed" if result is None else "finished",
        "reason": reason,
        "result": None if result is None else json.dumps(result),
        "ended_at": at,
    }
    connection.execute(update(evaluations).where(evaluations.c.id == evaluation_id).values(values))


def get(connection: Connection, evaluation_id: int) -> EvaluationRow:
    """One evaluation. Raises `NotFoundError`."""
    row = connection.execute(select(evaluations).where(evaluations.c.id == evaluation_id)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no evaluation {evaluation_id}")
    return _row(row)


def of_ensemble(connection: Connection, ensemble_id: int, limit: int = 50) -> list[EvaluationRow]:
    """The evaluations of an ensemble, newest first."""
    mine = select(evaluations).where(evaluations.c.ensemble_id == ensemble_id)
    return [_row(row) for row in connection.execute(mine.order_by(evaluations.c.id.desc()).limit(limit))]


def _row(row: Row[Any]) -> EvaluationRow:
    values = {name: row._mapping[name] for name in EvaluationRow.__dataclass_fields__}
    result = None if values["result"] is None else json.loads(values["result"])
    return EvaluationRow(**{**values, "result": result})
