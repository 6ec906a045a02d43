"""Reads trials with parameters, values, tags and the current attempt; api."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, bindparam, select

from podium.db.schema.tables import attempts, enqueued, trials
from podium.db.stores import trial_annotations, trial_values_constraints_attributes
from podium.db.stores.current_attempt_condition import CURRENT_ATTEMPT
from podium.db.stores.id_list import LISTED, listed
from podium.db.stores.precompiled_sql_statements import DriverSelect
from podium.db.stores.trial_params import params_of_trials
from podium.sweep.values.attempt_assignment import Params
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
    peak_memory_bytes: int | None = None  # of the current attempt: sum of the peaks of its ranks
    peak_gpu_memory_bytes: int | None = None


# In the order in which `read` unpacks them.
_OF_TRIAL = (
    "id", "sweep_id", "number", "state", "value", "sampler", "attempt", "requested", "created_at", "started_at",
    "ended_at", "fallback_reason", "fallback_error", "proposed_for",
)  # fmt: skip
_OF_ATTEMPT = ("device_id", "cause", "peak_memory_bytes", "peak_gpu_memory_bytes")
_OF_LISTED = DriverSelect(
    select(*(trials.c[name] for name in _OF_TRIAL), *(attempts.c[name] for name in _OF_ATTEMPT))
    .select_from(trials.outerjoin(attempts, CURRENT_ATTEMPT))
    .where(trials.c.id.in_(LISTED))
)
_EXISTS = DriverSelect(select(trials.c.id).where(trials.c.id == bindparam("trial")))
_STATES = {state.value: state for state in TrialState}


def check_exists(connection: Connection, trial_id: int) -> None:
    """Raises `NotFoundError` if there is no such trial."""
    if not _EXISTS.rows(connection, {"trial": trial_id}):
        raise NotFoundError(f"there is no trial {trial_id}")


def get(connection: Connection, trial_id: int) -> TrialRow:
    """One trial. Raises `NotFoundError`."""
    found = read(connection, [trial_id])
    if not found:
        raise NotFoundError(f"there is no trial {trial_id}")
    return replace(found[0], note=trial_annotations.note_of(connection, trial_id))


def read(connection: Connection, trial_ids: Sequence[int]) -> list[TrialRow]:
    """These trials, in the order of their ids in the list; unknown ones are left out."""
    rows = {row[0]: row for row in _OF_LISTED.rows(connection, listed(trial_ids))}
    params = params_of_trials(connection, trial_ids)
    notes = trial_values_constraints_attributes.details_of(connection, trial_ids, user_attrs=True)
    tags = trial_annotations.tags_of(connection, trial_ids)
    return [
        TrialRow(
            id=id_,
            sweep_id=sweep_id,
            number=number,
            state=_STATES[state],
            value=value,
            params=params.get(id_, {}),
            sampler=sampler,
            attempt=attempt,
            requested=None if requested is None else TrialRequest(requested),
            device_id=device_id,
            cause=cause,
            created_at=created_at,
            started_at=started_at,
            ended_at=ended_at,
            values=notes.values.get(id_),
            constraints=notes.constraints.get(id_, {}),
            user_attrs=notes.user_attrs.get(id_, {}),
            tags=tags.get(id_, []),
            fallback_reason=None if reason is None else FallbackReason(reason),
            fallback_error=error,
            proposed_for=proposed_for,
            peak_memory_bytes=peak,
            peak_gpu_memory_bytes=gpu_peak,
        )
        # By position: access by name costs a microsecond, 2 ms for 100 trials.
        for (
            id_, sweep_id, number, state, value, sampler, attempt, requested, created_at, started_at, ended_at, reason,
            error, proposed_for, device_id, cause, peak, gpu_peak,
        ) in (rows[trial_id] for trial_id in trial_ids if trial_id in rows)
    ]  # fmt: skip


def cloned_from(connection: Connection, trial_id: int) -> int | None:
    """The trial that a client cloned to create this one; None otherwise."""
    found: int | None = connection.execute(
        select(enqueued.c.cloned_from).where(enqueued.c.trial_id == trial_id)
    ).scalar_one_or_none()
    return found
