"""Reads the attempts of trials, and which trials run; api."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, case, func, select

from podium.db.queries.trial_column_expressions import HELD_S, NOW
from podium.db.schema.tables import attempts, trials
from podium.db.stores.current_attempt_condition import CURRENT_ATTEMPT
from podium.db.stores.id_list import LISTED, listed
from podium.db.stores.precompiled_sql_statements import DriverSelect
from podium.sweep.values.states import TrialState

MAX_ERROR = 300  # characters of a message in a table
_END = func.coalesce(trials.c.ended_at, NOW)
_TIMES = DriverSelect(
    select(
        trials.c.id,
        case((trials.c.attempt == 0, _END - trials.c.started_at), else_=func.sum(HELD_S)),
        _END - trials.c.created_at,
    )
    .select_from(trials.outerjoin(attempts, attempts.c.trial_id == trials.c.id))
    .where(trials.c.id.in_(LISTED))
    .group_by(trials.c.id)
)


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """An attempt."""

    number: int
    device_id: str
    node: str
    pid: int | None
    visible_devices: str | None
    torch_device: str | None
    import_s: float | None  # time to load the program
    started_at: float
    ended_at: float | None
    devices: float  # how many it has; below 1: its share of one
    device_s: float | None  # device-seconds that it used; None while it holds its devices
    state: str | None
    cause: str | None
    message: str | None
    traceback: str | None
    log_tail: str | None
    exit: str | None
    late_prune_answers: int
    orphans_killed: int
    peak_memory_bytes: int | None  # sum of the peaks of its ranks; None: not measured
    peak_gpu_memory_bytes: int | None
    memory_limit_bytes: int | None  # of each rank: `limits.memory_mb`, or that of its machine
    gpu_memory_limit_bytes: int | None


class AttemptKeyRow(NamedTuple):
    """The current attempt of a trial, which identifies its folder."""

    trial_id: int
    sweep_id: int
    number: int
    attempt: int
    state: str
    nonce: str


def attempts_of(connection: Connection, trial_id: int) -> list[AttemptRow]:
    """All attempts of a trial, first to last."""
    columns = [attempts.c[name] for name in AttemptRow.__dataclass_fields__]
    statement = select(*columns).where(attempts.c.trial_id == trial_id).order_by(attempts.c.number)
    return [AttemptRow(**row._mapping) for row in connection.execute(statement)]


def running(connection: Connection, sweep_id: int, limit: int) -> list[int]:
    """Ids of the running trials of a sweep, newest first."""
    found = select(trials.c.id).where(trials.c.state == TrialState.RUNNING.value, trials.c.sweep_id == sweep_id)
    return list(connection.execute(found.order_by(trials.c.id.desc()).limit(limit)).scalars())


def current_attempts(connection: Connection, trial_ids: Sequence[int]) -> list[AttemptKeyRow]:
    """The current attempts of those of these trials that have started."""
    columns = (trials.c.id, trials.c.sweep_id, trials.c.number, trials.c.attempt, trials.c.state, attempts.c.nonce)
    started = select(*columns).join(attempts, CURRENT_ATTEMPT).where(trials.c.id.in_(trial_ids))
    return [AttemptKeyRow(*row) for row in connection.execute(started)]


def error_messages(connection: Connection, trial_ids: Sequence[int]) -> dict[int, str]:
    """The first line of the failure of the current attempt, by trial; of those of these trials that have one."""
    text = func.substr(attempts.c.message, 1, MAX_ERROR)
    failed = select(trials.c.id, text.label("text")).join(attempts, CURRENT_ATTEMPT)
    rows = connection.execute(failed.where(trials.c.id.in_(trial_ids), attempts.c.cause.is_not(None)))
    return {row.id: row.text.strip().split("\n", 1)[0] for row in rows if row.text}


def running_and_queued_s(
    connection: Connection, trial_ids: Sequence[int]
) -> dict[int, tuple[float | None, float | None]]:
    """How long each of these trials has held a device, and how long it has waited for one, in seconds.

    The values of `RUNNING_S` and `QUEUED_S`, which order and filter, with one look at the attempts of each trial.
    """
    return {
        id_: (running, max(0.0, since_creation - (running or 0.0)))
        for id_, running, since_creation in _TIMES.rows(connection, listed(trial_ids))
    }


def nonce_of(connection: Connection, trial_id: int, number: int) -> str | None:
    """The nonce of the folder of an attempt; None if there is no such attempt."""
    mine = (attempts.c.trial_id == trial_id) & (attempts.c.number == number)
    found: str | None = connection.execute(select(attempts.c.nonce).where(mine)).scalar_one_or_none()
    return found
