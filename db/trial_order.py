"""In which order a page of trials is: by number, by a value, by a parameter; api."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from db.sweeps import SweepRow
from db.tables import trial_params, trial_values, trials
from sweep.errors import BadRequestError


@dataclass(frozen=True, slots=True)
class Order:
    """Trials by a column, those that have nothing in it last, and those with the same by number."""

    column: ColumnElement[Any]
    descending: bool = False

    def by(self) -> tuple[ColumnElement[Any], ...]:
        """For ORDER BY."""
        return self.column.is_(None), self.column.desc() if self.descending else self.column.asc(), trials.c.number

    def past(self, connection: Connection, sweep_id: int, number: int) -> ColumnElement[bool]:
        """The trials that come after the one with this number."""
        this = and_(trials.c.sweep_id == sweep_id, trials.c.number == number)
        value = connection.execute(select(self.column).select_from(trials).where(this)).scalar_one_or_none()
        later = trials.c.number > number
        if value is None:
            return and_(self.column.is_(None), later)
        further = self.column < value if self.descending else self.column > value
        return or_(further, and_(self.column == value, later), self.column.is_(None))


def order_of(text: str, sweep: SweepRow) -> Order | None:
    """`value`, `values.NAME` or `params.NAME`, with a minus before it descending; None for `number`, as ever.

    Raises `BadRequestError` naming what there is.
    """
    key = text.removeprefix("-")
    if text == "number":
        return None
    kind, _, name = key.partition(".")
    if key == "number":
        column: ColumnElement[Any] = trials.c.number
    elif key == "value" or (kind == "values" and name == sweep.objectives[0][0]):
        column = trials.c.value
    elif kind == "values" and name in dict(sweep.objectives):
        column = _of(trial_values, "value", name)
    elif kind == "params" and name:
        column = _of(trial_params, "number", name)
    else:
        values = ", ".join(f"values.{name}" for name, _ in sweep.objectives)
        raise BadRequestError(
            f"sort={text}: write number, value, {values} or params.NAME, with - before it for falling"
        )
    return Order(column, text.startswith("-"))


def _of(table: Any, column: str, name: str) -> ColumnElement[Any]:
    found = select(table.c[column]).where(table.c.trial_id == trials.c.id, table.c.name == name)
    return found.scalar_subquery()
