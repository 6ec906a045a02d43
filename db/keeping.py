"""Which weights and checkpoints a sweep does not keep, and the account of those that were removed.

A row first leaves `artifacts` for `removed_artifacts`, then the file goes, then the row says that it has gone: whenever
the process dies in between, the next one finds what is left to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Exists, bindparam, delete, exists, func, insert, select, update

from db import events
from db.events import NewEvent
from db.tables import artifacts, ensemble_members, ensembles, removed_artifacts, sweeps, trials
from db.trial_notes import FEASIBLE
from ensemble.spec import EnsembleState
from sweep.trial import TrialState

MODEL = "model.safetensors"


@dataclass(frozen=True, slots=True)
class Left:
    """A trial with files that are not kept: those of all its attempts."""

    trial_id: int
    sweep_id: int
    number: int
    attempt: int  # the last one


def with_keep(connection: Connection) -> list[int]:
    """The sweeps whose file says what to keep."""
    says = func.json_type(sweeps.c.spec, "$.keep") == "object"
    return list(connection.execute(select(sweeps.c.id).where(says).order_by(sweeps.c.id)).scalars())


def spec_of(connection: Connection, sweep_id: int) -> str:
    """The sweep file, as JSON."""
    text: str = connection.execute(select(sweeps.c.spec).where(sweeps.c.id == sweep_id)).scalar_one()
    return text


def surplus(connection: Connection, sweep_id: int, models: int) -> list[Left]:
    """The trials with weights that are over and not among the `models` best of these, nor member of any ensemble.

    Once a trial is here it stays so, but for ensembles: values do not change.
    """
    statement = (
        select(trials.c.id, trials.c.sweep_id, trials.c.number, trials.c.attempt, _is_member())
        .join(artifacts, (artifacts.c.trial_id == trials.c.id) & (artifacts.c.name == MODEL))
        .where(trials.c.sweep_id == sweep_id)
    )
    finished = connection.execute(
        statement.where(trials.c.state == TrialState.FINISHED.value).order_by(*_best_first(connection, sweep_id))
    ).all()
    pruned = connection.execute(statement.where(trials.c.state == TrialState.PRUNED.value)).all()
    return [Left(*row[:4]) for row in (*finished[models:], *pruned) if not row[4]]


def let_go(connection: Connection, left: Sequence[Left], reason: str, at: float) -> None:
    """These weights belong to nobody any more, and may be removed; not those of a trial that became a member."""
    for each in left:
        mine = (artifacts.c.trial_id == each.trial_id) & (artifacts.c.name == MODEL)
        member = select(_is_member()).where(trials.c.id == each.trial_id).scalar_subquery()
        row = connection.execute(delete(artifacts).where(mine, ~member).returning(artifacts)).one_or_none()
        if row is not None:
            connection.execute(insert(removed_artifacts).values(**row._mapping, reason=reason, at=at, gone=False))
            event = NewEvent(at, "trial.not_kept", each.sweep_id, each.trial_id, payload={"reason": reason})
            events.add(connection, [event])


def leaving(connection: Connection, sweep_id: int | None = None) -> list[Left]:
    """The trials whose weights belong to nobody, and whose files may still be there."""
    statement = (
        select(trials.c.id, trials.c.sweep_id, trials.c.number, trials.c.attempt)
        .join(removed_artifacts, removed_artifacts.c.trial_id == trials.c.id)
        .where(~removed_artifacts.c.gone)
    )
    if sweep_id is not None:
        statement = statement.where(trials.c.sweep_id == sweep_id)
    return [Left(*row) for row in connection.execute(statement)]


def gone(connection: Connection, left: Sequence[Left]) -> None:
    """The files of these are not there any more."""
    statement = update(removed_artifacts).where(removed_artifacts.c.trial_id == bindparam("b_id"))
    connection.execute(statement.values(gone=True), [{"b_id": each.trial_id} for each in left])


def finished(connection: Connection, sweep_id: int) -> list[Left]:
    """The finished trials of a sweep, best first."""
    done = (trials.c.sweep_id == sweep_id) & (trials.c.state == TrialState.FINISHED.value)
    statement = select(trials.c.id, trials.c.sweep_id, trials.c.number, trials.c.attempt).where(done)
    return [Left(*row) for row in connection.execute(statement.order_by(*_best_first(connection, sweep_id)))]


def _best_first(connection: Connection, sweep_id: int) -> tuple[ColumnElement[Any], ...]:
    """By the first metric, ties by number; those that violate a constraint come last."""
    goal = connection.execute(select(sweeps.c.goal).where(sweeps.c.id == sweep_id)).scalar_one()
    return FEASIBLE.desc(), trials.c.value.desc() if goal == "maximize" else trials.c.value.asc(), trials.c.number


def _is_member() -> Exists:
    """Whether a trial is in any version of an ensemble that is not retired."""
    return (
        exists()
        .where(
            ensemble_members.c.trial_id == trials.c.id,
            ensembles.c.id == ensemble_members.c.ensemble_id,
            ensembles.c.state != EnsembleState.RETIRED.value,
        )
        .correlate(trials)
    )
