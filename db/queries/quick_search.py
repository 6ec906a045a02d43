"""Sweeps, trials, ensembles and projects by a few typed characters, for the command palette; api."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, Connection, case, exists, func, or_, select

from podium.db.schema.tables import ensembles, sweep_tags, sweeps, trial_tags, trials

MAX_TRIALS = 8  # by a tag
_NUMBERS = re.compile(r"(?:sweep\s+)?(?P<sweep>\d{1,15})\s*(?:[/#\s]|trial)\s*(?:trial\s*)?#?(?P<trial>\d{1,15})")
_ID = re.compile(r"(?:(?P<kind>sweep|trial|ensemble)\s+)?#?(?P<id>\d{1,15})")
Kind = Literal["sweep", "trial", "ensemble", "project"]


@dataclass(frozen=True, slots=True)
class Found:
    """Something that the words match; `id` is None for a project."""

    kind: Kind
    id: int | None
    name: str
    detail: str  # its state, or where it belongs
    sweep_id: int | None = None  # of a trial
    number: int | None = None  # of a trial in its sweep


def find(connection: Connection, words: str, limit: int) -> list[Found]:
    """At most `limit` rows, the most specific first; the newest sweeps without words.

    `17` finds the sweep, trial and ensemble with that id, `7/3` and `sweep 7 trial 3` a trial by its number.
    """
    text = " ".join(words.split())
    found: dict[tuple[Kind, int | str], Found] = {}
    for each in _all(connection, text, limit):
        found.setdefault((each.kind, each.id if each.id is not None else each.name), each)
        if len(found) == limit:
            break
    return list(found.values())


def _all(connection: Connection, text: str, limit: int) -> Iterator[Found]:
    if numbers := _NUMBERS.fullmatch(text.lower()):
        mine = (trials.c.sweep_id == int(numbers["sweep"])) & (trials.c.number == int(numbers["trial"]))
        yield from _trials(connection, mine, 1)
    elif number := _ID.fullmatch(text.lower()):
        kind, row_id = number["kind"], int(number["id"])
        if kind in (None, "sweep"):
            yield from _sweeps(connection, [sweeps.c.id == row_id], 1)
        if kind in (None, "trial"):
            yield from _trials(connection, trials.c.id == row_id, 1)
        if kind in (None, "ensemble"):
            yield from _ensembles(connection, [ensembles.c.id == row_id], 1)
    yield from _by_words(connection, text, limit)


def _by_words(connection: Connection, text: str, limit: int) -> Iterator[Found]:
    parts = text.split()
    named = [sweeps.c.name.icontains(part, autoescape=True) for part in parts]
    yield from _sweeps(connection, named, limit, text)
    named = [ensembles.c.name.icontains(part, autoescape=True) for part in parts]
    yield from _ensembles(connection, named, limit, text)
    if not text:
        return
    tagged = exists().where(sweep_tags.c.sweep_id == sweeps.c.id, sweep_tags.c.tag == text)
    mine = or_(tagged, sweeps.c.project.icontains(text, autoescape=True), sweeps.c.owner == text)
    yield from _projects(connection, text, limit)
    yield from _sweeps(connection, [mine], limit)
    has_tag = trials.c.id.in_(select(trial_tags.c.trial_id).where(trial_tags.c.tag == text).limit(MAX_TRIALS))
    yield from _trials(connection, has_tag, MAX_TRIALS)


def _starts_first(name: ColumnElement[str], text: str) -> ColumnElement[int]:
    """0 for names that start with the text, 1 for others: `res` means `resnet` rather than `pictures`."""
    return case((name.istartswith(text, autoescape=True), 0), else_=1)


def _sweeps(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], limit: int, text: str = ""
) -> Iterator[Found]:
    statement = select(sweeps.c.id, sweeps.c.name, sweeps.c.state, sweeps.c.archived_at, sweeps.c.project)
    last = case((sweeps.c.archived_at.is_(None), 0), else_=1)
    order = (last, _starts_first(sweeps.c.name, text), sweeps.c.id.desc())
    statement = statement.where(*conditions).order_by(*order).limit(limit)
    for row in connection.execute(statement):
        detail = [f"sweep {row.id}", row.state, row.project, "" if row.archived_at is None else "archived"]
        yield Found("sweep", row.id, row.name, ", ".join(filter(None, detail)))


def _trials(connection: Connection, condition: ColumnElement[bool], limit: int) -> Iterator[Found]:
    columns = select(trials.c.id, trials.c.number, trials.c.state, sweeps.c.name, trials.c.sweep_id)
    statement = columns.join(sweeps, sweeps.c.id == trials.c.sweep_id).where(condition)
    for row in connection.execute(statement.order_by(trials.c.id.desc()).limit(limit)):
        detail = f"{row.state}, sweep {row.sweep_id}: {row.name}"
        yield Found("trial", row.id, f"Trial {row.number}", detail, row.sweep_id, row.number)


def _ensembles(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], limit: int, text: str = ""
) -> Iterator[Found]:
    statement = select(ensembles.c.id, ensembles.c.name, ensembles.c.state).where(*conditions)
    order = (_starts_first(ensembles.c.name, text), ensembles.c.id.desc())
    for row in connection.execute(statement.order_by(*order).limit(limit)):
        yield Found("ensemble", row.id, row.name, f"ensemble {row.id}, {row.state}")


def _projects(connection: Connection, text: str, limit: int) -> Iterator[Found]:
    named = sweeps.c.project.icontains(text, autoescape=True)
    statement = select(sweeps.c.project, func.count()).where(sweeps.c.project != "", named)
    rows = connection.execute(statement.group_by(sweeps.c.project).order_by(sweeps.c.project).limit(limit))
    for name, count in rows:
        yield Found("project", None, name, f"{count} sweep{'s' * (count != 1)}")
