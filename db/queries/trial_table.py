"""A window of a sweep's trials as columns, filtered and sorted; api."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, and_, func, select

from podium.db.queries import trial_pages
from podium.db.queries.attempt_reader import error_messages, running_and_queued_s
from podium.db.queries.metric_column_expressions import columns_of as columns_of_metrics
from podium.db.queries.metric_column_expressions import parse_figures
from podium.db.queries.trial_cursor import Position, cursor_of, position_of
from podium.db.queries.trial_filter import filter_condition
from podium.db.queries.trial_order import Order, order_of
from podium.db.queries.trial_pages import rows_after
from podium.db.schema.tables import trials
from podium.db.stores import metric_summaries, sweeps
from podium.db.stores.sweeps import parameters_of
from podium.db.stores.trial_reader import TrialRow
from podium.sweep.values.constraints_and_user_attributes import is_infeasible
from podium.sweep.values.megabytes import megabytes
from podium.sweep.values.states import TrialState

# Columns that most windows have no value for: each null takes five bytes of every row.
SPARSE = (
    "requested", "cause", "error", "peak_memory_mb", "peak_gpu_memory_mb", "reported", "reported_step",
    "fallback_reason", "fallback_error", "proposed_for",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Window:
    """The requested trials: after the cursor of the previous page, or from `offset` on."""

    filter: str | None = None
    sort: str = "number"
    after: str | None = None  # `next` of the previous page
    offset: int = 0
    limit: int = 200
    find: int | None = None  # number of a trial whose position is requested
    metrics: Sequence[str] = ()  # requested figures of metrics, such as `min(val/loss)`


@dataclass(frozen=True, slots=True)
class TrialTable:
    """Trials as columns of equal length, without the `SPARSE` columns that are null in each of the trials."""

    total: int  # trials of the sweep
    matching: int  # trials that match the filter
    next: int | str | None  # cursor of the next page
    found: int | None  # position of the requested trial among the matches
    columns: dict[str, list[Any]] = field(default_factory=dict)


def window(connection: Connection, sweep_id: int, wanted: Window) -> TrialTable:
    """Read a window. Raises `NotFoundError`, and `BadRequestError` for an invalid filter or order."""
    sweep = sweeps.get(connection, sweep_id)
    total = sum(sweep.counts.values())
    order = order_of(wanted.sort, sweep)
    figures = parse_figures(wanted.metrics)
    filtered = filter_condition(connection, wanted.filter, sweep)
    where, counted = filtered, wanted.after is None and bool(wanted.filter)
    if wanted.after is not None:
        position = position_of(wanted.after, wanted.sort, order)
        where = and_(where, rows_after(connection, sweep_id, order, position))
    rows, positions, matching = trial_pages.ordered(
        connection, where, order, wanted.limit + 1, offset=wanted.offset, counted=counted
    )
    if matching is None:
        matching = _count(connection, filtered) if wanted.filter else total
    shown = rows[: wanted.limit]
    columns = columns_of(shown, parameters_of(sweep), [name for name, _ in sweep.objectives], time.time())
    return TrialTable(
        total=total,
        matching=matching,
        next=cursor_of(wanted.sort, order, positions[wanted.limit - 1]) if len(rows) > wanted.limit else None,
        found=None
        if wanted.find is None
        else _position_of(connection, sweep_id, filtered, order=order, number=wanted.find, matching=matching),
        columns=_without_empty(
            columns
            | _times(connection, shown)
            | _reported(connection, shown, sweep.metric)
            | _errors(connection, shown)
        )
        | columns_of_metrics(connection, [row.id for row in shown], figures),
    )


def state_counts(connection: Connection, sweep_id: int, filter: str | None = None) -> dict[TrialState, int]:
    """The matching trials by state, without states of none. Raises like `window`."""
    sweep = sweeps.get(connection, sweep_id)
    if not filter:
        return sweep.counts
    where = filter_condition(connection, filter, sweep)
    rows = connection.execute(select(trials.c.state, func.count()).where(where).group_by(trials.c.state))
    return {TrialState(state): count for state, count in rows}


def _without_empty(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    empty = {name for name in SPARSE if all(value is None for value in columns[name])}
    return {name: column for name, column in columns.items() if name not in empty}


def _count(connection: Connection, where: ColumnElement[bool], source: FromClause = trials) -> int:
    return connection.execute(select(func.count()).select_from(source).where(where)).scalar_one()


def _position_of(
    connection: Connection, sweep_id: int, where: ColumnElement[bool], order: Order | None, number: int, matching: int
) -> int | None:
    if not _count(connection, and_(where, trials.c.number == number)):
        return None
    later = and_(where, rows_after(connection, sweep_id, order, Position(number)))
    return matching - 1 - _count(connection, later, trials if order is None else order.source)


def _times(connection: Connection, rows: Sequence[TrialRow]) -> dict[str, list[Any]]:
    """How long the trials have run and waited."""
    found = running_and_queued_s(connection, [row.id for row in rows])
    times = [found.get(row.id, (None, None)) for row in rows]
    return {
        "running_s": [_rounded(running) for running, _ in times],
        "queued_s": [_rounded(queued) for _, queued in times],
    }


def _reported(connection: Connection, rows: Sequence[TrialRow], metric: str) -> dict[str, list[Any]]:
    """The last reports of trials without a value: running, pruned and failed ones."""
    last = metric_summaries.last_of(connection, [row.id for row in rows if row.value is None and row.attempt], metric)
    found = [last.get(row.id, (None, None)) for row in rows]
    return {"reported": [value for _, value in found], "reported_step": [step for step, _ in found]}


def _errors(connection: Connection, rows: Sequence[TrialRow]) -> dict[str, list[Any]]:
    """Why trials failed, in one line."""
    found = error_messages(connection, [row.id for row in rows if row.cause is not None])
    return {"error": [found.get(row.id) for row in rows]}


def columns_of(
    rows: Sequence[TrialRow], space: Iterable[str], objectives: Sequence[str], now: float
) -> dict[str, list[Any]]:
    """Columns of trials: the common ones, then values, parameters, constraints and attributes by name.

    Parameters are in the order of the sweep file; missing ones are null.
    """
    found: dict[str, list[Any]] = {
        "id": [row.id for row in rows],
        "number": [row.number for row in rows],
        "state": [row.state.value for row in rows],
        "requested": [row.requested for row in rows],
        "value": [row.value for row in rows],
        "violated": [is_infeasible(row.constraints) for row in rows],
        "duration_s": [_duration_s(row, now) for row in rows],
        "device": [row.device_id for row in rows],
        "cause": [row.cause for row in rows],
        "attempt": [row.attempt for row in rows],
        "peak_memory_mb": [megabytes(row.peak_memory_bytes) for row in rows],
        "peak_gpu_memory_mb": [megabytes(row.peak_gpu_memory_bytes) for row in rows],
        "sampler": [row.sampler for row in rows],
        "fallback_reason": [row.fallback_reason for row in rows],
        "fallback_error": [row.fallback_error for row in rows],
        "proposed_for": [row.proposed_for for row in rows],
        "tags": [row.tags for row in rows],
        "started_at": [_rounded(row.started_at) for row in rows],
        "ended_at": [_rounded(row.ended_at) for row in rows],
    }
    if len(objectives) > 1:
        found |= _named("values", [row.values or {} for row in rows], objectives)
    found |= _named("params", [row.params for row in rows], space)
    found |= _named("constraints", [row.constraints for row in rows], ())
    found |= _named("attrs", [row.user_attrs for row in rows], ())
    return found


def _named(kind: str, rows: Sequence[dict[str, Any]], first: Iterable[str]) -> dict[str, list[Any]]:
    names = dict.fromkeys(first)
    for row in rows:
        names |= dict.fromkeys(row)
    return {f"{kind}.{name}": [row.get(name) for row in rows] for name in names}


def _duration_s(row: TrialRow, now: float) -> float | None:
    return None if row.started_at is None else _rounded((row.ended_at or now) - row.started_at)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
