"""Commands of clients for trials, validated and written in one transaction: stop, retry, clone, annotate; api."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from podium.db.schema.tables import enqueued, trial_params, trials
from podium.db.stores import event_outbox, sweep_command_writer, sweeps, trial_annotations, trial_reader
from podium.db.stores.event_outbox import NewEvent
from podium.db.stores.trial_params import distributions_of
from podium.db.stores.trial_reader import TrialRow
from podium.sweep.lifecycle.allowed_commands import (
    TrialCommand,
    check_accepts_trials,
    cloned_params,
    next_trial_request,
)
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.attempt_assignment import Params, Scalar
from podium.sweep.values.errors import ConflictError
from podium.sweep.values.note_and_tag_checks import check_count, checked_note, checked_tags
from podium.sweep.values.states import TrialRequest


@dataclass(frozen=True, slots=True)
class EnqueuedRow:
    """A configuration added to a sweep; `trial_id` is set once the trial exists."""

    id: int
    sweep_id: int
    params: Params
    cloned_from: int | None
    trial_id: int | None


def command_trial(connection: Connection, trial_id: int, command: TrialCommand, at: float) -> None:
    """Request the stop or retry of a trial. Raises `NotFoundError`, and `NotPossibleError`."""
    trial = trial_reader.get(connection, trial_id)
    row = sweeps.get(connection, trial.sweep_id)
    sweep_command_writer.check_runs_here(row)
    request = next_trial_request(command, trial.state, trial.requested, row.state)
    if request is None:
        return
    if request is TrialRequest.RETRY:
        sweep_command_writer.allow_one_more(connection, row, f"trial {trial.number} is retried", at)
    connection.execute(update(trials).where(trials.c.id == trial_id).values(requested=request.value))
    _add_event(connection, trial, {"request": request.value}, at)


def clone(
    connection: Connection, trial_id: int, changed: Mapping[str, Scalar], at: float, idempotency_key: str | None = None
) -> tuple[EnqueuedRow, bool]:
    """Add a copy of a trial's configuration with some values changed; returns it, and whether it is new.

    The same key and request return the same one. Raises `NotFoundError`, `NotPossibleError`, `InvalidSpecError` for
    invalid values, and `ConflictError` for a key that was used for another request.
    """
    trial = trial_reader.get(connection, trial_id)
    row = sweeps.get(connection, trial.sweep_id)
    sweep_command_writer.check_runs_here(row)
    distributions = distributions_of(connection, trial_params.c.trial_id == trial_id).get(trial_id, {})
    params = cloned_params(spec_from_json(row.spec_json), trial.params, changed, distributions)
    known = None if idempotency_key is None else _by_key(connection, idempotency_key)
    if known is not None:
        if (known.cloned_from, known.params) != (trial_id, params):
            raise ConflictError("this Idempotency-Key was used for another clone; choose a new one")
        return known, False
    check_accepts_trials(TrialCommand.CLONE, row.state)
    sweep_command_writer.allow_one_more(connection, row, f"trial {trial.number} is cloned", at)
    values = {
        "sweep_id": row.id,
        "params": json.dumps(params),
        "distributions": json.dumps(distributions),
        "cloned_from": trial_id,
        "idempotency_key": idempotency_key,
        "created_at": at,
    }
    (added,) = connection.execute(insert(enqueued).values(values).returning(enqueued.c.id)).one()
    _add_event(connection, trial, {"request": TrialCommand.CLONE.value, "enqueued_id": added, "params": params}, at)
    return EnqueuedRow(id=added, sweep_id=row.id, params=params, cloned_from=trial_id, trial_id=None), True


def annotate(
    connection: Connection,
    trial_id: int,
    at: float,
    *,
    note: str | None = None,
    tags: Sequence[str] | None = None,
    added: Sequence[str] = (),
    removed: Sequence[str] = (),
) -> None:
    """Set the note ("": none) or the tags of a trial, or add and remove tags.

    Raises `NotFoundError`, and `InvalidSpecError` for an invalid note or tag, or too many tags.
    """
    trial = trial_reader.get(connection, trial_id)
    payload: dict[str, object] = {"number": trial.number}
    if note is not None and (text := checked_note(note)) != trial.note:
        trial_annotations.set_note(connection, trial_id, text, at)
        payload["note"] = text
    wanted = set(trial.tags if tags is None else checked_tags(tags))
    wanted = wanted - set(checked_tags(removed, "remove_tags")) | set(checked_tags(added, "add_tags"))
    if wanted != set(trial.tags):
        check_count(wanted)
        trial_annotations.set_tags(connection, trial_id, sorted(wanted))
        payload["tags"] = sorted(wanted)
    if len(payload) > 1:
        trial_annotations.add_event(connection, trial.sweep_id, trial_id, payload=payload, at=at)


def _by_key(connection: Connection, idempotency_key: str) -> EnqueuedRow | None:
    found = connection.execute(select(enqueued).where(enqueued.c.idempotency_key == idempotency_key)).one_or_none()
    if found is None:
        return None
    return EnqueuedRow(
        id=found.id,
        sweep_id=found.sweep_id,
        params=json.loads(found.params),
        cloned_from=found.cloned_from,
        trial_id=found.trial_id,
    )


def _add_event(connection: Connection, trial: TrialRow, payload: dict[str, object], at: float) -> None:
    payload = {"number": trial.number, **payload}
    event_outbox.add(connection, [NewEvent(at, "trial.requested", trial.sweep_id, trial.id, payload=payload)])
