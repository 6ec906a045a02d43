"""What sweeps are doing at the moment: on which devices, and how long their trials take; api."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, func, literal_column, select

from podium.db.schema.tables import attempts, trials
from podium.sweep.values.trial import COUNTED, TrialState

_RECENT = 20  # trials, of those that count: how long the next ones will take
_COUNTED = [state.value for state in COUNTED]
# Spelled out, not bound: only so does SQLite know that the index of what runs is enough.
_RUNS = trials.c.state == literal_column(f"'{TrialState.RUNNING}'")


@dataclass(frozen=True, slots=True)
class Going:
    """The devices that a sweep's trials run on, and how long its recent ones took, in the mean."""

    devices: tuple[str, ...] = ()
    trial_s: float | None = None


def of(connection: Connection, sweep_ids: Sequence[int]) -> dict[int, Going]:
    """Of each of these sweeps that has a trial running."""
    held: dict[int, list[str]] = {}
    current = and_(attempts.c.trial_id == trials.c.id, attempts.c.number == trials.c.attempt)
    statement = select(trials.c.sweep_id, attempts.c.device_id).select_from(trials.join(attempts, current))
    running = statement.where(_RUNS, trials.c.sweep_id.in_(sweep_ids)).order_by(attempts.c.device_id)
    for sweep_id, device_id in connection.execute(running):
        held.setdefault(sweep_id, []).append(device_id)
    return {
        sweep_id: Going(tuple(devices), _recent_trial_s(connection, sweep_id)) for sweep_id, devices in held.items()
    }


def _recent_trial_s(connection: Connection, sweep_id: int) -> float | None:
    took = trials.c.ended_at - trials.c.started_at
    recent = (
        select(took.label("took"))
        .where(trials.c.sweep_id == sweep_id, trials.c.state.in_(_COUNTED), trials.c.started_at.is_not(None))
        .order_by(trials.c.number.desc())
        .limit(_RECENT)
        .subquery()
    )
    found: float | None = connection.execute(select(func.avg(recent.c.took))).scalar_one()
    return found
