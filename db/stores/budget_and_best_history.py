"""Reads how much of its budget a sweep has used, and the history of its best value; api and scheduler."""

from __future__ import annotations

from sqlalchemy import Connection, func, select, tuple_

from podium.db.schema.tables import trials
from podium.db.stores.attempt_totals import AttemptTotals, device_s
from podium.db.stores.feasible_trial_condition import FEASIBLE
from podium.db.stores.sweeps import SweepRow
from podium.sweep.lifecycle.budget_usage import BestValueTracker, BudgetTerms, BudgetUsage, CountedTrial
from podium.sweep.values.states import COUNTED_TRIAL_STATES, TrialState

_COUNTED = [state.value for state in COUNTED_TRIAL_STATES]


def used(
    connection: Connection, sweep: SweepRow, terms: BudgetTerms, at: float, totals: AttemptTotals | None = None
) -> BudgetUsage:
    """The budget used until `at`, or until the end of the sweep; plateau and target by `terms`.

    `totals` are those of its attempts until `at`, if they have been read.
    """
    has_value_terms = terms.plateau is not None or terms.target is not None
    found = records(connection, sweep.id, sweep.goal) if has_value_terms else {}
    progress = BestValueTracker(sweep.goal, terms, found)
    still = 0 if progress.mark is None else _counted_since(connection, sweep.id, found[progress.mark], progress.mark)
    until = at if sweep.ended_at is None else sweep.ended_at
    wall_s = 0.0 if sweep.started_at is None else max(0.0, until - sweep.started_at - sweep.over_s)
    held_s = device_s(connection, sweep.id, at) if totals is None else totals.device_s
    return BudgetUsage(wall_s, held_s, still, progress.reached_by)


def records(connection: Connection, sweep_id: int, goal: str) -> dict[CountedTrial, float]:
    """The trials that were better than all before, in order, with their end times.

    They are few, and only they can improve by a margin or reach a target first.
    """
    value = trials.c.value if goal == "maximize" else -trials.c.value
    order = (trials.c.ended_at, trials.c.number)
    before = func.max(value).over(order_by=order, rows=(None, -1)).label("before")
    ended = (
        select(trials.c.number, trials.c.value, trials.c.ended_at, value.label("good"), before)
        .where(trials.c.sweep_id == sweep_id, trials.c.state == TrialState.FINISHED.value, FEASIBLE)
        .subquery()
    )
    better = select(ended).where(ended.c.before.is_(None) | (ended.c.good > ended.c.before))
    rows = connection.execute(better.order_by(ended.c.ended_at, ended.c.number))
    return {CountedTrial(row.number, row.value): row.ended_at for row in rows}


def _counted_since(connection: Connection, sweep_id: int, ended_at: float, mark: CountedTrial) -> int:
    later = tuple_(trials.c.ended_at, trials.c.number) > (ended_at, mark.number)
    counted = (trials.c.sweep_id == sweep_id) & trials.c.state.in_(_COUNTED)
    statement = select(func.count()).select_from(trials).where(counted, later)
    return int(connection.execute(statement).scalar_one())
