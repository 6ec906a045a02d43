"""Reads pages of trials, the best trials, attempts and files; api."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, exists, func, select

from podium.db.queries.trial_cursor import Position
from podium.db.queries.trial_order import Order
from podium.db.schema.tables import artifacts, attempts, enqueued, removed_artifacts, trial_values, trials
from podium.db.stores import trial_reader
from podium.db.stores.id_list import id_list
from podium.db.stores.trial_reader import TrialRow
from podium.db.stores.trial_values_and_attributes import FEASIBLE
from podium.sweep.lifecycle.pareto import fronts
from podium.sweep.values.states import TrialState


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """An attempt."""

    number: int
    device_id: str
    node: str
    pid: int | None
    visible_devices: str | None
    torch_device: str | None
    import_s: float | None  # time to load the program
    started_at: float
    ended_at: float | None
    state: str | None
    cause: str | None
    message: str | None
    traceback: str | None
    log_tail: str | None
    exit: str | None
    late_prune_answers: int
    orphans_killed: int


class OrderedTrials(NamedTuple):
    """A page of sorted trials."""

    rows: list[TrialRow]
    positions: list[Position]  # of each
    total: int | None  # number of matches, if counted and the page is not empty


class AttemptKeyRow(NamedTuple):
    """The current attempt of a trial, which identifies its folder."""

    trial_id: int
    sweep_id: int
    number: int
    attempt: int
    state: str


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """A file of a trial."""

    name: str
    attempt: int
    sha256: str
    size_bytes: int
    removed: str | None = None  # the reason, if it was removed


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
    chosen = trials.c.id.in_(id_list(row[0] for row in found))
    rows = {row.id: row for row in trial_reader.select_trials(connection, chosen)}
    return OrderedTrials(
        [rows[row[0]] for row in found],
        [Position(rows[row[0]].number, tuple(row[1 : 1 + len(columns)])) for row in found],
        found[0][-1] if counted and found else None,
    )


def best(
    connection: Connection, sweep_id: int, goal: str, limit: int, *, further: Sequence[str] = ()
) -> list[TrialRow]:
    """The best finished trials of a sweep by its first metric; ties go to the earlier trial.

    With the goals of `further` objectives, ties are ordered by these first, so that the best one is not dominated.
    Infeasible trials are omitted.
    """
    by = [trials.c.value, *(_value_at(position) for position in range(1, len(further) + 1))]
    order = [_best_first(column, each) for column, each in zip(by, (goal, *further), strict=True)]
    where = and_(trials.c.sweep_id == sweep_id, trials.c.state == TrialState.FINISHED.value, FEASIBLE)
    return trial_reader.select_trials(connection, where, limit=limit, order=(*order, trials.c.number))


def _best_first(column: ColumnElement[Any], goal: str) -> ColumnElement[Any]:
    return column.desc() if goal == "maximize" else column.asc()


def _value_at(position: int) -> ColumnElement[Any]:
    found = select(trial_values.c.value).where(
        trial_values.c.trial_id == trials.c.id, trial_values.c.position == position
    )
    return found.scalar_subquery()


def pareto(
    connection: Connection, sweep_id: int, goals: Sequence[str], limit: int | None = None
) -> list[tuple[int, TrialRow]]:
    """The non-dominated finished trials as (0, trial); with a `limit`, those of the next fronts (1, 2, …) follow.

    Within a front, the order is by the first metric, then by number. Infeasible trials are omitted.
    """
    points: dict[int, list[float]] = {}
    where = and_(trials.c.sweep_id == sweep_id, trials.c.state == TrialState.FINISHED.value, FEASIBLE)
    statement = select(trial_values.c.trial_id, trial_values.c.value).join(trials).where(where)
    for trial_id, value in connection.execute(statement.order_by(trials.c.number, trial_values.c.position)):
        points.setdefault(trial_id, []).append(value)
    sign = -1 if goals[0] == "maximize" else 1
    ids, values = list(points), list(points.values())
    ranked = [
        (rank, ids[position])
        for rank, front in enumerate(fronts(values, goals, limit or 1))
        for position in sorted(front, key=lambda position: sign * values[position][0])
    ][:limit]
    rows = {
        row.id: row
        for row in trial_reader.select_trials(connection, trials.c.id.in_(id_list(trial_id for _, trial_id in ranked)))
    }
    return [(rank, rows[trial_id]) for rank, trial_id in ranked]


def attempts_of(connection: Connection, trial_id: int) -> list[AttemptRow]:
    """All attempts of a trial, first to last."""
    columns = [attempts.c[name] for name in AttemptRow.__dataclass_fields__]
    statement = select(*columns).where(attempts.c.trial_id == trial_id).order_by(attempts.c.number)
    return [AttemptRow(**row._mapping) for row in connection.execute(statement)]


def artifacts_of(connection: Connection, trial_id: int) -> list[ArtifactRow]:
    """The files of a trial, including removed ones."""
    names = ("name", "attempt", "sha256", "size_bytes")
    there = select(*(artifacts.c[name] for name in names)).where(artifacts.c.trial_id == trial_id)
    removed = select(*(removed_artifacts.c[name] for name in names), removed_artifacts.c.reason.label("removed"))
    again = (artifacts.c.trial_id == trial_id) & (artifacts.c.name == removed_artifacts.c.name)
    removed = removed.where(removed_artifacts.c.trial_id == trial_id, ~exists().where(again))
    found = [ArtifactRow(**row._mapping) for query in (there, removed) for row in connection.execute(query)]
    return sorted(found, key=lambda row: row.name)


def files_of(connection: Connection, trial_ids: Sequence[int]) -> dict[int, tuple[ArtifactRow, ...]]:
    """By trial, the existing files sorted by name; trials without files are omitted."""
    found: dict[int, tuple[ArtifactRow, ...]] = {}
    statement = select(artifacts).where(artifacts.c.trial_id.in_(trial_ids))
    for row in connection.execute(statement.order_by(artifacts.c.trial_id, artifacts.c.name)):
        file = ArtifactRow(row.name, row.attempt, row.sha256, row.size_bytes)
        found[row.trial_id] = (*found.get(row.trial_id, ()), file)
    return found


def running(connection: Connection, sweep_id: int, limit: int) -> list[int]:
    """Ids of the running trials of a sweep, newest first."""
    found = select(trials.c.id).where(trials.c.state == TrialState.RUNNING.value, trials.c.sweep_id == sweep_id)
    return list(connection.execute(found.order_by(trials.c.id.desc()).limit(limit)).scalars())


def current_attempts(connection: Connection, trial_ids: Sequence[int]) -> list[AttemptKeyRow]:
    """The current attempts of those of these trials that have started."""
    columns = (trials.c.id, trials.c.sweep_id, trials.c.number, trials.c.attempt, trials.c.state)
    begun = select(*columns).where(trials.c.id.in_(trial_ids), trials.c.attempt > 0)
    return [AttemptKeyRow(*row) for row in connection.execute(begun)]


def cloned_from(connection: Connection, trial_id: int) -> int | None:
    """The trial that a client cloned to create this one; None otherwise."""
    found: int | None = connection.execute(
        select(enqueued.c.cloned_from).where(enqueued.c.trial_id == trial_id)
    ).scalar_one_or_none()
    return found


def busy_share(connection: Connection, sweep_id: int, devices: int) -> float | None:
    """The share of device time that was busy between a sweep's first start and last end."""
    statement = (
        select(
            func.sum(attempts.c.ended_at - attempts.c.started_at),
            func.min(attempts.c.started_at),
            func.max(attempts.c.ended_at),
        )
        .join(trials, trials.c.id == attempts.c.trial_id)
        .where(trials.c.sweep_id == sweep_id, attempts.c.ended_at.is_not(None))
    )
    busy_s, first, last = connection.execute(statement).one()
    return None if busy_s is None or last <= first or not devices else busy_s / ((last - first) * devices)
