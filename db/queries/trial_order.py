"""Sort orders of trials: by number, value, parameter, state or device; api."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, and_, case, or_, select

from podium.db.queries.metric_column_expressions import figure_column, parse_figure
from podium.db.queries.trial_column_expressions import DURATION_S, QUEUED_S, RUNNING_S, number_in
from podium.db.schema.tables import (
    attempts,
    metric_summaries,
    trial_attrs,
    trial_constraints,
    trial_params,
    trial_values,
    trials,
)
from podium.db.stores.parameter_columns import columns_of
from podium.db.stores.sweeps import SweepRow, parameters_of
from podium.sweep.values.errors import BadRequestError
from podium.sweep.values.states import TrialState

Columns = tuple[ColumnElement[Any], ...]
# Active trials first, failed before cancelled.
_BY_STATE = case(
    {
        state.value: position
        for position, state in enumerate(
            (
                TrialState.RUNNING,
                TrialState.WAITING,
                TrialState.FINISHED,
                TrialState.PRUNED,
                TrialState.FAILED,
                TrialState.CANCELLED,
            )
        )
    },
    value=trials.c.state,
)
_FIELDS: dict[str, ColumnElement[Any]] = {
    "number": trials.c.number,
    "id": trials.c.id,
    "state": _BY_STATE,
    "value": trials.c.value,
    "duration_s": DURATION_S,
    "running_s": RUNNING_S,
    "queued_s": QUEUED_S,
    "attempt": trials.c.attempt,
    "sampler": trials.c.sampler,
    "fallback_reason": trials.c.fallback_reason,
    "proposed_for": trials.c.proposed_for,
    "started_at": trials.c.started_at,
    "ended_at": trials.c.ended_at,
}
_CHANGING = (DURATION_S, RUNNING_S, QUEUED_S)  # while a trial runs or waits
_OF_ATTEMPT = {
    "device": "device_id",
    "cause": "cause",
    "peak_memory_mb": "peak_memory_bytes",
    "peak_gpu_memory_mb": "peak_gpu_memory_bytes",
}
_BESIDE = {"values": trial_values, "constraints": trial_constraints, "params": trial_params, "attrs": trial_attrs}


@dataclass(frozen=True, slots=True)
class Order:
    """Trials by columns; NULL last, ties by number."""

    columns: Columns
    descending: bool = False
    source: FromClause = trials  # joined with the table of the columns: at most one row per trial

    def by(self) -> Columns:
        """The ORDER BY columns."""
        sorted_ = [(each.desc() if self.descending else each.asc()).nulls_last() for each in self.columns]
        return *sorted_, trials.c.number

    def after(self, values: Sequence[Any], number: int) -> ColumnElement[bool]:
        """The trials after one with this number and these column values."""
        later: ColumnElement[bool] = trials.c.number > number
        for column, value in zip(self.columns[::-1], values[::-1], strict=True):
            later = self._after(column, value, later)
        return later

    def past_trial(self, connection: Connection, sweep_id: int, number: int) -> ColumnElement[bool]:
        """The trials after the current position of the one with this number."""
        this = and_(trials.c.sweep_id == sweep_id, trials.c.number == number)
        values = connection.execute(select(*self.columns).select_from(self.source).where(this)).one_or_none()
        if values is None:
            return self.after([None] * len(self.columns), number)
        return self.after(
            [self._here(column, value, this) for column, value in zip(self.columns, values, strict=True)], number
        )

    def _here(self, column: ColumnElement[Any], value: Any, this: ColumnElement[bool]) -> Any:
        if value is None or not any(column is each for each in _CHANGING):
            return value
        return select(column).where(this).correlate(None).scalar_subquery()  # it changes while the trial runs

    def _after(self, column: ColumnElement[Any], here: Any, later: ColumnElement[bool]) -> ColumnElement[bool]:
        if here is None:
            return and_(column.is_(None), later)
        further = column < here if self.descending else column > here
        return or_(further, and_(column == here, later), column.is_(None))


def order_of(text: str, sweep: SweepRow) -> Order | None:
    """The order of a `sort` value: a column, `-` for descending; `best`: best first; None for `number`.

    Numbers come before strings if a parameter has both. Raises `BadRequestError` with the possible values.
    """
    key = text.removeprefix("-")
    if text == "number":
        return None
    if key == "best":
        return Order((trials.c.value,), (sweep.goal == "maximize") != text.startswith("-"))
    kind, _, name = key.partition(".")
    columns: Columns
    source: FromClause = trials
    if key in _FIELDS:
        columns = (_FIELDS[key],)
    elif key in _OF_ATTEMPT:
        current = attempts.alias()
        columns = (current.c[_OF_ATTEMPT[key]],)
        on = and_(current.c.trial_id == trials.c.id, current.c.number == trials.c.attempt)
        source = trials.outerjoin(current, on)
    elif kind == "values" and name == sweep.objectives[0][0]:
        columns = (trials.c.value,)
    elif figure := parse_figure(key):
        summaries = metric_summaries.alias()
        columns = (figure_column(figure, summaries),)
        on = and_(summaries.c.trial_id == trials.c.id, summaries.c.name == figure.metric)
        source = trials.outerjoin(summaries, on)
    elif kind == "params" and (own := columns_of(sweep.spec_json, name)) is not None:
        columns = (own.number,) if _is_number(sweep, name) else _numbers_first(own.number, own.text)
    elif kind in _BESIDE and (kind != "values" or name in dict(sweep.objectives)) and name:
        table = _BESIDE[kind].alias()
        columns = _of(kind, table)
        columns = columns[:1] if kind == "params" and _is_number(sweep, name) else columns
        source = trials.outerjoin(table, and_(table.c.trial_id == trials.c.id, table.c.name == name))
    else:
        values = ", ".join(f"values.{name}" for name, _ in sweep.objectives)
        fields = ", ".join((*_FIELDS, *_OF_ATTEMPT))
        raise BadRequestError(
            f"sort={text}: use best, {fields}, {values}, params.NAME, constraints.NAME, attrs.NAME, last(METRIC), "
            "min(METRIC) or max(METRIC), "
            "with a leading - for descending"
        )
    return Order(columns, text.startswith("-"), source)


def _is_number(sweep: SweepRow, name: str) -> bool:
    """Whether the sweep file defines this parameter as a range, so that it has no strings."""
    known = parameters_of(sweep).get(name)
    return known is not None and known.get("values") is None and known.get("value") is None


def _of(kind: str, table: FromClause) -> Columns:
    """The sort columns of a table; numbers before strings."""
    if kind in ("values", "constraints"):
        return (table.c.value,)
    number = table.c.number if kind == "params" else number_in(table.c.value)
    return _numbers_first(number, table.c.value)


def _numbers_first(number: ColumnElement[Any], text: ColumnElement[Any]) -> Columns:
    return number, case((number.is_(None), text))
