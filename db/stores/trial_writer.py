"""Writes trials and attempts; scheduler."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Boolean, Connection, bindparam, case, func, insert, update

from podium.db.schema import dialect
from podium.db.schema.tables import artifacts, attempts, trial_params, trials
from podium.db.schema.tables import enqueued as enqueued_table
from podium.db.stores import (
    event_outbox,
    multi_device_attempt_ranks,
    parameter_columns,
    trial_values_constraints_attributes,
)
from podium.db.stores.event_outbox import NewEvent
from podium.db.stores.parameter_columns import sortable
from podium.db.stores.precompiled_sql_statements import DriverStatement
from podium.sweep.lifecycle.database_changes import (
    ArtifactSaved,
    AttemptEnded,
    AttemptPlaced,
    AttemptReleased,
    AttemptStarted,
    ParamDefined,
    RequestObsolete,
    SearchAttributesChanged,
    TrialDropped,
    TrialPlanned,
    TrialRetried,
)
from podium.sweep.values.attempt_assignment import Scalar
from podium.sweep.values.states import TERMINAL_TRIAL_STATES, TrialState

IMPORTED_FROM = 10**12  # first id of imported trials: the scheduler's ids start at 1
_TERMINAL = [state.value for state in TERMINAL_TRIAL_STATES]

# Executed for every trial.
_PLAN = DriverStatement(
    insert(trials),
    (
        "id", "sweep_id", "number", "state", "attempt", "sampler", "fallback_reason", "fallback_error", "proposed_for",
        "search_attributes", "created_at", *parameter_columns.NAMES,
    ),
)  # fmt: skip
_PARAMS = DriverStatement(insert(trial_params), ("trial_id", "name", "number", "value", "distribution"))
_ATTEMPT = DriverStatement(
    insert(attempts), ("trial_id", "number", "device_id", "node", "started_at", "nonce", "devices")
)
_PLACE = DriverStatement(
    update(trials)
    .where(trials.c.id == bindparam("b_id"), trials.c.state == TrialState.WAITING.value)
    .values(
        state=TrialState.RUNNING.value,
        attempt=bindparam("b_attempt"),
        started_at=func.coalesce(trials.c.started_at, bindparam("b_at")),
    )
)
_START = DriverStatement(
    update(attempts)
    .where(attempts.c.trial_id == bindparam("b_id"), attempts.c.number == bindparam("b_attempt"))
    .values(
        pid=bindparam("b_pid"),
        visible_devices=bindparam("b_visible"),
        torch_device=bindparam("b_torch"),
        import_s=bindparam("b_import_s"),
    )
)
_RELEASE = DriverStatement(
    update(attempts)
    .where(
        attempts.c.trial_id == bindparam("b_id"),
        attempts.c.number == bindparam("b_attempt"),
        attempts.c.ended_at.is_(None),
    )
    .values(device_s=bindparam("b_device_s"))
)
_END_ATTEMPT = DriverStatement(
    update(attempts)
    .where(
        attempts.c.trial_id == bindparam("b_id"),
        attempts.c.number == bindparam("b_attempt"),
        attempts.c.ended_at.is_(None),
    )
    .values(
        ended_at=bindparam("b_at"),
        device_s=bindparam("b_device_s"),
        state=bindparam("b_state"),
        cause=bindparam("b_cause"),
        message=bindparam("b_message"),
        traceback=bindparam("b_traceback"),
        exit=bindparam("b_exit"),
        late_prune_answers=bindparam("b_late"),
        orphans_killed=bindparam("b_orphans"),
        log_tail=bindparam("b_log_tail"),
    )
)
# Fencing: a result counts only if its attempt is the current one and the trial has not ended.
_END_TRIAL = DriverStatement(
    update(trials)
    .where(
        trials.c.id == bindparam("b_id"),
        trials.c.attempt == bindparam("b_attempt"),
        trials.c.state == TrialState.RUNNING.value,
    )
    .values(
        state=bindparam("b_state"),
        value=bindparam("b_value"),
        ended_at=bindparam("b_ended_at"),
        # The request for a trial that waits again is still pending.
        requested=case((bindparam("b_over", type_=Boolean), None), else_=trials.c.requested),
    )
)


def plan(connection: Connection, planned: Sequence[TrialPlanned]) -> None:
    """Add waiting trials with their parameters."""
    in_columns = {
        sweep_id: parameter_columns.names_of(connection, sweep_id) for sweep_id in {trial.sweep_id for trial in planned}
    }
    _PLAN.execute_many(
        connection,
        [
            {
                "id": trial.trial_id,
                "sweep_id": trial.sweep_id,
                "number": trial.number,
                "state": TrialState.WAITING.value,
                "attempt": 0,
                "sampler": trial.sampler,
                "fallback_reason": None if trial.fallback_reason is None else trial.fallback_reason.value,
                "fallback_error": trial.fallback_error,
                "proposed_for": trial.proposed_for,
                "search_attributes": json.dumps(trial.attributes),
                "created_at": trial.at,
                **parameter_columns.values_of(in_columns[trial.sweep_id], trial.params),
            }
            for trial in planned
        ],
    )
    rows = [
        param_row(trial.trial_id, name, value, trial.distributions.get(name))
        for trial in planned
        for name, value in trial.params.items()
    ]
    if rows:
        _PARAMS.execute_many(connection, rows)
    added = [{"b_id": t.enqueued_id, "b_trial": t.trial_id} for t in planned if t.enqueued_id is not None]
    if added:
        statement = update(enqueued_table).where(enqueued_table.c.id == bindparam("b_id"))
        connection.execute(statement.values(trial_id=bindparam("b_trial")), added)


def place(connection: Connection, placed: Sequence[AttemptPlaced]) -> None:
    """Start a new current attempt of each trial on its slot."""
    _ATTEMPT.execute_many(
        connection,
        [
            {
                "trial_id": item.key.trial_id,
                "number": item.key.attempt,
                "device_id": item.device_id,
                "node": item.node,
                "started_at": item.at,
                "nonce": item.nonce,
                "devices": item.width,
            }
            for item in placed
        ],
    )
    multi_device_attempt_ranks.place(connection, placed)
    _PLACE.execute_many(
        connection,
        [{"b_id": item.key.trial_id, "b_attempt": item.key.attempt, "b_at": item.at} for item in placed],
    )
    event_outbox.add(
        connection,
        [
            NewEvent(
                item.at, "trial.running", item.sweep_id, item.key.trial_id,
                payload={"number": item.number, "attempt": item.key.attempt, "device": item.device_id},
            )
            for item in placed
        ],
    )  # fmt: skip


def start(connection: Connection, started: Sequence[AttemptStarted]) -> None:
    """Record what the trial processes reported at start."""
    rows = [
        {
            "b_id": item.event.key.trial_id,
            "b_attempt": item.event.key.attempt,
            "b_pid": item.event.pid,
            "b_visible": item.event.visible_devices,
            "b_torch": item.event.torch_device,
            "b_import_s": item.event.import_s,
        }
        for item in started
    ]
    _START.execute_many(connection, rows)


def store_attributes(connection: Connection, notes: Sequence[SearchAttributesChanged]) -> None:
    """Store the state of sampler and pruner for trials."""
    statement = update(trials).where(trials.c.id == bindparam("b_id"))
    connection.execute(
        statement.values(search_attributes=bindparam("b_notes")),
        [{"b_id": item.trial_id, "b_notes": json.dumps(item.attributes)} for item in notes],
    )


def define(connection: Connection, defined: Sequence[ParamDefined]) -> None:
    """Store parameters that trials suggested at run time; the last value counts."""
    statement = dialect.insert(trial_params)
    statement = statement.on_conflict_do_update(
        index_elements=["trial_id", "name"],
        set_={name: statement.excluded[name] for name in ("number", "value", "distribution")},
    )
    connection.execute(statement, [param_row(d.trial_id, d.name, d.value, d.distribution) for d in defined])


def param_row(trial_id: int, name: str, value: Scalar, distribution: dict[str, Any] | None) -> dict[str, Any]:
    """A row of `trial_params`."""
    return {
        "trial_id": trial_id,
        "name": name,
        "number": sortable(value),
        "value": json.dumps(value),
        "distribution": None if distribution is None else json.dumps(distribution),
    }


def store_artifacts(connection: Connection, saved: Sequence[ArtifactSaved]) -> None:
    """Record saved files of trials; a file of a later attempt replaces that of an earlier one."""
    statement = dialect.insert(artifacts)
    statement = statement.on_conflict_do_update(
        index_elements=["trial_id", "name"],
        set_={name: statement.excluded[name] for name in ("attempt", "sha256", "size_bytes")},
    )
    rows = [
        {
            "trial_id": item.event.key.trial_id,
            "attempt": item.event.key.attempt,
            "name": item.event.name,
            "sha256": item.event.sha256,
            "size_bytes": item.event.size_bytes,
        }
        for item in saved
    ]
    connection.execute(statement, rows)


def release(connection: Connection, released: Sequence[AttemptReleased]) -> None:
    """Record that attempts have left their devices: their device time is known before their end."""
    rows = [
        {"b_id": item.key.trial_id, "b_attempt": item.key.attempt, "b_device_s": item.device_s} for item in released
    ]
    _RELEASE.execute_many(connection, rows)
    event_outbox.add(
        connection,
        [
            NewEvent(
                item.at, event_outbox.TRIAL_SENDING, item.sweep_id, item.key.trial_id,
                payload={"number": item.number, "attempt": item.key.attempt},
            )
            for item in released
        ],
    )  # fmt: skip


def end(connection: Connection, ended: Sequence[AttemptEnded]) -> None:
    """End attempts; each trial ends too, or waits for another attempt."""
    rows = [_ended_row(item) for item in ended]
    _END_ATTEMPT.execute_many(
        connection, [row | {"b_state": item.event.state.value} for row, item in zip(rows, ended, strict=True)]
    )
    # The fencing rejects the others.
    counted = [item for row, item in zip(rows, ended, strict=True) if _END_TRIAL.execute(connection, row).rowcount]
    for item in counted:
        if item.state in TERMINAL_TRIAL_STATES:
            trial_values_constraints_attributes.add(connection, item)
    event_outbox.add(connection, [_ended_event(item) for item in counted])


def _ended_event(item: AttemptEnded) -> NewEvent:
    payload: dict[str, object] = {"number": item.number, "value": item.event.value, "cause": item.event.cause}
    if item.objectives and item.state is TrialState.FINISHED:
        payload["values"] = list(item.event.values or ())
    return NewEvent(item.event.ended_at, f"trial.{item.state}", item.sweep_id, item.event.key.trial_id, payload=payload)


def _ended_row(item: AttemptEnded) -> dict[str, Any]:
    event, over = item.event, item.state in TERMINAL_TRIAL_STATES
    return {
        "b_id": event.key.trial_id,
        "b_attempt": event.key.attempt,
        "b_at": event.ended_at,
        "b_device_s": item.device_s,
        "b_ended_at": event.ended_at if over else None,
        "b_state": item.state.value,
        "b_value": event.value if item.state is TrialState.FINISHED else None,
        "b_cause": event.cause,
        "b_message": event.message,
        "b_traceback": event.traceback,
        "b_exit": event.exit,
        "b_late": event.late_prune_answers,
        "b_orphans": event.orphans_killed,
        "b_log_tail": event.log_tail or None,
        "b_over": over,
    }


def drop(connection: Connection, dropped: Sequence[TrialDropped]) -> None:
    """Cancel waiting trials."""
    statement = update(trials).where(trials.c.id == bindparam("b_id"), trials.c.state == TrialState.WAITING.value)
    connection.execute(
        statement.values(state=TrialState.CANCELLED.value, ended_at=bindparam("b_at"), requested=None),
        [{"b_id": item.trial_id, "b_at": item.at} for item in dropped],
    )
    _add_events(connection, dropped, TrialState.CANCELLED)


def retry(connection: Connection, retried: Sequence[TrialRetried]) -> None:
    """Let failed or cancelled trials wait again; previous failures are not counted."""
    statement = update(trials).where(
        trials.c.id == bindparam("b_id"),
        trials.c.state.in_([TrialState.FAILED.value, TrialState.CANCELLED.value]),
    )
    connection.execute(
        statement.values(
            state=TrialState.WAITING.value, value=None, ended_at=None, requested=None, forgiven=trials.c.attempt
        ),
        [{"b_id": item.trial_id} for item in retried],
    )
    trial_values_constraints_attributes.forget(connection, [item.trial_id for item in retried])
    _add_events(connection, retried, TrialState.WAITING)


def clear_requests(connection: Connection, moot: Sequence[RequestObsolete]) -> None:
    """Clear requests that no longer apply."""
    statement = update(trials).where(trials.c.id == bindparam("b_id"))
    connection.execute(statement.values(requested=None), [{"b_id": item.trial_id} for item in moot])


def _add_events(connection: Connection, changed: Sequence[TrialDropped | TrialRetried], state: TrialState) -> None:
    event_outbox.add(
        connection,
        [
            NewEvent(item.at, f"trial.{state}", item.sweep_id, item.trial_id, payload={"number": item.number})
            for item in changed
        ],
    )
