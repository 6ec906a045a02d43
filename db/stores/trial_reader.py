"""Reads trials with parameters, values, tags and the current attempt; api."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, select

from podium.db.schema.tables import attempts, trial_params, trials
from podium.db.stores import trial_annotations, trial_values_and_attributes
from podium.db.stores.restored_trials import params_of
from podium.sweep.values.assignment import Params
from podium.sweep.values.errors import NotFoundError
from podium.sweep.values.search_messages import FallbackReason
from podium.sweep.values.states import TrialRequest, TrialState


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A trial with its current attempt."""

    id: int
    sweep_id: int
    number: int
    state: TrialState
    value: float | None
    params: Params
    sampler: str
    attempt: int
    requested: TrialRequest | None  # pending request of a client
    device_id: str | None  # of the current attempt
    cause: str | None  # why the current attempt failed
    created_at: float
    started_at: float | None
    ended_at: float | None
    values: dict[str, float] | None = None  # by metric, of a finished trial with several objectives
    constraints: dict[str, float] = field(default_factory=dict)
    user_attrs: dict[str, Any] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)  # sorted
    note: str = ""  # only set by `get`
    fallback_reason: FallbackReason | None = None  # why it was sampled at random instead of by the method
    fallback_error: str | None = None
    proposed_for: int | None = None  # number of the earlier trial that its parameters were proposed for


def get(connection: Connection, trial_id: int) -> TrialRow:
    """One trial. Raises `NotFoundError`."""
    found = select_trials(connection, trials.c.id == trial_id)
    if not found:
        raise NotFoundError(f"there is no trial {trial_id}")
    return replace(found[0], note=trial_annotations.note_of(connection, trial_id))


def select_trials(
    connection: Connection,
    where: ColumnElement[bool],
    *,
    limit: int | None = None,
    order: tuple[ColumnElement[Any], ...] = (trials.c.number,),
) -> list[TrialRow]:
    """The trials that match `where`, sorted by `order`."""
    current = and_(attempts.c.trial_id == trials.c.id, attempts.c.number == trials.c.attempt)
    statement = (
        select(trials, attempts.c.device_id, attempts.c.cause)
        .select_from(trials.outerjoin(attempts, current))
        .where(where)
        .order_by(*order)
        .limit(limit)
    )
    rows = connection.execute(statement).all()
    params = params_of(connection, trial_params.c.trial_id.in_([row.id for row in rows]))
    notes = trial_values_and_attributes.details_of(connection, [row.id for row in rows], user_attrs=True)
    tags = trial_annotations.tags_of(connection, [row.id for row in rows])
    return [
        TrialRow(
            id=row.id,
            sweep_id=row.sweep_id,
            number=row.number,
            state=TrialState(row.state),
            value=row.value,
            params=params.get(row.id, {}),
            sampler=row.sampler,
            attempt=row.attempt,
            requested=None if row.requested is None else TrialRequest(row.requested),
            device_id=row.device_id,
            cause=row.cause,
            created_at=row.created_at,
            started_at=row.started_at,
            ended_at=row.ended_at,
            values=notes.values.get(row.id),
            constraints=notes.constraints.get(row.id, {}),
            user_attrs=notes.user_attrs.get(row.id, {}),
            tags=tags.get(row.id, []),
            fallback_reason=None if row.fallback_reason is None else FallbackReason(row.fallback_reason),
            fallback_error=row.fallback_error,
            proposed_for=row.proposed_for,
        )
        for row in rows
    ]
