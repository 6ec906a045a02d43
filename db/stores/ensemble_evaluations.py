"""Evaluations of ensembles: queued by the api, run by the ensemble host.

queued -> running -> finished or failed. An evaluation is requeued once if the host dies while it runs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from podium.db.schema.tables import evaluations
from podium.db.stores import event_outbox
from podium.db.stores.event_outbox import NewEvent
from podium.sweep.values.errors import ConflictError, NotFoundError

MAX_QUEUED = 100
_ONCE_MORE = "the ensemble host exited during the evaluation; retrying once"
_TWICE = "the ensemble host exited twice during the evaluation, possibly out of memory; post fewer rows"


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """An evaluation: queued, running, finished or failed."""

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
    """Queue an evaluation; returns its id. Raises `ConflictError` if the queue is full."""
    waiting = connection.execute(select(func.count()).where(evaluations.c.state == "queued")).scalar_one()
    if waiting >= MAX_QUEUED:
        raise ConflictError(f"{waiting} evaluations are queued, which is the limit; retry when some have finished")
    values = {
        "ensemble_id": ensemble_id,
        "version": version,
        "split": split,
        "forced": forced,
        "state": "queued",
        "created_at": at,
    }
    (evaluation_id,) = connection.execute(insert(evaluations).values(values).returning(evaluations.c.id)).one()
    _add_event(connection, "queued", ensemble_id, evaluation_id=int(evaluation_id), at=at)
    return int(evaluation_id)


def queued(connection: Connection) -> list[EvaluationRow]:
    """Queued evaluations, oldest first."""
    statement = select(evaluations).where(evaluations.c.state == "queued").order_by(evaluations.c.id)
    return [_row(row) for row in connection.execute(statement)]


def begin(connection: Connection, evaluation_id: int, at: float) -> None:
    """Mark as running before the work starts, so that an evaluation that kills the host is not retried forever."""
    _change(connection, evaluation_id, {"state": "running"}, at)


def recover(connection: Connection, at: float) -> list[int]:
    """Requeue the evaluations of a dead host; those requeued before fail, and their ids are returned."""
    twice = (evaluations.c.state == "running") & (evaluations.c.reason == _ONCE_MORE)
    lost = list(connection.execute(select(evaluations.c.id).where(twice)).scalars())
    for evaluation_id in lost:
        finish(connection, evaluation_id, None, reason=_TWICE, at=at)
    once = update(evaluations).where(evaluations.c.state == "running")
    connection.execute(once.values(state="queued", reason=_ONCE_MORE))
    return lost


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
    _change(connection, evaluation_id, values, at)


def _change(connection: Connection, evaluation_id: int, values: dict[str, Any], at: float) -> None:
    changed = update(evaluations).where(evaluations.c.id == evaluation_id).values(values)
    for ensemble_id in connection.execute(changed.returning(evaluations.c.ensemble_id)).scalars():
        _add_event(connection, values["state"], ensemble_id, evaluation_id=evaluation_id, at=at)


def _add_event(connection: Connection, state: str, ensemble_id: int, evaluation_id: int, at: float) -> None:
    payload = {"evaluation": evaluation_id}
    event_outbox.add(connection, [NewEvent(at, f"evaluation.{state}", ensemble_id=ensemble_id, payload=payload)])


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
