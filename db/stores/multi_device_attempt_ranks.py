"""The devices and ranks of attempts that have several devices; scheduler, api and nodes process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, bindparam, insert, select, update

from podium.db.schema.tables import attempt_ranks, trials
from podium.sweep.lifecycle.database_changes import AttemptPlaced, RankEnded
from podium.sweep.lifecycle.stored_sweeps import StoredRank
from podium.sweep.protocol.scheduler_slot_messages import event_from_json, event_to_json
from podium.sweep.values.device import GangDevice
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import TrialState


@dataclass(frozen=True, slots=True)
class RankRow:
    """One device of an attempt that has several, and the rank on it. Without a process of its own, it has no end."""

    rank: int
    device_id: str
    node: str
    ended_at: float | None
    state: str | None
    cause: str | None
    message: str | None
    exit: str | None
    pid: int | None
    peak_memory_bytes: int | None
    peak_gpu_memory_bytes: int | None


def place(connection: Connection, placed: Sequence[AttemptPlaced]) -> None:
    """Add the devices of the attempts that have several."""
    rows = [
        {
            "trial_id": item.key.trial_id,
            "number": item.key.attempt,
            "rank": rank,
            "device_id": device.device_id,
            "node": device.node,
            "started_at": item.at,
        }
        for item in placed
        for rank, device in enumerate(item.devices)
    ]
    if rows:
        connection.execute(insert(attempt_ranks), rows)


def end(connection: Connection, ended: Sequence[RankEnded]) -> None:
    """Record the ends of ranks; the first one of each counts."""
    statement = update(attempt_ranks).where(
        attempt_ranks.c.trial_id == bindparam("b_trial"),
        attempt_ranks.c.number == bindparam("b_number"),
        attempt_ranks.c.rank == bindparam("b_rank"),
        attempt_ranks.c.ended_at.is_(None),
    )
    rows = [
        {
            "b_trial": item.key.trial_id,
            "b_number": item.key.attempt,
            "b_rank": item.rank,
            "ended_at": item.event.ended_at,
            "state": item.event.state.value,
            "cause": item.event.cause,
            "message": item.event.message,
            "exit": item.event.exit,
            "pid": item.event.pid,
            "event": json.dumps(event_to_json(item.event)),
        }
        for item in ended
    ]
    connection.execute(statement, rows)


def of_trial(connection: Connection, trial_id: int) -> dict[int, list[RankRow]]:
    """The ranks of the attempts of a trial, by attempt."""
    columns = [attempt_ranks.c[name] for name in RankRow.__dataclass_fields__]
    statement = select(attempt_ranks.c.number, *columns).where(attempt_ranks.c.trial_id == trial_id)
    found: dict[int, list[RankRow]] = {}
    for number, *values in connection.execute(statement.order_by(attempt_ranks.c.number, attempt_ranks.c.rank)):
        found.setdefault(number, []).append(RankRow(*values))
    return found


def device_ids(connection: Connection, trial_id: int, attempt: int) -> list[str]:
    """The devices of an attempt, in the order of ranks, if it has several."""
    mine = (attempt_ranks.c.trial_id == trial_id) & (attempt_ranks.c.number == attempt)
    statement = select(attempt_ranks.c.device_id).where(mine).order_by(attempt_ranks.c.rank)
    return list(connection.execute(statement).scalars())


def devices_of_trials(connection: Connection, trial_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """The devices of the last attempts, in the order of ranks, of those of these trials that have several."""
    current = (trials.c.id == attempt_ranks.c.trial_id) & (trials.c.attempt == attempt_ranks.c.number)
    statement = (
        select(attempt_ranks.c.trial_id, attempt_ranks.c.device_id)
        .join(trials, current)
        .where(attempt_ranks.c.trial_id.in_(trial_ids))
        .order_by(attempt_ranks.c.trial_id, attempt_ranks.c.rank)
    )
    found: dict[int, tuple[str, ...]] = {}
    for trial_id, device_id in connection.execute(statement):
        found[trial_id] = (*found.get(trial_id, ()), device_id)
    return found


def of_open_attempts(connection: Connection, which: ColumnElement[bool]) -> dict[int, tuple[StoredRank, ...]]:
    """The devices of the attempts of running trials, in the order of ranks, by trial. `which`: of the trials."""
    statement = (
        select(attempt_ranks.c.trial_id, attempt_ranks.c.device_id, attempt_ranks.c.node, attempt_ranks.c.event)
        .join(trials, (trials.c.id == attempt_ranks.c.trial_id) & (trials.c.attempt == attempt_ranks.c.number))
        .where(which, trials.c.state == TrialState.RUNNING.value)
        .order_by(attempt_ranks.c.trial_id, attempt_ranks.c.rank)
    )
    found: dict[int, list[StoredRank]] = {}
    for trial_id, device_id, node, event in connection.execute(statement):
        ended = None if event is None else event_from_json(json.loads(event))
        assert ended is None or isinstance(ended, Ended)
        found.setdefault(trial_id, []).append(StoredRank(GangDevice(device_id, node), ended))
    return {trial_id: tuple(ranks) for trial_id, ranks in found.items()}
