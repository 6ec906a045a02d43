"""Commands of clients for sweeps, validated and written in one transaction: pause, stop, extend; api."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, func, select, update

from podium.db.schema.tables import enqueued, trials
from podium.db.schema.tables import sweeps as sweep_table
from podium.db.stores import budget_and_best_history, event_outbox, sweeps
from podium.db.stores.event_outbox import NewEvent
from podium.db.stores.sweeps import SweepRow
from podium.sweep.lifecycle.allowed_commands import SweepCommand, next_sweep_state
from podium.sweep.lifecycle.budget_usage import BudgetTerms, continuation_advice, exhausted_reason
from podium.sweep.lifecycle.database_changes import SweepChanged
from podium.sweep.spec.program import ImportedProgram
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.errors import ConflictError, NotPossibleError
from podium.sweep.values.states import (
    COUNTED_TRIAL_STATES,
    TERMINAL_SWEEP_STATES,
    TERMINAL_TRIAL_STATES,
    SweepState,
    TrialRequest,
)

_REASON = {
    SweepCommand.PAUSE: "paused on request",
    SweepCommand.STOP: "stopped on request",
    SweepCommand.CANCEL: "cancelled on request",
}


def command_sweep(connection: Connection, sweep_id: int, command: SweepCommand, at: float) -> None:
    """Pause, resume, stop or cancel a sweep.

    Raises `NotFoundError`, and `NotPossibleError` in a state that does not allow it.
    """
    row = sweeps.get(connection, sweep_id)
    check_runs_here(row)
    state = next_sweep_state(command, row.state, started=_started(row))
    if row.held and command is SweepCommand.STOP:
        message = (
            f"sweep {row.id} waits for other sweeps and has no results that a stop would keep; cancel or release it"
        )
        raise NotPossibleError(message, ("release", SweepCommand.CANCEL))
    _set_state(connection, row, state, reason=_REASON.get(command, "resumed on request"), at=at)


def extend(
    connection: Connection, sweep_id: int, run_cap: int | None, priority: float | None, at: float,
    terms: BudgetTerms | None = None,
) -> None:  # fmt: skip
    """Raise the number of trials, change the priority, or change the `terms` that are set.

    A finished or stopping sweep resumes if cap and budget allow. Raises `NotFoundError`, `NotPossibleError`, and
    `ConflictError` for a lower cap or a spent budget.
    """
    row = sweeps.get(connection, sweep_id)
    check_runs_here(row)
    state = next_sweep_state(SweepCommand.EXTEND, row.state, started=_started(row))
    if run_cap is not None and run_cap < row.run_cap:
        raise ConflictError(f"run_cap is {row.run_cap} and can only go up, not down to {run_cap}")
    cap, before = run_cap or row.run_cap, BudgetTerms.read(row.terms)
    after = before if terms is None else before.changed(terms)
    if (run_cap is None and after == before) or cap <= _counted(row):
        state = row.state  # nothing more to run
    elif row.state is SweepState.RUNNING and _planned(connection, row) >= row.run_cap < cap:
        # The scheduler may be about to end the sweep, which it does only for a running one.
        state = SweepState.QUEUED
    elif state is not row.state:
        _check_not_exhausted(connection, row, after, at)
    values = {"run_cap": cap, "priority": priority or row.priority, "terms": after.to_json()}
    _change_terms(connection, row, values, at)
    _set_state(
        connection,
        row,
        state,
        reason=f"extended to {cap} trials" if after == before else "its budget was changed",
        at=at,
    )


def check_runs_here(row: SweepRow) -> None:
    """Raises `NotPossibleError` for an imported sweep."""
    if isinstance(spec_from_json(row.spec_json).program, ImportedProgram):
        message = f"sweep {row.id} was imported and cannot run; submit a sweep with `warm_start: [{row.id}]`"
        raise NotPossibleError(message, ())


def _check_not_exhausted(connection: Connection, row: SweepRow, terms: BudgetTerms, at: float) -> None:
    """Raises `ConflictError` if the sweep would end again immediately."""
    used = budget_and_best_history.used(connection, row, terms, at)
    if reason := exhausted_reason(terms, used):
        raise ConflictError(f"{reason}; {continuation_advice(terms, used)} to resume the sweep")


def _change_terms(connection: Connection, row: SweepRow, values: dict[str, Any], at: float) -> None:
    changed = {name: value for name, value in values.items() if value != getattr(row, name)}
    if changed:
        connection.execute(update(sweep_table).where(sweep_table.c.id == row.id).values(changed))
        shown = {name: values.get(name, getattr(row, name)) for name in ("run_cap", "priority")}
        budget = {"budget": json.loads(values["terms"])} if "terms" in changed else {}
        event_outbox.add(connection, [NewEvent(at, "sweep.extended", row.id, payload=shown | budget)])


def _set_state(connection: Connection, row: SweepRow, state: SweepState, reason: str, at: float) -> None:
    if state is not row.state:
        sweeps.change(
            connection, [SweepChanged(sweep_id=row.id, old_state=row.state, state=state, reason=reason, at=at)]
        )


def _started(row: SweepRow) -> bool:
    return row.started_at is not None


def _counted(row: SweepRow) -> int:
    return sum(row.counts.get(state, 0) for state in COUNTED_TRIAL_STATES)


def _planned(connection: Connection, row: SweepRow) -> int:
    """The number of counted trials, open trials, and trials requested to be retried or added."""
    open_trials = sum(count for state, count in row.counts.items() if state not in TERMINAL_TRIAL_STATES)
    retried = select(func.count()).where(
        trials.c.sweep_id == row.id,
        trials.c.requested == TrialRequest.RETRY.value,
        trials.c.state.in_([state.value for state in TERMINAL_TRIAL_STATES]),
    )
    added = select(func.count()).where(enqueued.c.sweep_id == row.id, enqueued.c.trial_id.is_(None))
    wanted: int = connection.execute(retried).scalar_one() + connection.execute(added).scalar_one()
    return _counted(row) + open_trials + wanted


def allow_one_more(connection: Connection, row: SweepRow, reason: str, at: float) -> None:
    """Let a sweep run one more trial: raises the cap if needed; an ended sweep resumes for this trial only."""
    needed = _planned(connection, row) + 1
    if row.state not in TERMINAL_SWEEP_STATES:
        needed = max(row.run_cap, needed)
    _change_terms(connection, row, {"run_cap": needed}, at)
    if row.state in TERMINAL_SWEEP_STATES:
        _set_state(connection, row, SweepState.QUEUED, reason=reason, at=at)
