"""Changes a sweep: pause, resume, stop, cancel, release, extend; api."""

from __future__ import annotations

import time

from podium.api.http.service_context import ServiceContext
from podium.db.stores import sweep_command_writer, sweep_predecessors
from podium.sweep.lifecycle.allowed_commands import SweepCommand
from podium.sweep.lifecycle.budget_usage import BudgetTerms


def command_sweep(service: ServiceContext, sweep_id: int, command: SweepCommand) -> None:
    """Raises `NotFoundError`, and `NotPossibleError` in a state that does not allow the command."""
    with service.database.write() as connection:
        sweep_command_writer.command_sweep(connection, sweep_id, command, time.time())
    service.wake("scheduler")


def release_sweep(service: ServiceContext, sweep_id: int) -> None:
    """Let a sweep start although not all of its predecessors have finished.

    Raises `NotFoundError`, `NotPossibleError`, and `ConflictError` if `fix_from` has no usable values.
    """
    with service.database.write() as connection:
        sweep_predecessors.release_for_client(connection, sweep_id, time.time())
    service.wake("scheduler")


def extend_sweep(
    service: ServiceContext, sweep_id: int, *, run_cap: int | None, priority: float | None, terms: BudgetTerms | None
) -> None:
    """Raise the trial cap of a sweep, or change its priority, budget or target; None leaves a value unchanged.

    Raises `NotFoundError`, `NotPossibleError`, and `ConflictError` for a lower cap or an exhausted budget.
    """
    with service.database.write() as connection:
        sweep_command_writer.extend(connection, sweep_id, run_cap, priority, at=time.time(), terms=terms)
    service.wake("scheduler")
