"""Reads the trials that the scheduler needs after a restart; scheduler and api."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import ColumnElement, Connection, ScalarSelect, func, select

from podium.db.schema.tables import attempts, sweeps, trial_params, trials
from podium.db.schema.tables import intervals as interval_table
from podium.db.schema.tables import metrics as metric_table
from podium.db.stores import multi_device_attempt_ranks, population_intervals, trial_values_constraints_attributes
from podium.db.stores.current_attempt_condition import CURRENT_ATTEMPT
from podium.db.stores.trial_params import distributions_of, params_of
from podium.db.stores.trial_writer import IMPORTED_FROM
from podium.sweep.lifecycle.stored_sweeps import StoredInterval, StoredTrial
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import TrialState


def last_id(connection: Connection) -> int:
    """The highest trial id, except imported ones; 0 without trials."""
    own = select(func.coalesce(func.max(trials.c.id), 0)).where(trials.c.id < IMPORTED_FROM)
    last: int = connection.execute(own).scalar_one()
    return last


def _pruned_on(sweep_id: int) -> ScalarSelect[Any]:
    """The name of the reported metric: that of `early_terminate`, or the first objective."""
    named = func.json_extract(sweeps.c.spec, "$.early_terminate.metric")
    return select(func.coalesce(named, sweeps.c.metric)).where(sweeps.c.id == sweep_id).scalar_subquery()


def _reports(connection: Connection, sweep_id: int, which: ColumnElement[bool]) -> dict[int, dict[int, float]]:
    """The reports of trials, by step: all of them for a pruner; for a sampler the last ones of unfinished trials.

    A sweep of many long trials has millions of reports, which the scheduler must not read without need.
    """
    rule = func.json_extract(sweeps.c.spec, "$.early_terminate.type")
    prunes = connection.execute(select(func.coalesce(rule, "none") != "none").where(sweeps.c.id == sweep_id)).scalar()
    of_trial = (metric_table.c.trial_id == trials.c.id) & (metric_table.c.name == _pruned_on(sweep_id))
    points = select(metric_table.c.trial_id, metric_table.c.step, metric_table.c.value).select_from(trials).where(which)
    if prunes:
        points = points.join(metric_table, of_trial)
    else:
        last = select(func.max(metric_table.c.step)).where(of_trial).correlate(trials).scalar_subquery()
        points = points.join(metric_table, of_trial & (metric_table.c.step == last))
        points = points.where(trials.c.state != TrialState.FINISHED.value)
    found: dict[int, dict[int, float]] = {}
    for trial_id, step, value in connection.execute(points):
        found.setdefault(trial_id, {})[step] = value
    return found


def stored_trials(connection: Connection, sweep_id: int, trial_id: int | None = None) -> tuple[StoredTrial, ...]:
    """All trials of a sweep, or one of them, as the scheduler needs them after a restart, in number order."""
    which = trials.c.sweep_id == sweep_id if trial_id is None else trials.c.id == trial_id
    of_sweep = select(trials.c.id).where(which).scalar_subquery()
    params = params_of(connection, trial_params.c.trial_id.in_(of_sweep))
    distributions = distributions_of(connection, trial_params.c.trial_id.in_(of_sweep))
    reports = _reports(connection, sweep_id, which)
    notes = trial_values_constraints_attributes.details_of(connection, of_sweep)
    own_intervals = population_intervals.of_trials(connection, interval_table.c.trial_id.in_(of_sweep))
    causes: dict[int, list[tuple[int, Cause]]] = {}
    messages: dict[int, str] = {}
    failed = (
        select(attempts.c.trial_id, attempts.c.number, attempts.c.cause, attempts.c.message)
        .where(attempts.c.trial_id.in_(of_sweep), attempts.c.state == TrialState.FAILED.value)
        .order_by(attempts.c.number)
    )
    for trial_id, number, cause, message in connection.execute(failed):
        causes.setdefault(trial_id, []).append((number, Cause(cause)))
        messages[trial_id] = message or ""
    rows = connection.execute(select(trials).where(which).order_by(trials.c.number)).all()
    placed = _open_attempts(connection, which)
    ranks = multi_device_attempt_ranks.of_open_attempts(connection, which)
    return tuple(
        StoredTrial(
            trial_id=row.id,
            number=row.number,
            state=TrialState(row.state),
            params=params.get(row.id, {}),
            value=row.value,
            attempt=row.attempt,
            sampler=row.sampler,
            attributes=json.loads(row.search_attributes),
            reports=reports.get(row.id, {}),
            causes=tuple(
                cause
                for number, cause in causes.get(row.id, ())
                if number > max(row.forgiven, _settled(own_intervals.get(row.id, ())))
            ),
            forgiven=row.forgiven,
            ended_at=row.ended_at,
            last_cause=causes[row.id][-1][1] if row.id in causes else None,
            last_message=messages.get(row.id, ""),
            placed_at=placed[row.id][0] if row.id in placed else None,
            seen_at=placed[row.id][1] if row.id in placed else None,
            placed_on=placed[row.id][2] if row.id in placed else None,
            nonce=placed[row.id][3] if row.id in placed else "",
            device_s=placed[row.id][4] if row.id in placed else None,
            ranks=ranks.get(row.id, ()),
            values=tuple(notes.values[row.id].values()) if row.id in notes.values else None,
            constraints=notes.constraints.get(row.id, {}),
            distributions=distributions.get(row.id, {}),
            intervals=own_intervals.get(row.id, ()),
        )
        for row in rows
    )


def _settled(own: tuple[StoredInterval, ...]) -> int:
    """The last attempt that ended an interval: a trial that has made progress may fail again."""
    return max((each.result.attempt for each in own if each.result is not None), default=0)


def _open_attempts(
    connection: Connection, which: ColumnElement[bool]
) -> dict[int, tuple[float, float, str, str, float | None]]:
    """For each trial with an open attempt: when it was placed, its last report, its device, its nonce, and its
    device-seconds if it has left its device.
    """
    running = which & (trials.c.state == TrialState.RUNNING.value)
    heard = (
        select(func.max(metric_table.c.at))
        .where(metric_table.c.trial_id == attempts.c.trial_id, metric_table.c.attempt == attempts.c.number)
        .scalar_subquery()
    )
    statement = (
        select(
            attempts.c.trial_id,
            attempts.c.started_at,
            func.coalesce(heard, attempts.c.started_at).label("heard"),
            attempts.c.device_id,
            attempts.c.nonce,
            attempts.c.device_s,
        )
        .join(trials, CURRENT_ATTEMPT)
        .where(running, attempts.c.ended_at.is_(None))
    )
    return {
        row.trial_id: (row.started_at, row.heard, row.device_id, row.nonce, row.device_s)
        for row in connection.execute(statement)
    }
