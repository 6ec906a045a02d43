"""Changes a trial: stop, retry, clone, annotate; api."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from podium.api.http.service_context import ServiceContext
from podium.db.stores import trial_command_writer
from podium.db.stores.trial_command_writer import EnqueuedRow
from podium.sweep.lifecycle.allowed_commands import TrialCommand
from podium.sweep.values.attempt_assignment import Scalar


def command_trial(service: ServiceContext, trial_id: int, command: TrialCommand) -> None:
    """Stop or retry a trial. Raises `NotFoundError`, and `NotPossibleError` in a state that does not allow it."""
    with service.database.write() as connection:
        trial_command_writer.command_trial(connection, trial_id, command, time.time())
    service.wake("scheduler")


def clone_trial(
    service: ServiceContext, trial_id: int, changes: Mapping[str, Scalar], idempotency_key: str | None
) -> tuple[EnqueuedRow, bool]:
    """Add the parameters of a trial, with some changed, to its sweep again; whether the configuration is new.

    Raises `NotFoundError`, `NotPossibleError`, `InvalidSpecError` for invalid values, and `ConflictError` for a key
    used with another request.
    """
    with service.database.write() as connection:
        found = trial_command_writer.clone(connection, trial_id, changes, time.time(), idempotency_key=idempotency_key)
    service.wake("scheduler")
    return found


def annotate_trial(
    service: ServiceContext,
    trial_id: int,
    *,
    note: str | None,
    tags: Sequence[str] | None,
    added: Sequence[str],
    removed: Sequence[str],
) -> None:
    """Set the note of a trial, replace its tags, or add and remove tags. Raises `NotFoundError`, `InvalidSpecError`."""
    with service.database.write() as connection:
        trial_command_writer.annotate(
            connection, trial_id, time.time(), note=note, tags=tags, added=added, removed=removed
        )
