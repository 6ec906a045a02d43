"""Reads the requests and configurations of clients that the scheduler has not executed yet; scheduler."""

from __future__ import annotations

import json

from sqlalchemy import Connection, select

from podium.db.queries.scheduler_recovery import stored_trials
from podium.db.schema.tables import enqueued as enqueued_table
from podium.db.schema.tables import sweeps, trials
from podium.sweep.lifecycle.pending_commands import Enqueued, TrialCommandRequest
from podium.sweep.values.states import SweepState, TrialRequest


def pending_requests(connection: Connection) -> tuple[TrialCommandRequest, ...]:
    """The pending requests for trials."""
    statement = select(trials.c.id, trials.c.sweep_id, trials.c.requested, sweeps.c.state).join(sweeps)
    rows = connection.execute(statement.where(trials.c.requested.is_not(None))).all()
    return tuple(
        TrialCommandRequest(row.sweep_id, TrialRequest(row.requested), trial, row.state == SweepState.CANCELLED.value)
        for row in sorted(rows, key=lambda row: row.id)  # ordered in SQL, it would walk through all trials
        for trial in stored_trials(connection, row.sweep_id, row.id)
    )


def enqueued(connection: Connection) -> tuple[Enqueued, ...]:
    """The configurations that clients added and that are not trials yet."""
    over = (SweepState.CANCELLED.value, SweepState.FAILED.value)
    open_ones = select(enqueued_table).join(sweeps).where(enqueued_table.c.trial_id.is_(None))
    statement = open_ones.where(sweeps.c.state.not_in(over)).order_by(enqueued_table.c.id)
    return tuple(
        Enqueued(row.id, row.sweep_id, json.loads(row.params), json.loads(row.distributions))
        for row in connection.execute(statement)
    )
