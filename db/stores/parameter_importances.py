"""Parameter importances of sweeps, as last computed; api."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sqlalchemy import Connection, select

from podium.db.schema.dialect import insert
from podium.db.schema.tables import importances


@dataclass(frozen=True, slots=True)
class StoredImportances:
    """The parameter importances of a sweep for one metric."""

    as_of: int  # number of finished trials at that time
    trials: int  # number of trials evaluated
    importances: dict[str, float]
    left_out: dict[str, str]  # parameters without importance, with reasons
    at: float


def find(connection: Connection, sweep_id: int, metric: str) -> StoredImportances | None:
    """The stored importances; None if never computed."""
    this = (importances.c.sweep_id == sweep_id) & (importances.c.metric == metric)
    row = connection.execute(select(importances).where(this)).one_or_none()
    return None if row is None else StoredImportances(row.as_of, row.trials, at=row.at, **json.loads(row.result))


def store(connection: Connection, sweep_id: int, metric: str, computed: StoredImportances) -> None:
    """Store importances; replaces existing ones."""
    result = json.dumps({"importances": computed.importances, "left_out": computed.left_out})
    values = {"as_of": computed.as_of, "trials": computed.trials, "result": result, "at": computed.at}
    statement = insert(importances).values(sweep_id=sweep_id, metric=metric, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["sweep_id", "metric"], set_=values))
