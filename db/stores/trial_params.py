"""Reads the parameters of trials, and their distributions; scheduler and api."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, select

from podium.db.schema.tables import trial_params
from podium.db.stores.id_list import LISTED, listed
from podium.db.stores.precompiled_sql_statements import DriverSelect
from podium.sweep.values.attempt_assignment import Params

_VALUES = select(trial_params.c.trial_id, trial_params.c.name, trial_params.c.value)
_OF_LISTED = DriverSelect(_VALUES.where(trial_params.c.trial_id.in_(LISTED)))


def params_of(connection: Connection, where: ColumnElement[bool]) -> dict[int, Params]:
    """The parameters by trial id of the rows of `trial_params` that match `where`."""
    return _by_trial(connection.execute(_VALUES.where(where)).all())


def params_of_trials(connection: Connection, trial_ids: Iterable[int]) -> dict[int, Params]:
    """The parameters of these trials by id."""
    return _by_trial(_OF_LISTED.rows(connection, listed(trial_ids)))


def _by_trial(rows: Sequence[Any]) -> dict[int, Params]:
    found: dict[int, Params] = {}
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
