"""The trials of earlier sweeps that a sweep starts from: chosen when it is submitted, read back by the scheduler."""

from __future__ import annotations

import json

from sqlalchemy import Connection, func, insert, select, update

from db import sweeps, trial_notes
from db.tables import metrics, trial_params, trials, warm_trials
from db.tables import sweeps as sweep_table
from db.trials import distributions_of, params_of
from sweep.changes import EarlierTrial
from sweep.errors import InvalidSpecError, NotFoundError, Problem
from sweep.spec import SweepSpec
from sweep.trial import COUNTED, Params, TrialState
from sweep.warm_start import WarmStart, choose


def choose_for(connection: Connection, spec: SweepSpec) -> WarmStart | None:
    """What a new sweep with a `warm_start` starts from; None without one.

    Raises `InvalidSpecError` for a sweep that is not there, or that is judged otherwise.
    """
    if not spec.warm_start:
        return None
    problems = [
        Problem(("warm_start", str(position)), complaint)
        for position, sweep_id in enumerate(spec.warm_start)
        if (complaint := _complaint(connection, sweep_id, spec)) is not None
    ]
    if problems:
        raise InvalidSpecError(problems)
    return choose(spec, [found for sweep_id in spec.warm_start for found in _counted(connection, sweep_id)])


def _complaint(connection: Connection, sweep_id: int, spec: SweepSpec) -> str | None:
    try:
        earlier = sweeps.get(connection, sweep_id).objectives
    except NotFoundError as error:
        return str(error)
    if [goal for _, goal in earlier] == [metric.goal for metric in spec.objectives]:
        return None
    theirs = ", ".join(f"{goal} {name}" for name, goal in earlier)
    ours = ", ".join(f"{metric.goal} {metric.name}" for metric in spec.objectives)
    return f"sweep {sweep_id} was to {theirs}, and this one is to {ours}; start from sweeps with the same goals"


def _counted(connection: Connection, sweep_id: int) -> list[tuple[int, Params]]:
    """The finished and pruned trials of a sweep, by number."""
    of_sweep = (trials.c.sweep_id == sweep_id) & trials.c.state.in_([state.value for state in COUNTED])
    ids = connection.execute(select(trials.c.id).where(of_sweep).order_by(trials.c.number)).scalars().all()
    params = params_of(connection, trial_params.c.trial_id.in_(select(trials.c.id).where(of_sweep).scalar_subquery()))
    return [(trial_id, params.get(trial_id, {})) for trial_id in ids]


def add(connection: Connection, sweep_id: int, chosen: WarmStart) -> None:
    """Write what was chosen: it stays so, whatever becomes of the earlier sweeps."""
    if chosen.trial_ids:
        rows = [{"sweep_id": sweep_id, "trial_id": trial_id} for trial_id in chosen.trial_ids]
        connection.execute(insert(warm_trials), rows)
    account = {"trials": len(chosen.trial_ids), "dropped": chosen.dropped, "why": list(chosen.why)}
    statement = update(sweep_table).where(sweep_table.c.id == sweep_id)
    connection.execute(statement.values(warm_start=json.dumps(account)))


def earlier_trials(connection: Connection, sweep_id: int) -> tuple[EarlierTrial, ...]:
    """What the search of a sweep starts from, by id."""
    ids = select(warm_trials.c.trial_id).where(warm_trials.c.sweep_id == sweep_id).scalar_subquery()
    rows = connection.execute(select(trials).where(trials.c.id.in_(ids)).order_by(trials.c.id)).all()
    params = params_of(connection, trial_params.c.trial_id.in_(ids))
    distributions = distributions_of(connection, trial_params.c.trial_id.in_(ids))
    notes = trial_notes.of(connection, ids)
    reports = _last_reports(connection, sweep_id)
    return tuple(
        EarlierTrial(
            row.id,
            TrialState(row.state),
            params.get(row.id, {}),
            tuple(notes.values[row.id].values()) if row.id in notes.values else _alone(row.value),
            reports.get(row.id),
            notes.constraints.get(row.id, {}),
            distributions.get(row.id, {}),
        )
        for row in rows
    )


def _alone(value: float | None) -> tuple[float, ...] | None:
    return None if value is None else (value,)


def _last_reports(connection: Connection, sweep_id: int) -> dict[int, tuple[int, float]]:
    """Of those that were pruned: their values are what they reported last. SQLite gives a row with its max()."""
    statement = (
        select(metrics.c.trial_id, func.max(metrics.c.step), metrics.c.value)
        .join(trials, trials.c.id == metrics.c.trial_id)
        .join(sweep_table, (sweep_table.c.id == trials.c.sweep_id) & (sweep_table.c.metric == metrics.c.name))
        .join(warm_trials, (warm_trials.c.trial_id == trials.c.id) & (warm_trials.c.sweep_id == sweep_id))
        .where(trials.c.state == TrialState.PRUNED.value)
        .group_by(metrics.c.trial_id)
    )
    return {trial_id: (step, value) for trial_id, step, value in connection.execute(statement)}
