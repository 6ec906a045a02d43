"""Trials by their ids, and by their numbers in their sweeps; api."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from podium.db.schema.tables import trials
from podium.sweep.values.errors import NotFoundError

PATTERN = r"^(?:[1-9][0-9]{0,14}\.)?[0-9]{1,15}$"  # an id, or `SWEEP.NUMBER`


@dataclass(frozen=True, slots=True)
class TrialName:
    """A trial; `number` counts the trials of its sweep from 0."""

    id: int
    sweep_id: int
    number: int


def id_of(connection: Connection, sweep_id: int, number: int) -> int:
    """The id of a trial. Raises `NotFoundError`."""
    statement = select(trials.c.id).where(trials.c.sweep_id == sweep_id, trials.c.number == number)
    found: int | None = connection.execute(statement).scalar_one_or_none()
    if found is None:
        raise NotFoundError(f"there is no trial {number} of sweep {sweep_id}")
    return found


def find(connection: Connection, names: Sequence[str]) -> list[TrialName]:
    """The trials of these ids and names (`PATTERN`), in their order and each once; what does not exist is left out."""
    if not names:
        return []
    statement = select(trials.c.id, trials.c.sweep_id, trials.c.number)
    rows = connection.execute(statement.where(or_(*map(_condition, dict.fromkeys(names))))).all()
    found = [TrialName(*row) for row in rows]
    by_name = {str(each.id): each for each in found} | {f"{each.sweep_id}.{each.number}": each for each in found}
    return list(dict.fromkeys(by_name[name] for name in map(_normal, names) if name in by_name))


def _condition(name: str) -> ColumnElement[bool]:
    sweep_id, dot, number = name.rpartition(".")
    if not dot:
        return trials.c.id == int(number)
    return and_(trials.c.sweep_id == int(sweep_id), trials.c.number == int(number))


def _normal(name: str) -> str:
    """Without leading zeros."""
    return re.sub(r"\d+", lambda digits: str(int(digits[0])), name)
