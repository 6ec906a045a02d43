"""Reads pages of sorted trials; api and scheduler."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, func, select

from podium.db.queries.trial_cursor import Position
from podium.db.queries.trial_order import Order
from podium.db.schema.tables import trials
from podium.db.stores import trial_reader
from podium.db.stores.trial_reader import TrialRow
from podium.sweep.values.states import TrialState


class OrderedTrials(NamedTuple):
    """A page of sorted trials."""

    rows: list[TrialRow]
    positions: list[Position]  # of each
    total: int | None  # number of matches, if counted and the page is not empty


def page(
    connection: Connection,
    sweep_id: int,
    *,
    after: Position | None = None,
    limit: int = 100,
    state: TrialState | None = None,
    order: Order | None = None,
    among: ColumnElement[bool] | None = None,
) -> OrderedTrials:
    """Trials of a sweep after a position, by number or in another order.

    `among` is a filter's condition.
    """
    where = [trials.c.sweep_id == sweep_id]
    if among is not None:
        where.append(among)
    if after is not None:
        where.append(rows_after(connection, sweep_id, order, after))
    if state is not None:
        where.append(trials.c.state == state.value)
    return ordered(connection, and_(*where), order, limit)


def rows_after(connection: Connection, sweep_id: int, order: Order | None, position: Position) -> ColumnElement[bool]:
    """The trials after a position."""
    if order is None:
        return trials.c.number > position.number
    if position.values is None:
        return order.past_trial(connection, sweep_id, position.number)
    return order.after(position.values, position.number)


def ordered(
    connection: Connection,
    where: ColumnElement[bool],
    order: Order | None,
    limit: int,
    *,
    offset: int = 0,
    counted: bool = False,
) -> OrderedTrials:
    """`limit` trials in an order, after skipping `offset`.

    Only ids are sorted: full rows would take three times as long.
    """
    by = (trials.c.number,) if order is None else order.by()
    many = [func.count().over()] if counted else []
    columns = () if order is None else order.columns
    statement = select(trials.c.id, *columns, *many).select_from(trials if order is None else order.source).where(where)
    statement = statement.order_by(*by).limit(limit).offset(offset or None)
    found = connection.execute(statement).all()
    rows = trial_reader.read(connection, [row[0] for row in found])
    return OrderedTrials(
        rows,
        [Position(row.number, tuple(values[1 : 1 + len(columns)])) for row, values in zip(rows, found, strict=True)],
        found[0][-1] if counted and found else None,
    )
