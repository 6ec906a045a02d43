"""Filters of trials, `state:failed lr<0.01`, as SQL conditions; api.

The table, charts, exports and CLI use the same language; docs/reference/filter.md documents it.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    exists,
    false,
    func,
    literal,
    or_,
    select,
    true,
    type_coerce,
    types,
)

from podium.db.queries.filter_parser import Term, Value, parse_terms
from podium.db.queries.metric_column_expressions import MetricFigure
from podium.db.queries.trial_column_expressions import (
    ATTR_NUMBER,
    CAUSE,
    DEVICE,
    DURATION_S,
    PEAKS_MB,
    QUEUED_S,
    RUNNING_S,
)
from podium.db.queries.trials_with_failure_message import trials_with_message
from podium.db.schema.dialect import like
from podium.db.schema.tables import metric_summaries as metric_summary_table
from podium.db.schema.tables import (
    trial_attrs,
    trial_constraints,
    trial_notes,
    trial_params,
    trial_tags,
    trial_values,
    trials,
)
from podium.db.stores import metric_summaries
from podium.db.stores.feasible_trial_condition import FEASIBLE
from podium.db.stores.id_list import id_list
from podium.db.stores.metric_summaries import COLUMNS, Figure
from podium.db.stores.parameter_columns import columns_of
from podium.db.stores.sweeps import SweepRow, parameters_of
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.failure_message_normalization import normalized
from podium.sweep.values.search_messages import FallbackReason
from podium.sweep.values.states import TrialState

MAX_FILTER = 2_000  # characters
MAX_TOP = 100_000
MAX_PATTERNS = 50
MAX_NAMED = 50  # metrics in a message
WITHIN_S = 10.0  # time limit of a filter: fifty words in 100,000 trials would take a minute
_CAUSES = {"nan": ("non_finite",), "oom": ("host_memory", "device_memory"), "memory": ("host_memory", "device_memory")}
_SAME = (":", "=", "!=")
Condition = ColumnElement[bool]
# True for each trial. With it, SQLite reads all trials by their numbers rather than by state or value: then the rows of
# a trial in other tables are next to those of the trial before, which halves the time.
IN_NUMBER_ORDER = trials.c.number >= 0


def filter_condition(connection: Connection, text: str | None, sweep: SweepRow) -> Condition:
    """The condition on `trials` of a filter and the sweep. Raises `FilterError` with the position.

    The connection is used to look up names that are not in the sweep file.
    """
    filtered = _Filter(connection, sweep)
    conditions = [filtered.condition(term) for term in parse_terms(text or "")]
    if not conditions:
        return trials.c.sweep_id == sweep.id
    return and_(trials.c.sweep_id == sweep.id, IN_NUMBER_ORDER, *conditions)


@dataclass(frozen=True, slots=True)
class _Filter:
    """Terms as conditions on the trials of one sweep."""

    connection: Connection
    sweep: SweepRow

    def condition(self, term: Term) -> Condition:
        found = self._any_word(term) if not term.name else self._named(term)
        # NULL counts as false: a trial without a value matches `-value>1`.
        return ~func.coalesce(found, false()) if term.negated else found

    def _named(self, term: Term) -> Condition:
        if term.figure:
            return self._of_metric(MetricFigure(Figure(term.figure), term.name), term)
        kind, _, name = term.name.partition(".")
        if term.name == "error":
            return self._error(term)
        if term.name in _FIELDS:
            return _FIELDS[term.name](self.sweep, term)
        if kind in _TABLES and name:
            return self._in_table(kind, name, term)
        if kind == "metrics" and name:
            return self._of_metric(MetricFigure(Figure.LAST, name), term)
        if term.name in dict(self.sweep.objectives):
            return self._in_table("values", term.name, term)
        if not self._is_known("params", term.name) and term.name in self._metrics:
            return self._of_metric(MetricFigure(Figure.LAST, term.name), term)
        return self._in_table("params", term.name, term)

    def _error(self, term: Term) -> Condition:
        """Trials that failed with one of these messages, whatever the numbers, paths and addresses in it are."""
        if term.operator not in _SAME:
            raise term.wrong('write error:"message", or error:*memory*')
        patterns = [_message_pattern(value) for value in _check_pattern_count(term.values)]
        among = trials.c.id.in_(id_list(trials_with_message(self.connection, self.sweep.id, patterns)))
        return and_(CAUSE.is_not(None), ~among) if term.operator == "!=" else among

    @property
    def _metrics(self) -> list[str]:
        return metric_summaries.names_of(self.connection, self.sweep.id)

    def _of_metric(self, figure: MetricFigure, term: Term) -> Condition:
        known = self._metrics
        if figure.metric not in known:
            close = difflib.get_close_matches(figure.metric, known, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise term.wrong(f"no trial has logged a metric {figure.metric!r}{hint}")
        row = _numbers(COLUMNS[figure.figure], term)
        table = metric_summary_table
        return exists().where(table.c.trial_id == trials.c.id, table.c.name == figure.metric, row)

    def _in_table(self, kind: str, name: str, term: Term) -> Condition:
        if kind == "values" and name == self.sweep.objectives[0][0]:
            return _numbers(trials.c.value, term)
        table = _TABLES[kind]
        if not self._is_known(kind, name):
            raise term.wrong(self._unknown(term.name))
        if kind == "params" and (own := columns_of(self.sweep.spec_json, name)) is not None:
            found = _mixed(own.number, own.text, term)
            return and_(own.is_set, found) if term.operator == "!=" else found
        numbers = {"params": trial_params.c.number, "attrs": ATTR_NUMBER}
        row = _mixed(numbers[kind], table.c.value, term) if kind in numbers else _numbers(table.c.value, term)
        return exists().where(table.c.trial_id == trials.c.id, table.c.name == name, row)

    def _is_known(self, kind: str, name: str) -> bool:
        if kind == "values":
            return name in dict(self.sweep.objectives)
        if kind == "params" and name in parameters_of(self.sweep):
            return True
        table = _TABLES[kind]
        there = select(literal(1)).select_from(trials).join(table, table.c.trial_id == trials.c.id)
        there = there.where(trials.c.sweep_id == self.sweep.id, table.c.name == name).limit(1)
        return self.connection.execute(there).first() is not None

    def _unknown(self, name: str) -> str:
        values = [f"values.{each}" for each, _ in self.sweep.objectives] if len(self.sweep.objectives) > 1 else []
        known = [*parameters_of(self.sweep), *_FIELDS, "error", *values, *self._metrics[:MAX_NAMED]]
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        return f"unknown name {name!r}{hint}; known: {', '.join(dict.fromkeys(known))}"

    def _any_word(self, term: Term) -> Condition:
        (word,) = term.values
        escaped = json.dumps(word.text)[1:-1]
        text = and_(trial_params.c.number.is_(None), _contains(trial_params.c.value, escaped))
        return or_(
            exists().where(trial_tags.c.trial_id == trials.c.id, _contains(trial_tags.c.tag, word.text)),
            exists().where(trial_notes.c.trial_id == trials.c.id, _contains(trial_notes.c.note, word.text)),
            exists().where(trial_params.c.trial_id == trials.c.id, text),
        )


def _numbers(column: ColumnElement[Any], term: Term) -> Condition:
    """The condition of a term on a numeric column."""
    column = type_coerce(column, types.Float)  # PostgreSQL would round 2.5 to compare it with integers
    if term.operator in _SAME:
        among = _is_number_among(column, term.values)
        return and_(column.is_not(None), ~among) if term.operator == "!=" else among
    return _compared(column, term.operator, _one_number(term))


def _is_number_among(column: ColumnElement[Any], values: Sequence[Value]) -> Condition:
    ranges = [
        _between(column, *ends)
        for value in _check_pattern_count([v for v in values if v.range])
        if (ends := value.range)
    ]
    plain = [_number_of(value) for value in values if value.range is None]
    return or_(column.in_(plain), *ranges) if plain else or_(*ranges)


def _between(column: ColumnElement[Any], low: float | None, high: float | None) -> Condition:
    return and_(true() if low is None else column >= low, true() if high is None else column <= high)


def _number_of(value: Value) -> float:
    if (number := value.number) is None:
        raise value.wrong(f"{value.text!r} is not a number; write a number, or a range like 0.1..0.5")
    return number


def _check_pattern_count(patterns: Sequence[Value]) -> Sequence[Value]:
    """Limit the number of patterns: each scans every trial, and SQLite allows a thousand alternatives."""
    if len(patterns) > MAX_PATTERNS:
        raise patterns[MAX_PATTERNS].wrong(f"a term has at most {MAX_PATTERNS} ranges or patterns with *")
    return patterns


def _one_number(term: Term) -> float:
    first = term.values[0]
    if len(term.values) > 1:
        raise term.values[1].wrong(f"{term.operator} takes one number; write {term.name}:1,2,3 for several")
    if (number := first.number) is None:
        raise first.wrong(f"{term.name}{term.operator} takes a number, not {first.text!r}")
    return number


def _compared(column: ColumnElement[Any], operator: str, number: float) -> Condition:
    compare: dict[str, Callable[[], Condition]] = {
        "<": lambda: column < number,
        "<=": lambda: column <= number,
        ">": lambda: column > number,
        ">=": lambda: column >= number,
    }
    return compare[operator]()


def _texts(column: ColumnElement[Any], term: Term) -> Condition:
    """The condition of a term on a string column; * matches anything."""
    if term.operator not in _SAME:
        raise term.wrong(f"{term.name} is a string, so {term.operator} does not apply; write {term.name}:a,b")
    among = _is_text_among(column, term.values)
    return and_(column.is_not(None), ~among) if term.operator == "!=" else among


def _is_text_among(
    column: ColumnElement[Any], values: Sequence[Value], written: Callable[[str], str] = str
) -> Condition:
    """Whether a string is one of these values, formatted by `written`."""
    wild = [value for value in values if _is_wild(value)]
    matches = [_is_like(column, written(value.text)) for value in _check_pattern_count(wild)]
    return or_(column.in_([written(value.text) for value in values if not _is_wild(value)]), *matches)


def _message_pattern(value: Value) -> re.Pattern[str]:
    """What a normalized message must match; an unquoted * matches anything."""
    parts = value.text.split("*") if _is_wild(value) else [value.text]
    return re.compile(".*".join(re.escape(normalized(part) if len(parts) == 1 else part) for part in parts))


def _is_wild(value: Value) -> bool:
    return not value.quoted and "*" in value.text


def _is_like(column: ColumnElement[Any], text: str) -> Condition:
    return like(column, _escaped(text).replace("*", "%"))


def _contains(column: ColumnElement[Any], text: str) -> Condition:
    return like(column, f"%{_escaped(text)}%")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _mixed(number: ColumnElement[Any], column: ColumnElement[Any], term: Term) -> Condition:
    """The condition of a term on a numeric column and its JSON column, which may be NULL for numbers."""
    number = type_coerce(number, types.Float)
    if term.operator not in _SAME:
        return _compared(number, term.operator, _one_number(term))
    among = _is_among(number, column, term.values)
    return ~func.coalesce(among, false()) if term.operator == "!=" else among


def _is_among(number: ColumnElement[Any], column: ColumnElement[Any], values: Sequence[Value]) -> Condition:
    others = [value for value in values if value.range is None]
    ways = [_is_text_among(column, others, json.dumps)] if others else []
    if numbers := [value.number for value in others if value.number is not None]:
        ways.append(and_(number.in_(numbers), func.coalesce(column, "").not_in(("true", "false"))))
    words = {value.text.lower() for value in others if not value.quoted} & {"true", "false", "null", "none"}
    if words:
        ways.append(column.in_([word.replace("none", "null") for word in sorted(words)]))
    if ranges := [value for value in values if value.range is not None]:
        ways.append(_is_number_among(number, ranges))
    return or_(*ways)


def _choice(column: ColumnElement[Any], known: type[StrEnum], also: dict[str, tuple[str, ...]]) -> Any:
    """The condition on a column with a closed list of values."""

    def condition(_: SweepRow, term: Term) -> Condition:
        if term.operator not in _SAME:
            raise term.wrong(f"write {term.name}:{next(iter(known))}, or several separated by commas")
        wanted: list[str] = []
        for value in term.values:
            name = value.text.lower()
            if name not in also and name not in list(known):
                close = difflib.get_close_matches(name, [*known, *also], n=1)
                hint = f" (did you mean {close[0]}?)" if close else ""
                raise value.wrong(f"unknown {term.name} {value.text!r}{hint}; known: {', '.join(known)}")
            wanted += also.get(name, (name,))
        among = column.in_(wanted)
        return and_(column.is_not(None), ~among) if term.operator == "!=" else among

    return condition


def _number_field(column: ColumnElement[Any]) -> Any:
    return lambda _, term: _numbers(column, term)


def _text_field(column: ColumnElement[Any]) -> Any:
    return lambda _, term: _texts(column, term)


def _tag(_: SweepRow, term: Term) -> Condition:
    """One of a trial's tags; != matches trials with none of them."""
    if term.operator not in _SAME:
        raise term.wrong("write tag:keep, or several separated by commas")
    among = _is_text_among(trial_tags.c.tag, term.values)
    found = exists().where(trial_tags.c.trial_id == trials.c.id, among)
    return ~found if term.operator == "!=" else found


