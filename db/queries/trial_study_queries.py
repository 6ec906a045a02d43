"""Reads the answers to the queries of `trial.study`: the best trial, pages of trials, a curve; scheduler."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select

from podium.db.queries import best_trials, trial_pages
from podium.db.schema.tables import trial_params, trials
from podium.db.stores import metric_summaries, metrics, retention_plan
from podium.db.stores.trial_params import distributions_of
from podium.db.stores.trial_reader import TrialRow
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.slot_events import StudyRequested
from podium.sweep.values.states import TrialState

PAGE_TRIALS = 200  # read at once
PAGE_BYTES = 256 << 10  # of one answer, unless a single trial takes more


def answer_query(
    connection: Connection,
    sweep_id: int,
    request: StudyRequested,
    *,
    page_trials: int = PAGE_TRIALS,
    page_bytes: int = PAGE_BYTES,
) -> dict[str, Any]:
    """`{"trials": […], "next": …}`, or `{"curve": [[step, value], …]}`; plain JSON values.

    `next` is the first number of the next page; None on the last page. A page has at most `page_trials` trials, and
    takes at most `page_bytes` bytes unless a single trial takes more.
    """
    if request.what == "curve":
        return {"curve": _curve(connection, sweep_id, request.number)}
    if request.what == "best":
        goal = spec_from_json(retention_plan.spec_of(connection, sweep_id)).metric.goal
        found = best_trials.best(connection, sweep_id, goal, 1)
        return {"trials": _records(connection, sweep_id, found), "next": None}
    return _page(connection, sweep_id, first=request.number, limit=page_trials, room=page_bytes)


def _page(connection: Connection, sweep_id: int, first: int, limit: int, room: int) -> dict[str, Any]:
    """Trials from a number on, as many as fit in an answer."""
    rows = trial_pages.page(connection, sweep_id, among=trials.c.number >= first, limit=limit).rows
    chosen: list[dict[str, Any]] = []
    for record in _records(connection, sweep_id, rows):
        size = len(json.dumps(record))
        if chosen and size > room:
            return {"trials": chosen, "next": record["number"]}
        chosen.append(record)
        room -= size
    more = len(rows) == limit
    return {"trials": chosen, "next": rows[-1].number + 1 if more else None}


def _records(connection: Connection, sweep_id: int, rows: Sequence[TrialRow]) -> list[dict[str, Any]]:
    ids = [row.id for row in rows]
    distributions = distributions_of(connection, trial_params.c.trial_id.in_(ids))
    pruned = [row.id for row in rows if row.state is TrialState.PRUNED]
    last = metric_summaries.last_of(connection, pruned, _reported(connection, sweep_id)) if pruned else {}
    return [
        {
            "id": row.id,
            "number": row.number,
            "state": row.state.value,
            "values": _values(row, last.get(row.id)),
            "params": row.params,
            "distributions": distributions.get(row.id, {}),
            "user_attrs": row.user_attrs,
            "constraints": row.constraints,
            "started_at": row.started_at,
            "ended_at": row.ended_at,
        }
        for row in rows
    ]


def _values(row: TrialRow, last: tuple[int, float] | None) -> list[float] | None:
    """The values; for a pruned trial its last report, as in Optuna."""
    if row.values is not None:
        return list(row.values.values())
    if row.value is not None:
        return [row.value]
    return None if last is None else [last[1]]


def _curve(connection: Connection, sweep_id: int, number: int) -> list[tuple[int, float]]:
    mine = select(trials.c.id).where(trials.c.sweep_id == sweep_id, trials.c.number == number)
    trial_id = connection.execute(mine).scalar_one_or_none()
    name = _reported(connection, sweep_id)
    return [] if trial_id is None else metrics.of_trial(connection, trial_id, name).get(name, [])


def _reported(connection: Connection, sweep_id: int) -> str:
    """The metric that trials report."""
    return spec_from_json(retention_plan.spec_of(connection, sweep_id)).pruned_on.name
