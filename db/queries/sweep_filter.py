"""Filters of the list of sweeps, `project:vision tag:baseline -is:archived`, as SQL conditions; api.

The syntax is that of filters of trials; docs/reference/filter.md documents both.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator

from sqlalchemy import ColumnElement, and_, exists, false, func, or_, type_coerce, types

from podium.db.queries.filter_parser import Term, Value, parse_terms
from podium.db.schema.tables import sweep_stars, sweep_tags, sweeps
from podium.sweep.values.states import SweepState

Condition = ColumnElement[bool]
_SAME = (":", "=", "!=")
_COMPARED = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def sweep_condition(text: str | None, user: str) -> Condition:
    """The condition on `sweeps` of a filter by a user. Raises `FilterError` with the position.

    Archived sweeps match only if the filter has a term `is:archived`.
    """
    terms = parse_terms(text or "")
    conditions = [_condition(term, user) for term in terms]
    if not any(term.name == "is" and _names_archive(term) for term in terms):
        conditions.append(sweeps.c.archived_at.is_(None))
    return and_(*conditions)


def _names_archive(term: Term) -> bool:
    return any(value.text in ("archived", "active") for value in term.values)


def _condition(term: Term, user: str) -> Condition:
    found = _any_word(term) if not term.name else _named(term, user)
    negated = term.negated != (term.operator == "!=")
    return ~func.coalesce(found, false()) if negated else found


def _named(term: Term, user: str) -> Condition:
    if term.name in ("id", "number"):  # `#7` is a number to the parser
        return or_(*_ids(term))
    if term.name not in _TEXTS and term.name not in ("is", "tag", "state"):
        known = [*_TEXTS, "id", "is", "state", "tag"]
        close = difflib.get_close_matches(term.name, known, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise term.wrong(f"unknown name {term.name!r}{hint}; known: {', '.join(known)}")
    if term.operator not in _SAME:
        raise term.wrong(f"{term.name} is a text: write {term.name}:VALUE")
    one: Callable[[Value], Condition] = {
        "is": lambda value: _is(value, user),
        "tag": lambda value: exists().where(
            sweep_tags.c.sweep_id == sweeps.c.id, _matches(sweep_tags.c.tag, value, part=False)
        ),
        "state": _state,
    }.get(term.name, lambda value: _text(term.name, value))
    return or_(*map(one, term.values))


def _text(name: str, value: Value) -> Condition:
    column, part = _TEXTS[name]
    return _matches(column, value, part=part)


# By name of a term: the column, and whether a part of it is enough.
_TEXTS: dict[str, tuple[ColumnElement[str], bool]] = {
    "project": (sweeps.c.project, False),
    "owner": (sweeps.c.owner, False),
    "name": (sweeps.c.name, True),
    "description": (sweeps.c.description, True),
    "metric": (sweeps.c.metric, False),
}


def _matches(column: ColumnElement[str], value: Value, *, part: bool) -> Condition:
    """Whether a text is the value; `*` matches any characters. `""` matches an empty text only."""
    if not value.text:
        return column == ""
    if not value.quoted and "*" in value.text:
        pattern = value.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_").replace("*", "%")
        return and_(column != "", column.ilike(pattern, escape="\\"))
    return column.icontains(value.text, autoescape=True) if part else column == value.text


def _is(value: Value, user: str) -> Condition:
    starred = exists().where(sweep_stars.c.sweep_id == sweeps.c.id, sweep_stars.c.user == user)
    known: dict[str, Condition] = {
        "archived": sweeps.c.archived_at.is_not(None),
        "active": sweeps.c.archived_at.is_(None),
        "starred": starred,
        "mine": sweeps.c.owner == user,
    }
    if value.text not in known:
        raise value.wrong(f"unknown {value.text!r}; known: {', '.join(known)}")
    return known[value.text]


def _state(value: Value) -> Condition:
    if value.text not in {state.value for state in SweepState}:
        raise value.wrong(f"unknown state {value.text!r}; known: {', '.join(state.value for state in SweepState)}")
    return sweeps.c.state == value.text


def _ids(term: Term) -> Iterator[Condition]:
    column = type_coerce(sweeps.c.id, types.Float)  # PostgreSQL would round 2.5 to compare it with integers
    for value in term.values:
        if value.range is not None and term.operator in _SAME:
            low, high = value.range
            yield and_(column >= (low or 0.0), *([] if high is None else [column <= high]))
        elif value.number is None:
            raise value.wrong(f"{term.name} is a number: got {value.text!r}")
        elif term.operator in _SAME:
            yield column == value.number
        else:
            yield getattr(column, _COMPARED[term.operator])(value.number)


def _any_word(term: Term) -> Condition:
    (word,) = term.values
    texts = (sweeps.c.name, sweeps.c.description, sweeps.c.project, sweeps.c.owner)
    tagged = exists().where(
        sweep_tags.c.sweep_id == sweeps.c.id, sweep_tags.c.tag.icontains(word.text, autoescape=True)
    )
    return or_(*(text.icontains(word.text, autoescape=True) for text in texts), tagged)
