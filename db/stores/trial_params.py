"""Reads the parameters of trials, and their distributions; scheduler and api."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import ColumnElement, Connection, select

from podium.db.schema.tables import trial_params
from podium.sweep.values.attempt_assignment import Params


def params_of(connection: Connection, where: ColumnElement[bool]) -> dict[int, Params]:
    found: dict[int, Params] = {}
    columns = select(trial_params.c.trial_id, trial_params.c.name, trial_params.c.value)
    rows = connection.execute(columns.where(where)).all()
    values = json.loads(f"[{','.join(value for _, _, value in rows)}]")  # one call: a fifth of a table's time less
    for (trial_id, name, _), value in zip(rows, values, strict=True):
        found.setdefault(trial_id, {})[name] = value
    return found


def distributions_of(connection: Connection, where: ColumnElement[bool]) -> dict[int, dict[str, dict[str, Any]]]:
    """By trial, the distributions of parameters that the sweep file does not define, in its format."""
    found: dict[int, dict[str, dict[str, Any]]] = {}
    columns = select(trial_params.c.trial_id, trial_params.c.name, trial_params.c.distribution)
    for row in connection.execute(columns.where(where, trial_params.c.distribution.is_not(None))):
        found.setdefault(row.trial_id, {})[row.name] = json.loads(row.distribution)
    return found
