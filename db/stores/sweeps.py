"""Sweeps: accept, read, change state; api and scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, exists, func, insert, or_, select, update

from podium.db.schema.tables import enqueued, ensembles, sweep_files, sweep_tags, sweeps, trial_counts, trials
from podium.db.stores import event_outbox, sweep_warnings
from podium.db.stores.event_outbox import NewEvent
from podium.db.stores.sweep_warnings import WarningRow
from podium.sweep.lifecycle.budget_usage import BudgetTerms
from podium.sweep.lifecycle.database_changes import SweepChanged
from podium.sweep.lifecycle.pending_commands import SweepUpdate
from podium.sweep.spec.sweep_spec import SweepSpec, spec_from_json
from podium.sweep.values.errors import ConflictError, NotFoundError
from podium.sweep.values.states import (
    TERMINAL_SWEEP_STATES,
    TERMINAL_TRIAL_STATES,
    SweepState,
    TrialRequest,
    TrialState,
    check_sweep_transition,
)
from podium.sweep.values.sweep_wait_reason import WAITS_FOR_SCHEDULER, Wait, stored_wait

_OPEN = [state.value for state in TrialState if state not in TERMINAL_TRIAL_STATES]


@dataclass(frozen=True, slots=True)
class BuiltEnsembles:
    """The ensembles of a sweep's trials, and the one that its `ensemble:` block requested."""

    ensemble_ids: tuple[int, ...] = ()
    requested_id: int | None = None


@dataclass(frozen=True, slots=True)
class SweepRow:
    """A stored sweep with its trial counts by state and its ensembles."""

    id: int
    name: str
    state: SweepState
    reason: str
    spec_json: str
    metric: str
    goal: str
    run_cap: int
    terms: str  # JSON, see `podium.sweep.lifecycle.budget_usage`
    priority: float
    created_at: float
    started_at: float | None
    ended_at: float | None
    over_s: float
    ensemble_error: str | None
    counts: dict[TrialState, int]
    built: BuiltEnsembles
    warm_start: str | None = None  # JSON
    versions: str | None = None  # JSON
    environment: str | None = None  # the hash of the list of installed packages
    provenance: str | None = None  # JSON
    warnings: tuple[WarningRow, ...] = ()
    wait: Wait | None = None  # why it waits, in addition to the reason of its state
    held: bool = False  # it waits for its predecessors
    fixed: str | None = None  # JSON: the values of `fix_from`
    description: str = ""
    project: str = ""
    owner: str = ""
    archived_at: float | None = None

    @property
    def objectives(self) -> tuple[tuple[str, str], ...]:
        """The name and goal of each objective; usually one."""
        several = json.loads(self.spec_json).get("metrics") or ()
        return tuple((metric["name"], metric["goal"]) for metric in several) or ((self.metric, self.goal),)


def parameters_of(sweep: SweepRow) -> dict[str, dict[str, Any]]:
    """The parameters of the sweep file, in its format and order."""
    return json.loads(sweep.spec_json).get("parameters") or {}


def accept(
    connection: Connection,
    spec: SweepSpec,
    at: float,
    idempotency_key: str | None = None,
    *,
    versions: Mapping[str, str] | None = None,
    file: str | None = None,
    environment: str | None = None,
    provenance: str | None = None,
    owner: str = "",
) -> tuple[int, bool]:
    """Store a new sweep in state `queued`, and its file's text; returns its id, and whether it is new.

    The same key with the same spec gives the same sweep again. Raises `ConflictError` for another spec, and
    `InvalidSpecError` for one that could not be read back.
    """
    text = spec.to_json()
    spec_from_json(text)
    if idempotency_key is not None:
        known = connection.execute(
            select(sweeps.c.id, func.coalesce(sweeps.c.submitted_spec, sweeps.c.spec).label("spec")).where(
                sweeps.c.idempotency_key == idempotency_key
            )
        ).one_or_none()
        if known is not None:
            if known.spec != text:
                raise ConflictError("this Idempotency-Key was used for another sweep; choose a new one")
            return known.id, False
    values = {
        "name": spec.name,
        "state": SweepState.QUEUED.value,
        "wait_reason": WAITS_FOR_SCHEDULER.reason.value,
        "wait_message": WAITS_FOR_SCHEDULER.message,
        "spec": text,
        "metric": spec.metric.name,
        "goal": spec.metric.goal,
        "run_cap": spec.run_cap,
        "terms": BudgetTerms.of(spec).to_json(),
        "priority": spec.priority,
        "idempotency_key": idempotency_key,
        "versions": None if versions is None else json.dumps(versions),
        "environment": environment,
        "provenance": provenance,
        "created_at": at,
        "project": spec.project,
        "description": spec.description,
        "owner": owner,
    }
    (sweep_id,) = connection.execute(insert(sweeps).values(values).returning(sweeps.c.id)).one()
    if spec.tags:
        connection.execute(insert(sweep_tags), [{"sweep_id": sweep_id, "tag": tag} for tag in spec.tags])
    if file is not None:
        connection.execute(insert(sweep_files).values(sweep_id=sweep_id, text=file))
    event_outbox.add(connection, [NewEvent(at, "sweep.queued", sweep_id=sweep_id, payload={"name": spec.name})])
    return sweep_id, True


