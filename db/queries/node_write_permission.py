"""Whether an attempt runs on a node, which then may write its files; nodes process."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Connection, select

from podium.db.schema.tables import attempts, trials
from podium.db.stores import multi_device_attempt_ranks
from podium.sweep.runtime.attempt_directory import attempt_of_folder
from podium.sweep.values.device import is_remote

AttemptOnNode = Literal["unknown", "running", "over"]


def state_on_node(connection: Connection, sweep_id: int, number: int, folder: str) -> AttemptOnNode:
    """`running` for an attempt that runs on a node; `over` after its end, also for one on the head."""
    attempt, nonce = attempt_of_folder(folder)
    query = (
        select(attempts.c.trial_id, attempts.c.device_id, attempts.c.ended_at, attempts.c.nonce)
        .join(trials, trials.c.id == attempts.c.trial_id)
        .where(trials.c.sweep_id == sweep_id, trials.c.number == number, attempts.c.number == attempt)
    )
    row = connection.execute(query).first()
    if row is None:
        return "unknown"
    devices = (row.device_id, *multi_device_attempt_ranks.device_ids(connection, row.trial_id, attempt))
    runs = row.ended_at is None and row.nonce == nonce and any(map(is_remote, devices))
    return "running" if runs else "over"
