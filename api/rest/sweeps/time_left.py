"""Estimates the remaining time of a sweep from its recent trials; no I/O, api."""

from __future__ import annotations

from podium.api.rest.schemas.sweep_schemas import BudgetView
from podium.db.queries.sweep_devices_and_durations import SweepActivity
from podium.db.stores.sweeps import SweepRow
from podium.sweep.values.states import COUNTED_TRIAL_STATES, SweepState

_ACTIVE = frozenset({SweepState.RUNNING, SweepState.STOPPING})


def eta_s(row: SweepRow, activity: SweepActivity, budget: BudgetView | None) -> float | None:
    """Seconds until the last trial ends or the time budget is exhausted, whichever is sooner; None if unknown.

    Assumes that running trials are half done and that the number of running trials stays the same. A plateau or a
    target may end the sweep sooner.
    """
    running = len(activity.devices)
    if row.state not in _ACTIVE or not running or activity.trial_s is None:
        return None
    counted = sum(row.counts.get(state, 0) for state in COUNTED_TRIAL_STATES)
    stopping = row.state is SweepState.STOPPING
    left = running if stopping else max(row.run_cap - counted, 0)
    found = activity.trial_s * max(left - running / 2, 0.5) / running
    return round(min(found, *_bounds(budget, running)) if budget is not None else found, 1)


def _bounds(budget: BudgetView, running: int) -> list[float]:
    """Seconds until each time budget is exhausted at this rate."""
    bounds = [(budget.wall_s, 1), (budget.device_s, running)]
    return [max(0.0, b.allowed - b.used) / at_once for b, at_once in bounds if b.allowed is not None] or [float("inf")]
