"""Which files a sweep's retention policy removes, and the record of removed files; scheduler.

A row is moved from `artifacts` to `removed_artifacts`, then the file is deleted, then the row is marked: if the process
dies in between, the next one continues.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Exists,
    Row,
    Table,
    bindparam,
    case,
    delete,
    exists,
    func,
    select,
    update,
)

from podium.db.schema import dialect
from podium.db.schema.tables import (
    artifacts,
    attempts,
    ensemble_members,
    ensembles,
    removed_artifacts,
    sweeps,
    trial_values,
    trials,
)
from podium.db.schema.tables import events as events_table
from podium.db.stores import event_outbox
from podium.db.stores.event_outbox import NewEvent
from podium.db.stores.feasible_trial_condition import FEASIBLE
from podium.db.stores.id_list import id_list
from podium.ensemble.values.ensemble_states import EnsembleState
from podium.sweep.lifecycle.pareto import fronts
from podium.sweep.runtime.attempt_directory import ARTIFACTS
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.states import TERMINAL_SWEEP_STATES, TERMINAL_TRIAL_STATES, SweepState, TrialState

MODEL = "model.safetensors"
FILES = f"{ARTIFACTS}/*"  # files of `save_artifact`
_REMOVABLE_COLUMNS = (trials.c.id, trials.c.sweep_id, trials.c.number, trials.c.attempt)


@dataclass(frozen=True, slots=True)
class RemovableFiles:
    """A trial with files to remove, of all its attempts."""

    trial_id: int
    sweep_id: int
    number: int
    attempt: int  # the last one


_IS_OVER = trials.c.state.in_([state.value for state in TERMINAL_TRIAL_STATES])


def _called(table: Table, files: str) -> ColumnElement[bool]:
    """Whether a file is MODEL, or one of FILES: as a range of names, which both databases find by an index."""
    if files != FILES:
        return table.c.name == files
    return (table.c.name >= f"{ARTIFACTS}/") & (table.c.name < f"{ARTIFACTS}0")  # "0" follows "/"


def _last_attempt(files: str) -> ColumnElement[int]:
    """The last attempt whose files are removed; files of a later retry are kept."""
    again = exists().where(artifacts.c.trial_id == trials.c.id, _called(artifacts, files)).correlate(trials)
    return case((_IS_OVER & ~again, trials.c.attempt), else_=func.max(removed_artifacts.c.attempt))


def sweeps_with_retention(connection: Connection) -> list[int]:
    """The sweeps with a retention policy (`keep`)."""
    says = func.json_type(sweeps.c.spec, "$.keep") == "object"
    return list(connection.execute(select(sweeps.c.id).where(says).order_by(sweeps.c.id)).scalars())


def spec_of(connection: Connection, sweep_id: int) -> str:
    """The sweep file, as JSON."""
    text: str = connection.execute(select(sweeps.c.spec).where(sweeps.c.id == sweep_id)).scalar_one()
    return text


def state_of(connection: Connection, sweep_id: int) -> SweepState:
    """The state of a sweep."""
    return SweepState(connection.execute(select(sweeps.c.state).where(sweeps.c.id == sweep_id)).scalar_one())


def surplus(connection: Connection, sweep_id: int, count: int, files: str = MODEL) -> list[RemovableFiles]:
    """The ended trials with such files that are not among the best `count`; with models, no ensemble members.

    A failed or cancelled trial may be retried while its sweep runs, so it is included once the sweep has ended.
    """
    has_files = (artifacts.c.trial_id == trials.c.id) & _called(artifacts, files)
    of_sweep = (trials.c.sweep_id == sweep_id) & exists().where(has_files)
    ranked = [each for rank in _ranked(connection, sweep_id, of_sweep) for each in rank]
    state = connection.execute(select(sweeps.c.state).where(sweeps.c.id == sweep_id)).scalar_one()
    never = [TrialState.PRUNED, *((TrialState.FAILED, TrialState.CANCELLED) if state in TERMINAL_SWEEP_STATES else ())]
    others = connection.execute(
        select(*_REMOVABLE_COLUMNS).where(of_sweep, trials.c.state.in_([each.value for each in never]))
    )
    surplus = [*ranked[count:], *(RemovableFiles(*row) for row in others)]
    if files != MODEL:
        return surplus
    members = set(connection.execute(select(trials.c.id).where(of_sweep, _is_member())).scalars())
    return [left for left in surplus if left.trial_id not in members]


def mark_for_removal(
    connection: Connection, left: Sequence[RemovableFiles], reason: str, at: float, files: str = MODEL
) -> None:
    """Mark these files for removal, except the models of trials that became ensemble members."""
    for each in left:
        mine = (artifacts.c.trial_id == each.trial_id) & _called(artifacts, files)
        if files == MODEL:
            mine &= ~select(_is_member()).where(trials.c.id == each.trial_id).scalar_subquery()
        rows = connection.execute(delete(artifacts).where(mine).returning(artifacts)).all()
        for row in rows:
            removed = dict(row._mapping, reason=reason, at=at, gone=False)
            statement = dialect.insert(removed_artifacts).values(removed)
            key = ["trial_id", "name"]  # a trial that ran again may have saved files again
            connection.execute(statement.on_conflict_do_update(index_elements=key, set_=removed))
        if rows:
            event = NewEvent(at, "trial.not_kept", each.sweep_id, each.trial_id, payload={"reason": reason})
            event_outbox.add(connection, [event])


def marked_for_removal(connection: Connection, sweep_id: int | None = None, files: str = MODEL) -> list[RemovableFiles]:
    """The trials with files marked for removal and not yet deleted."""
    statement = (
        select(trials.c.id, trials.c.sweep_id, trials.c.number, _last_attempt(files))
        .join(removed_artifacts, removed_artifacts.c.trial_id == trials.c.id)
        .where(~removed_artifacts.c.gone, _called(removed_artifacts, files))
        .group_by(trials.c.id)
    )
    if sweep_id is not None:
        statement = statement.where(trials.c.sweep_id == sweep_id)
    return [RemovableFiles(*row) for row in connection.execute(statement)]


def folders_of(connection: Connection, left: Sequence[RemovableFiles]) -> dict[int, list[str]]:
    """By trial, the folders with the files to remove, relative to `DataDirectory.trials`."""
    trial_of = {each.trial_id: each for each in left}
    found: dict[int, list[str]] = {trial_id: [] for trial_id in trial_of}
    statement = select(attempts.c.trial_id, attempts.c.number, attempts.c.nonce)
    for trial_id, attempt, nonce in connection.execute(statement.where(attempts.c.trial_id.in_(id_list(trial_of)))):
        trial = trial_of[trial_id]
        if attempt <= trial.attempt:
            found[trial_id].append(DataDirectory.attempt_key(trial.sweep_id, trial.number, attempt, nonce))
    return found


def mark_removed(connection: Connection, left: Sequence[RemovableFiles], files: str = MODEL) -> None:
    """Mark the files of these trials as deleted."""
    of_trial = (removed_artifacts.c.trial_id == bindparam("b_id")) & _called(removed_artifacts, files)
    statement = update(removed_artifacts).where(of_trial)
    connection.execute(statement.values(gone=True), [{"b_id": each.trial_id} for each in left])


def finished(connection: Connection, sweep_id: int, among: Collection[int] | None = None) -> list[list[RemovableFiles]]:
    """The finished trials of a sweep, or those of these ids, by rank: best or Pareto front first."""
    which = trials.c.sweep_id == sweep_id
    return _ranked(connection, sweep_id, which if among is None else which & trials.c.id.in_(among))


def finished_since(connection: Connection, sweep_id: int, event_id: int) -> list[int]:
    """The ids of the trials that finished after this event."""
    mine = (events_table.c.sweep_id == sweep_id) & (events_table.c.kind == f"trial.{TrialState.FINISHED}")
    return list(connection.execute(select(events_table.c.trial_id).where(events_table.c.id > event_id, mine)).scalars())


def last_event(connection: Connection) -> int:
    return int(connection.execute(select(func.coalesce(func.max(events_table.c.id), 0))).scalar_one())


def _ranked(connection: Connection, sweep_id: int, which: ColumnElement[bool]) -> list[list[RemovableFiles]]:
    """Finished trials, best first; with several objectives by front, within a front by the first metric.

    Ties are ordered by number; infeasible trials come last.
    """
    goals = [metric.goal for metric in spec_from_json(spec_of(connection, sweep_id)).objectives]
    sign = -1 if goals[0] == "maximize" else 1
    statement = select(*_REMOVABLE_COLUMNS, trials.c.value, FEASIBLE.label("feasible"))
    rows = connection.execute(statement.where(which, trials.c.state == TrialState.FINISHED.value)).all()
    rows = sorted(rows, key=lambda row: (sign * row.value, row.number))
    feasible = [row for row in rows if row.feasible]
    ranks = [[row] for row in feasible] if len(goals) == 1 else _fronts(connection, which, feasible, goals)
    return [
        [RemovableFiles(*row[:4]) for row in rank] for rank in (*ranks, *([row] for row in rows if not row.feasible))
    ]


def _fronts(
    connection: Connection, which: ColumnElement[bool], rows: Sequence[Row[Any]], goals: Sequence[str]
) -> list[list[Row[Any]]]:
    values: dict[int, list[float]] = {}
    statement = select(trial_values.c.trial_id, trial_values.c.value).join(trials).where(which)
    for trial_id, value in connection.execute(statement.order_by(trial_values.c.trial_id, trial_values.c.position)):
        values.setdefault(trial_id, []).append(value)
    found = fronts([values[row.id] for row in rows], goals, len(rows))
    return [[rows[position] for position in front] for front in found]


def _is_member() -> Exists:
    """Whether a trial is in any version of an ensemble that is not retired."""
    return (
        exists()
        .where(
            ensemble_members.c.trial_id == trials.c.id,
            ensembles.c.id == ensemble_members.c.ensemble_id,
            ensembles.c.state != EnsembleState.RETIRED.value,
        )
        .correlate(trials)
    )