def _note(_: SweepRow, term: Term) -> Condition:
    """Words of the note; * matches any note."""
    if term.operator not in (":", "="):
        raise term.wrong("write note:word, or note:* for any note")
    words = [
        true() if value.text == "*" else _contains(trial_notes.c.note, value.text)
        for value in _check_pattern_count(term.values)
    ]
    return exists().where(trial_notes.c.trial_id == trials.c.id, or_(*words))


def _top(sweep: SweepRow, term: Term) -> Condition:
    """The best finished, feasible trials of the sweep by its first metric."""
    number = term.values[0].number
    if term.operator not in (":", "=") or len(term.values) > 1 or number not in range(1, MAX_TOP + 1):
        raise term.wrong("write top:N, like top:50")
    of = trials.alias("of_the_best")
    finished = and_(of.c.sweep_id == sweep.id, of.c.state == TrialState.FINISHED.value)
    feasible = ~exists().where(trial_constraints.c.trial_id == of.c.id, trial_constraints.c.value > 0)
    by = of.c.value.desc() if sweep.goal == "maximize" else of.c.value.asc()
    best = select(of.c.id).where(finished, feasible).order_by(by, of.c.number).limit(int(number or 0))
    return trials.c.id.in_(best)


def _feasible(_: SweepRow, term: Term) -> Condition:
    wanted = [value.text.lower() for value in term.values]
    if term.operator not in (":", "=") or wanted not in (["yes"], ["no"]):
        raise term.wrong("write feasible:yes or feasible:no")
    return FEASIBLE if wanted == ["yes"] else ~FEASIBLE


_TABLES: dict[str, Table] = {
    "params": trial_params,
    "values": trial_values,
    "constraints": trial_constraints,
    "attrs": trial_attrs,
}
_FIELDS: dict[str, Callable[[SweepRow, Term], Condition]] = {
    "state": _choice(trials.c.state, TrialState, {}),
    "number": _number_field(trials.c.number),
    "id": _number_field(trials.c.id),
    "value": _number_field(trials.c.value),
    "duration_s": _number_field(DURATION_S),
    "running_s": _number_field(RUNNING_S),
    "queued_s": _number_field(QUEUED_S),
    "attempt": _number_field(trials.c.attempt),
    **{name: _number_field(column) for name, column in PEAKS_MB.items()},
    "device": _text_field(DEVICE),
    "cause": _choice(CAUSE, Cause, _CAUSES),
    "tag": _tag,
    "note": _note,
    "sampler": _text_field(trials.c.sampler),
    "fallback_reason": _choice(trials.c.fallback_reason, FallbackReason, {}),
    "proposed_for": _number_field(trials.c.proposed_for),
    "feasible": _feasible,
    "top": _top,
}
