"""The devices that sweeps use now, and the duration of their recent trials; api."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, literal_column, select

from podium.db.schema.tables import attempts, trials
from podium.db.stores.current_attempt_condition import CURRENT_ATTEMPT
from podium.sweep.values.states import COUNTED_TRIAL_STATES, TrialState

_RECENT = 20  # counted trials, for the expected duration of the next ones
_COUNTED = [state.value for state in COUNTED_TRIAL_STATES]
# A literal, not a bound value: only then does SQLite use the partial index of running trials.
_RUNNING = trials.c.state == literal_column(f"'{TrialState.RUNNING}'")


@dataclass(frozen=True, slots=True)
class SweepActivity:
    """The devices on which a sweep's trials run, and the mean duration of its recent trials."""

    devices: tuple[str, ...] = ()
    trial_s: float | None = None


def activity_of(connection: Connection, sweep_ids: Sequence[int]) -> dict[int, SweepActivity]:
    """The activity of each of these sweeps with a trial on a device."""
    held: dict[int, list[str]] = {}
    statement = select(trials.c.sweep_id, attempts.c.device_id).select_from(trials.join(attempts, CURRENT_ATTEMPT))
    holds = attempts.c.device_s.is_(None)  # one that has left its device sends its files
    running = statement.where(_RUNNING, holds, trials.c.sweep_id.in_(sweep_ids)).order_by(attempts.c.device_id)
    for sweep_id, device_id in connection.execute(running):
        held.setdefault(sweep_id, []).append(device_id)
    return {
        sweep_id: SweepActivity(tuple(devices), _recent_trial_s(connection, sweep_id))
        for sweep_id, devices in held.items()
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