def change(connection: Connection, changes: Sequence[SweepChanged]) -> None:
    """Set new states, each only if the sweep is still in the expected state, since clients may change it.

    A failed sweep that continues starts without its previous failures, so that they do not end it again.
    """
    for item in changes:
        wait_reason = None if item.wait is None else item.wait.reason.value
        why: dict[str, object] = {
            "reason": item.reason,
            "wait_reason": wait_reason,
            "wait_message": "" if item.wait is None else item.wait.message,
        }
        values = {"state": item.state.value, **why}
        if item.state is SweepState.RUNNING:
            values["started_at"] = func.coalesce(sweeps.c.started_at, item.at)
        if item.state in TERMINAL_SWEEP_STATES or item.old_state in TERMINAL_SWEEP_STATES:
            values["ended_at"] = item.at if item.state in TERMINAL_SWEEP_STATES else None
        if item.old_state in TERMINAL_SWEEP_STATES:
            values["archived_at"] = None  # a sweep that runs again is in the list
            values["over_s"] = sweeps.c.over_s + func.max(0.0, item.at - func.coalesce(sweeps.c.ended_at, item.at))
        believed = and_(sweeps.c.id == item.sweep_id, sweeps.c.state == item.old_state.value)
        if item.run_cap is not None:
            believed = and_(believed, sweeps.c.run_cap == item.run_cap)
        if item.terms is not None:
            believed = and_(believed, sweeps.c.terms == item.terms)
        result = connection.execute(update(sweeps).where(believed).values(values))
        if result.rowcount:
            if item.old_state is SweepState.FAILED:
                _reset_failures(connection, item.sweep_id)
            kind = "sweep.reason" if item.old_state is item.state else f"sweep.{item.state}"
            event_outbox.add(connection, [NewEvent(item.at, kind, item.sweep_id, payload=why)])
        elif item.state is SweepState.RUNNING:  # a client paused it while its first trial was placed: that began
            paused = and_(sweeps.c.id == item.sweep_id, sweeps.c.state == SweepState.PAUSED.value)
            began = func.coalesce(sweeps.c.started_at, item.at)
            connection.execute(update(sweeps).where(paused).values(started_at=began))


def _reset_failures(connection: Connection, sweep_id: int) -> None:
    failed = (trials.c.sweep_id == sweep_id) & (trials.c.state == TrialState.FAILED.value)
    connection.execute(update(trials).where(failed).values(forgiven=trials.c.attempt))


def set_state(connection: Connection, sweep_id: int, state: SweepState, reason: str, at: float) -> None:
    """Set a new state for a client. Raises `NotFoundError`, or `IllegalTransitionError` with the possible states."""
    was = get(connection, sweep_id).state
    check_sweep_transition(was, state)
    change(connection, [SweepChanged(sweep_id=sweep_id, old_state=was, state=state, reason=reason, at=at)])


def set_ensemble_error(connection: Connection, sweep_id: int, reason: str, at: float) -> None:
    """Record why the ensemble of the `ensemble:` block cannot be built; it is not retried."""
    result = connection.execute(update(sweeps).where(sweeps.c.id == sweep_id).values(ensemble_error=reason))
    if result.rowcount:
        event_outbox.add(connection, [NewEvent(at, "sweep.ensemble_failed", sweep_id, payload={"reason": reason})])


def get(connection: Connection, sweep_id: int) -> SweepRow:
    """One sweep. Raises `NotFoundError`."""
    return _rows(connection, [_found(connection, sweep_id)])[0]


def without_counts(connection: Connection, sweep_id: int) -> SweepRow:
    """One sweep without counts, ensembles and warnings, for requests that show none of them. Raises `NotFoundError`."""
    return _row(_found(connection, sweep_id), {}, BuiltEnsembles())


