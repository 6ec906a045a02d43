"""Columns of `trials` with the values of parameters, for filters and sorts; scheduler and api.

The first parameters of a sweep file have two columns each, in order: the number of their row in `trial_params`, and its
JSON if it is not a number. They are always equal to that row: both are written in one transaction. A filter of 200,000
trials takes a third of the time of lookups of these rows. Parameters suggested at run time and further ones have no
columns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import Column, ColumnElement, Connection, bindparam, or_, select

from podium.db.schema.tables import PARAMETER_COLUMNS, sweeps, trials
from podium.db.stores.precompiled_sql_statements import DriverSelect

NAMES = tuple(f"param_{position}_{kind}" for position in range(PARAMETER_COLUMNS) for kind in ("number", "text"))
_EMPTY: dict[str, float | str | None] = dict.fromkeys(NAMES)
_SPEC = DriverSelect(select(sweeps.c.spec).where(sweeps.c.id == bindparam("b_id")))


@dataclass(frozen=True, slots=True)
class ParameterColumns:
    """The columns of one parameter."""

    number: Column[float | None]
    text: Column[str | None]  # JSON; NULL for a number

    @property
    def is_set(self) -> ColumnElement[bool]:
        """Whether the trial has this parameter."""
        return or_(self.number.is_not(None), self.text.is_not(None))


@lru_cache(maxsize=64)
def names_in(spec_json: str) -> tuple[str, ...]:
    """The parameters of a sweep that have columns: the first ones that are not constants.

    Stored trials depend on this choice: another one needs a migration.
    """
    parameters = json.loads(spec_json).get("parameters") or {}
    return tuple(name for name, given in parameters.items() if "value" not in given)[:PARAMETER_COLUMNS]


def names_of(connection: Connection, sweep_id: int) -> tuple[str, ...]:
    """`names_in` the spec of a sweep."""
    ((spec_json,),) = _SPEC.rows(connection, {"b_id": sweep_id})
    return names_in(spec_json)


def columns_of(spec_json: str, name: str) -> ParameterColumns | None:
    """The columns of a parameter, if it has some."""
    names = names_in(spec_json)
    return columns_at(names.index(name)) if name in names else None


def columns_at(position: int) -> ParameterColumns:
    """The columns of the parameter with this position in `names_in`."""
    return ParameterColumns(trials.c[NAMES[2 * position]], trials.c[NAMES[2 * position + 1]])


def values_of(names: tuple[str, ...], params: Mapping[str, object]) -> dict[str, float | str | None]:
    """The values of all columns for a trial with these parameters."""
    values = _EMPTY.copy()
    for position, name in enumerate(names):
        if name in params:
            number = sortable(params[name])
            if number is not None:
                values[NAMES[2 * position]] = number
            if number is None or isinstance(params[name], bool):
                values[NAMES[2 * position + 1]] = json.dumps(params[name])
    return values


def sortable(value: object) -> float | None:
    """The value to sort trials by; None unless it is a number within the range of a float."""
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None
