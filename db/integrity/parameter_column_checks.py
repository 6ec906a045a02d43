"""Invariants of the columns of parameters: they are what `trial_params` has; the process of `podium doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, and_, case, or_, select

from podium.db.integrity.invariant import Breach
from podium.db.schema.tables import PARAMETER_COLUMNS, sweeps, trial_params, trials
from podium.db.stores.parameter_columns import columns_at, names_in

_TEXT = case((or_(trial_params.c.number.is_(None), trial_params.c.value.in_(("true", "false"))), trial_params.c.value))


def column_problems(connection: Connection) -> Iterator[Breach]:
    """Trials whose columns differ from their parameters: filters and sorts would be wrong."""
    for sweep_id, spec_json in connection.execute(select(sweeps.c.id, sweeps.c.spec)).all():
        names = names_in(spec_json)
        for position, name in enumerate(names):
            yield from _differing(connection, sweep_id, position, name)
        unused = [columns_at(position).is_set for position in range(len(names), PARAMETER_COLUMNS)]
        if unused:
            filled = select(trials.c.id).where(trials.c.sweep_id == sweep_id, or_(*unused))
            for trial_id in connection.execute(filled).scalars():
                yield Breach("results", {"trial_id": trial_id}, "a column without a parameter has a value")


def _differing(connection: Connection, sweep_id: int, position: int, name: str) -> Iterator[Breach]:
    columns = columns_at(position)
    differs: ColumnElement[bool] = or_(
        columns.number.is_distinct_from(trial_params.c.number), columns.text.is_distinct_from(_TEXT)
    )
    row = and_(trial_params.c.trial_id == trials.c.id, trial_params.c.name == name)
    statement = (
        select(trials.c.id, columns.number, columns.text, trial_params.c.value)
        .select_from(trials.outerjoin(trial_params, row))
        .where(trials.c.sweep_id == sweep_id, differs)
    )
    for trial_id, number, text, value in connection.execute(statement):
        shown = "nothing" if number is None and text is None else text if number is None else f"{number:g}"
        yield Breach(
            "results",
            {"trial_id": trial_id, "name": name},
            f"the columns of its parameter have {shown} instead of {'nothing' if value is None else value}",
        )
