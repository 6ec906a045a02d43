"""Further values, constraints and attributes of ended trials; api and scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, ScalarSelect, Select, Table, bindparam, delete, insert, select

from podium.db.schema.tables import trial_attrs, trial_constraints, trial_values
from podium.db.stores.id_list import LISTED, listed
from podium.db.stores.precompiled_sql_statements import DriverSelect
from podium.sweep.lifecycle.database_changes import AttemptEnded
from podium.sweep.values.states import TrialState

TrialIds = Sequence[int] | ScalarSelect[int]


def _rows(table: Table, order: str, trial_ids: ScalarSelect[Any]) -> Select[tuple[Any, ...]]:
    columns = select(table.c.trial_id, table.c.name, table.c.value).where(table.c.trial_id.in_(trial_ids))
    return columns.order_by(table.c.trial_id, table.c[order])


_ORDERS = {trial_values: "position", trial_constraints: "name", trial_attrs: "name"}
_OF_LISTED = {table: DriverSelect(_rows(table, order, LISTED)) for table, order in _ORDERS.items()}


@dataclass(frozen=True, slots=True)
class TrialDetails:
    """By trial id; trials without entries are omitted."""

    values: dict[int, dict[str, float]] = field(default_factory=dict)  # by metric, in the order of the objectives
    constraints: dict[int, dict[str, float]] = field(default_factory=dict)
    user_attrs: dict[int, dict[str, Any]] = field(default_factory=dict)


def add(connection: Connection, item: AttemptEnded) -> None:
    """Store the details of an ended trial's last attempt; most have none."""
    trial_id, event = item.event.key.trial_id, item.event
    if item.objectives and item.state is TrialState.FINISHED:
        named = enumerate(zip(item.objectives, event.values or (), strict=True))
        rows = [{"trial_id": trial_id, "position": p, "name": name, "value": value} for p, (name, value) in named]
        connection.execute(insert(trial_values), rows)
    if event.constraints:
        rows = [{"trial_id": trial_id, "name": name, "value": value} for name, value in event.constraints.items()]
        connection.execute(insert(trial_constraints), rows)
    if event.user_attrs:
        rows = [
            {"trial_id": trial_id, "name": name, "value": json.dumps(value)} for name, value in event.user_attrs.items()
        ]
        connection.execute(insert(trial_attrs), rows)


def forget(connection: Connection, trial_ids: Sequence[int]) -> None:
    """Delete the details of trials that are retried."""
    for table in (trial_values, trial_constraints, trial_attrs):
        statement = delete(table).where(table.c.trial_id == bindparam("b_id"))
        connection.execute(statement, [{"b_id": trial_id} for trial_id in trial_ids])


def details_of(connection: Connection, trial_ids: TrialIds, *, user_attrs: bool = False) -> TrialDetails:
    """The details of these trials."""
    return TrialDetails(
        _by_trial(connection, trial_values, trial_ids),
        _by_trial(connection, trial_constraints, trial_ids),
        {
            trial_id: {name: json.loads(text) for name, text in found.items()}
            for trial_id, found in (_by_trial(connection, trial_attrs, trial_ids) if user_attrs else {}).items()
        },
    )


def _by_trial(connection: Connection, table: Table, trial_ids: TrialIds) -> dict[int, dict[str, Any]]:
    if isinstance(trial_ids, ScalarSelect):
        rows: Iterable[Any] = connection.execute(_rows(table, _ORDERS[table], trial_ids))
    else:
        rows = _OF_LISTED[table].rows(connection, listed(trial_ids))
    found: dict[int, dict[str, Any]] = {}
    for trial_id, name, value in rows:
        found.setdefault(trial_id, {})[name] = value
    return found
