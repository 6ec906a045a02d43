"""How long a sweep will take yet, by how long its recent trials took; pure, api."""

from __future__ import annotations

from podium.api.rest.models.response_models import BudgetView
from podium.db.queries.sweep_activity import Going
from podium.db.stores.sweeps import SweepRow
from podium.sweep.values.trial import COUNTED, SweepState

_GOES_ON = frozenset({SweepState.RUNNING, SweepState.STOPPING})


def eta_s(row: SweepRow, going: Going, budget: BudgetView | None) -> float | None:
    """Seconds until its last trial counts, or its time is spent, if that is sooner; None where nobody can tell.

    Every running trial is taken to be half done, and as many as run now to run on: an estimate, at most so long,
    since a plateau or a target may end it sooner.
    """
    running = len(going.devices)
    if row.state not in _GOES_ON or not running or going.trial_s is None:
        return None
    counted = sum(row.counts.get(state, 0) for state in COUNTED)
    stopping = row.state is SweepState.STOPPING
    left = running if stopping else max(row.run_cap - counted, 0)
    found = going.trial_s * max(left - running / 2, 0.5) / running
    return round(min(found, *_bounds(budget, running)) if budget is not None else found, 1)


def _bounds(budget: BudgetView, running: int) -> list[float]:
    """When its budget of time is spent at this rate."""
    bounds = [(budget.wall_s, 1), (budget.device_s, running)]
    return [max(0.0, b.allowed - b.used) / at_once for b, at_once in bounds if b.allowed is not None] or [float("inf")]
