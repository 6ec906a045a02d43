"""The earlier trials that a sweep starts from: selected by the api at submission, read by the scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, Select, func, insert, select, update

from podium.db.schema.tables import metrics, trial_params, trial_values, trials, warm_trials
from podium.db.schema.tables import sweeps as sweep_table
from podium.db.stores import sweeps, trial_values_constraints_attributes
from podium.db.stores.feasible_trial_condition import FEASIBLE
from podium.db.stores.trial_params import distributions_of, params_of, params_of_trials
from podium.sweep.lifecycle.stored_sweeps import EarlierTrial
from podium.sweep.lifecycle.warm_start_compatibility import WarmStart, incompatible_objectives, select_trials
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.errors import InvalidSpecError, NotFoundError, Problem
from podium.sweep.values.states import COUNTED_TRIAL_STATES, TrialState

MAX_TRIALS = 5_000  # trials: loading more into a sampler takes too long


def select_for(connection: Connection, spec: SweepSpec, max_trials: int = MAX_TRIALS) -> WarmStart | None:
    """The warm start of a new sweep, with at most `max_trials` trials; None without `warm_start`.

    Raises `InvalidSpecError` for an unknown sweep, or one with other objectives.
    """
    if not spec.warm_start:
        return None
    check(connection, spec)
    ids, left_out = _considered_trials(connection, spec, max_trials)
    return replace(select_trials(spec, _with_params(connection, ids)), left_out=left_out)


def check(connection: Connection, spec: SweepSpec) -> None:
    """Raises `InvalidSpecError` if a sweep of `warm_start` is unknown or has other objectives."""
    problems = [
        Problem(("warm_start", str(position)), complaint)
        for position, sweep_id in enumerate(spec.warm_start)
        if (complaint := _invalid_reason(connection, sweep_id, spec)) is not None
    ]
    if problems:
        raise InvalidSpecError(problems)


def _invalid_reason(connection: Connection, sweep_id: int, spec: SweepSpec) -> str | None:
    try:
        earlier = sweeps.get(connection, sweep_id).objectives
    except NotFoundError as error:
        return str(error)
    return incompatible_objectives(spec, sweep_id, earlier)


def _considered_trials(connection: Connection, spec: SweepSpec, max_trials: int) -> tuple[list[int], int]:
    """The ids of the finished and pruned trials considered, and the number left out.

    If there are too many, half of them are the best by each objective, and the others the newest.
    """
    of_sweeps = trials.c.sweep_id.in_(spec.warm_start) & trials.c.state.in_(
        [state.value for state in COUNTED_TRIAL_STATES]
    )
    there = connection.execute(select(func.count()).select_from(trials).where(of_sweeps)).scalar_one()
    if there <= max_trials:
        ids = select(trials.c.id).where(of_sweeps).order_by(trials.c.sweep_id, trials.c.number)
        return list(connection.execute(ids).scalars()), 0
    newest = select(trials.c.id).where(of_sweeps).order_by(trials.c.ended_at.desc(), trials.c.id.desc())
    chosen = {
        trial_id for best in _best(spec, of_sweeps, max_trials) for trial_id in connection.execute(best).scalars()
    }
    others = newest.where(trials.c.id.not_in(chosen)).limit(max_trials - len(chosen))
    return sorted(chosen.union(connection.execute(others).scalars())), there - max_trials


def _best(spec: SweepSpec, of_sweeps: ColumnElement[bool], max_trials: int) -> Iterator[Select[int]]:
    """For each objective, the query of its share of the best half."""
    goals = [metric.goal for metric in spec.objectives]
    for position, goal in enumerate(goals):
        found = select(trials.c.id).where(of_sweeps, trials.c.state == TrialState.FINISHED.value, FEASIBLE)
        value: ColumnElement[float] = trials.c.value
        if position:
            here = (trial_values.c.trial_id == trials.c.id) & (trial_values.c.position == position)
            found, value = found.join(trial_values, here), trial_values.c.value
        best_first = value.desc() if goal == "maximize" else value.asc()
        yield found.order_by(best_first, trials.c.id).limit(max_trials // 2 // len(goals))


def _with_params(connection: Connection, ids: Sequence[int]) -> Iterator[tuple[int, Params]]:
    params = params_of_trials(connection, ids)
    return ((trial_id, params.get(trial_id, {})) for trial_id in ids)


def add(connection: Connection, sweep_id: int, chosen: WarmStart) -> None:
    """Store the selection; it never changes."""
    if chosen.trial_ids:
        rows = [{"sweep_id": sweep_id, "trial_id": trial_id} for trial_id in chosen.trial_ids]
        connection.execute(insert(warm_trials), rows)
    account = {
        "trials": len(chosen.trial_ids),
        "dropped": chosen.dropped,
        "why": list(chosen.why),
        "left_out": chosen.left_out,
    }
    statement = update(sweep_table).where(sweep_table.c.id == sweep_id)
    connection.execute(statement.values(warm_start=json.dumps(account)))


def earlier_trials(connection: Connection, sweep_id: int) -> tuple[EarlierTrial, ...]:
    """The earlier trials of a sweep's search, by id."""
    ids = select(warm_trials.c.trial_id).where(warm_trials.c.sweep_id == sweep_id).scalar_subquery()
    rows = connection.execute(select(trials).where(trials.c.id.in_(ids)).order_by(trials.c.id)).all()
    params = params_of(connection, trial_params.c.trial_id.in_(ids))
    distributions = distributions_of(connection, trial_params.c.trial_id.in_(ids))
    notes = trial_values_constraints_attributes.details_of(connection, ids)
    reports = _last_reports(connection, sweep_id)
    return tuple(
        EarlierTrial(
            trial_id=row.id,
            state=TrialState(row.state),
            params=params.get(row.id, {}),
            values=tuple(notes.values[row.id].values()) if row.id in notes.values else _alone(row.value),
            last_report=reports.get(row.id),
            constraints=notes.constraints.get(row.id, {}),
            distributions=distributions.get(row.id, {}),
        )
        for row in rows
    )


def _alone(value: float | None) -> tuple[float, ...] | None:
    return None if value is None else (value,)


def _last_reports(connection: Connection, sweep_id: int) -> dict[int, tuple[int, float]]:
    """The last reports of pruned trials, which count as their values."""
    last = (
        select(func.max(metrics.c.step))
        .where(metrics.c.trial_id == trials.c.id, metrics.c.name == sweep_table.c.metric)
        .correlate(trials, sweep_table)
        .scalar_subquery()
    )
    statement = (
        select(metrics.c.trial_id, metrics.c.step, metrics.c.value)
        .select_from(warm_trials)
        .join(trials, trials.c.id == warm_trials.c.trial_id)
        .join(sweep_table, sweep_table.c.id == trials.c.sweep_id)
        .join(
            metrics,
            (metrics.c.trial_id == trials.c.id) & (metrics.c.name == sweep_table.c.metric) & (metrics.c.step == last),
        )
        .where(warm_trials.c.sweep_id == sweep_id, trials.c.state == TrialState.PRUNED.value)
    )
    return {trial_id: (step, value) for trial_id, step, value in connection.execute(statement)}