def _found(connection: Connection, sweep_id: int) -> Row[tuple[object, ...]]:
    row = connection.execute(select(sweeps).where(sweeps.c.id == sweep_id)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no sweep {sweep_id}")
    return row


def file_of(connection: Connection, sweep_id: int) -> str | None:
    """The text of its sweep file; None if it was submitted as JSON."""
    statement = select(sweep_files.c.text).where(sweep_files.c.sweep_id == sweep_id)
    text: str | None = connection.execute(statement).scalar_one_or_none()
    return text


def page(
    connection: Connection,
    *,
    after: int | None = None,
    limit: int = 50,
    states: Sequence[SweepState] = (),
    search: str = "",
    among: ColumnElement[bool] | None = None,
) -> list[SweepRow]:
    """Sweeps with ids below `after`, newest first; optionally only these states and names that contain `search`.

    `among`: the condition of a filter.
    """
    statement = select(sweeps).order_by(sweeps.c.id.desc()).limit(limit)
    if after is not None:
        statement = statement.where(sweeps.c.id < after)
    if states:
        statement = statement.where(sweeps.c.state.in_([state.value for state in states]))
    if search:
        statement = statement.where(sweeps.c.name.icontains(search, autoescape=True))
    if among is not None:
        statement = statement.where(among)
    return _rows(connection, connection.execute(statement).all())


def unfinished(connection: Connection) -> list[SweepRow]:
    """All sweeps with pending work, oldest first.

    Sweeps that have not ended, and ended ones with unfinished trials or with requests to continue. Without those that
    wait for their predecessors.
    """
    open_trial = exists().where(trials.c.sweep_id == sweeps.c.id, trials.c.state.in_(_OPEN))
    retry = exists().where(trials.c.sweep_id == sweeps.c.id, trials.c.requested == TrialRequest.RETRY.value)
    added = exists().where(enqueued.c.sweep_id == sweeps.c.id, enqueued.c.trial_id.is_(None))
    not_over = sweeps.c.state.not_in([s.value for s in TERMINAL_SWEEP_STATES])
    wanted = or_(  # a failed search would fail again for added trials; a client can resume the sweep
        and_(sweeps.c.state == SweepState.FINISHED.value, or_(retry, added)),
        and_(sweeps.c.state == SweepState.FAILED.value, retry),
    )
    statement = select(sweeps).where(~sweeps.c.held, or_(not_over, open_trial, wanted)).order_by(sweeps.c.id)
    return [_row(row, {}, BuiltEnsembles()) for row in connection.execute(statement)]


def requested_updates(connection: Connection, ids: Iterable[int]) -> dict[int, SweepUpdate]:
    """The requested state, cap, priority and terms of these sweeps, by id."""
    names = ("id", "state", "reason", "wait_reason", "wait_message", "run_cap", "priority", "terms")
    columns = select(*(sweeps.c[name] for name in names))
    return {
        row.id: SweepUpdate(
            state=SweepState(row.state),
            reason=row.reason,
            run_cap=row.run_cap,
            priority=row.priority,
            terms=row.terms,
            wait=stored_wait(row.wait_reason, row.wait_message),
        )
        for row in connection.execute(columns.where(sweeps.c.id.in_(list(ids))))
    }


def _counts(connection: Connection, ids: Sequence[int]) -> dict[int, dict[TrialState, int]]:
    stored: dict[int, dict[str, int]] = {}
    for sweep_id, state, count in connection.execute(select(trial_counts).where(trial_counts.c.sweep_id.in_(ids))):
        stored.setdefault(sweep_id, {})[state] = count
    return {
        sweep_id: {state: counts[state.value] for state in TrialState if counts.get(state.value)}
        for sweep_id, counts in stored.items()
    }


def _built(connection: Connection, ids: Sequence[int]) -> dict[int, BuiltEnsembles]:
    statement = select(ensembles).where(ensembles.c.sweep_id.in_(ids)).order_by(ensembles.c.id)
    found: dict[int, BuiltEnsembles] = {}
    for row in connection.execute(statement):
        before = found.get(row.sweep_id, BuiltEnsembles())
        requested_id = before.requested_id if row.requested_by is None else row.id
        found[row.sweep_id] = BuiltEnsembles((*before.ensemble_ids, row.id), requested_id)
    return found


def _rows(connection: Connection, rows: Sequence[Row[tuple[object, ...]]]) -> list[SweepRow]:
    ids = [row._mapping["id"] for row in rows]
    counts, built, warnings = (
        _counts(connection, ids),
        _built(connection, ids),
        sweep_warnings.warnings_of(connection, ids),
    )
    return [
        _row(row, counts.get(id_, {}), built.get(id_, BuiltEnsembles()), warnings.get(id_, ()))
        for id_, row in zip(ids, rows, strict=True)
    ]


def _row(
    row: Row[tuple[object, ...]],
    counts: dict[TrialState, int],
    built: BuiltEnsembles,
    warnings: tuple[WarningRow, ...] = (),
) -> SweepRow:
    values = row._mapping
    return SweepRow(
        id=values["id"],
        name=values["name"],
        state=SweepState(values["state"]),
        reason=values["reason"],
        spec_json=values["spec"],
        metric=values["metric"],
        goal=values["goal"],
        run_cap=values["run_cap"],
        terms=values["terms"],
        priority=values["priority"],
        created_at=values["created_at"],
        started_at=values["started_at"],
        ended_at=values["ended_at"],
        over_s=values["over_s"],
        ensemble_error=values["ensemble_error"],
        warm_start=values["warm_start"],
        versions=values["versions"],
        environment=values["environment"],
        provenance=values["provenance"],
        warnings=warnings,
        wait=stored_wait(values["wait_reason"], values["wait_message"]),
        held=values["held"],
        fixed=values["fixed"],
        description=values["description"],
        project=values["project"],
        owner=values["owner"],
        archived_at=values["archived_at"],
        counts=counts,
        built=built,
    )
