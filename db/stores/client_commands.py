"""Requests of clients for sweeps, trials and devices, validated and written in one transaction; api."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from podium.db.schema.tables import devices_aside, enqueued, trial_params, trials
from podium.db.schema.tables import sweeps as sweep_table
from podium.db.stores import devices, events, spending, sweeps, trial_annotations, trial_reader
from podium.db.stores.devices import DeviceRow
from podium.db.stores.events import NewEvent
from podium.db.stores.restored_trials import distributions_of
from podium.db.stores.sweeps import SweepRow
from podium.db.stores.trial_reader import TrialRow
from podium.sweep.lifecycle.allowed_commands import (
    SweepCommand,
    TrialCommand,
    check_accepts_trials,
    cloned_params,
    next_sweep_state,
    next_trial_request,
)
from podium.sweep.lifecycle.budget_usage import BudgetTerms, continuation_advice, exhausted_reason
from podium.sweep.lifecycle.database_changes import DeviceDrained, SweepChanged
from podium.sweep.spec.program import ImportedProgram
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.values.annotation_checks import check_count, checked_note, checked_tags
from podium.sweep.values.assignment import Params, Scalar
from podium.sweep.values.errors import ConflictError, NotFoundError, NotPossibleError
from podium.sweep.values.states import (
    COUNTED_TRIAL_STATES,
    TERMINAL_SWEEP_STATES,
    TERMINAL_TRIAL_STATES,
    SweepState,
    TrialRequest,
)

_REASON = {
    SweepCommand.PAUSE: "paused on request",
    SweepCommand.STOP: "stopped on request",
    SweepCommand.CANCEL: "cancelled on request",
}


@dataclass(frozen=True, slots=True)
class EnqueuedRow:
    """A configuration added to a sweep; `trial_id` is set once the trial exists."""

    id: int
    sweep_id: int
    params: Params
    cloned_from: int | None
    trial_id: int | None


# Sweeps.


def command_sweep(connection: Connection, sweep_id: int, command: SweepCommand, at: float) -> None:
    """Pause, resume, stop or cancel a sweep.

    Raises `NotFoundError`, and `NotPossibleError` in a state that does not allow it.
    """
    row = sweeps.get(connection, sweep_id)
    _check_runs_here(row)
    state = next_sweep_state(command, row.state, started=_started(row))
    _set_state(connection, row, state, reason=_REASON.get(command, "resumed on request"), at=at)


def extend(
    connection: Connection, sweep_id: int, run_cap: int | None, priority: float | None, at: float,
    terms: BudgetTerms | None = None,
) -> None:  # fmt: skip
    """Raise the number of trials, change the priority, or change the `terms` that are set.

    A finished or stopping sweep resumes if cap and budget allow. Raises `NotFoundError`, `NotPossibleError`, and
    `ConflictError` for a lower cap or a spent budget.
    """
    row = sweeps.get(connection, sweep_id)
    _check_runs_here(row)
    state = next_sweep_state(SweepCommand.EXTEND, row.state, started=_started(row))
    if run_cap is not None and run_cap < row.run_cap:
        raise ConflictError(f"run_cap is {row.run_cap} and can only go up, not down to {run_cap}")
    cap, before = run_cap or row.run_cap, BudgetTerms.read(row.terms)
    after = before if terms is None else before.changed(terms)
    if (run_cap is None and after == before) or cap <= _counted(row):
        state = row.state  # nothing more to run
    elif row.state is SweepState.RUNNING and _planned(connection, row) >= row.run_cap < cap:
        # The scheduler may be about to end the sweep, which it does only for a running one.
        state = SweepState.QUEUED
    elif state is not row.state:
        _check_not_exhausted(connection, row, after, at)
    values = {"run_cap": cap, "priority": priority or row.priority, "terms": after.to_json()}
    _change_terms(connection, row, values, at)
    _set_state(
        connection,
        row,
        state,
        reason=f"extended to {cap} trials" if after == before else "its budget was changed",
        at=at,
    )


def _check_runs_here(row: SweepRow) -> None:
    """Raises `NotPossibleError` for an imported sweep."""
    if isinstance(spec_from_json(row.spec_json).program, ImportedProgram):
        message = f"sweep {row.id} was imported and cannot run; submit a sweep with `warm_start: [{row.id}]`"
        raise NotPossibleError(message, ())


def _check_not_exhausted(connection: Connection, row: SweepRow, terms: BudgetTerms, at: float) -> None:
    """Raises `ConflictError` if the sweep would end again immediately."""
    used = spending.used(connection, row, terms, at)
    if reason := exhausted_reason(terms, used):
        raise ConflictError(f"{reason}; {continuation_advice(terms, used)} to resume the sweep")


def _change_terms(connection: Connection, row: SweepRow, values: dict[str, Any], at: float) -> None:
    changed = {name: value for name, value in values.items() if value != getattr(row, name)}
    if changed:
        connection.execute(update(sweep_table).where(sweep_table.c.id == row.id).values(changed))
        shown = {name: values.get(name, getattr(row, name)) for name in ("run_cap", "priority")}
        budget = {"budget": json.loads(values["terms"])} if "terms" in changed else {}
        events.add(connection, [NewEvent(at, "sweep.extended", row.id, payload=shown | budget)])


def _set_state(connection: Connection, row: SweepRow, state: SweepState, reason: str, at: float) -> None:
    if state is not row.state:
        sweeps.change(
            connection, [SweepChanged(sweep_id=row.id, old_state=row.state, state=state, reason=reason, at=at)]
        )


def _started(row: SweepRow) -> bool:
    return row.started_at is not None


def _counted(row: SweepRow) -> int:
    return sum(row.counts.get(state, 0) for state in COUNTED_TRIAL_STATES)


def _planned(connection: Connection, row: SweepRow) -> int:
    """The number of counted trials, open trials, and trials requested to be retried or added."""
    open_trials = sum(count for state, count in row.counts.items() if state not in TERMINAL_TRIAL_STATES)
    retried = select(func.count()).where(
        trials.c.sweep_id == row.id,
        trials.c.requested == TrialRequest.RETRY.value,
        trials.c.state.in_([state.value for state in TERMINAL_TRIAL_STATES]),
    )
    added = select(func.count()).where(enqueued.c.sweep_id == row.id, enqueued.c.trial_id.is_(None))
    wanted: int = connection.execute(retried).scalar_one() + connection.execute(added).scalar_one()
    return _counted(row) + open_trials + wanted


def _allow_one_more(connection: Connection, row: SweepRow, reason: str, at: float) -> None:
    """Let a sweep run one more trial: raises the cap if needed; an ended sweep resumes for this trial only."""
    needed = _planned(connection, row) + 1
    if row.state not in TERMINAL_SWEEP_STATES:
        needed = max(row.run_cap, needed)
    _change_terms(connection, row, {"run_cap": needed}, at)
    if row.state in TERMINAL_SWEEP_STATES:
        _set_state(connection, row, SweepState.QUEUED, reason=reason, at=at)


# Trials.


def command_trial(connection: Connection, trial_id: int, command: TrialCommand, at: float) -> None:
    """Request the stop or retry of a trial. Raises `NotFoundError`, and `NotPossibleError`."""
    trial = trial_reader.get(connection, trial_id)
    row = sweeps.get(connection, trial.sweep_id)
    _check_runs_here(row)
    request = next_trial_request(command, trial.state, trial.requested, row.state)
    if request is None:
        return
    if request is TrialRequest.RETRY:
        _allow_one_more(connection, row, f"trial {trial.number} is retried", at)
    connection.execute(update(trials).where(trials.c.id == trial_id).values(requested=request.value))
    _add_event(connection, trial, {"request": request.value}, at)


def clone(
    connection: Connection, trial_id: int, changed: Mapping[str, Scalar], at: float, idempotency_key: str | None = None
) -> tuple[EnqueuedRow, bool]:
    """Add a copy of a trial's configuration with some values changed; returns it, and whether it is new.

    The same key and request return the same one. Raises `NotFoundError`, `NotPossibleError`, `InvalidSpecError` for
    invalid values, and `ConflictError` for a key that was used for another request.
    """
    trial = trial_reader.get(connection, trial_id)
    row = sweeps.get(connection, trial.sweep_id)
    _check_runs_here(row)
    distributions = distributions_of(connection, trial_params.c.trial_id == trial_id).get(trial_id, {})
    params = cloned_params(spec_from_json(row.spec_json), trial.params, changed, distributions)
    known = None if idempotency_key is None else _by_key(connection, idempotency_key)
    if known is not None:
        if (known.cloned_from, known.params) != (trial_id, params):
            raise ConflictError("this Idempotency-Key was used for another clone; choose a new one")
        return known, False
    check_accepts_trials(TrialCommand.CLONE, row.state)
    _allow_one_more(connection, row, f"trial {trial.number} is cloned", at)
    values = {
        "sweep_id": row.id,
        "params": json.dumps(params),
        "distributions": json.dumps(distributions),
        "cloned_from": trial_id,
        "idempotency_key": idempotency_key,
        "created_at": at,
    }
    (added,) = connection.execute(insert(enqueued).values(values).returning(enqueued.c.id)).one()
    _add_event(connection, trial, {"request": TrialCommand.CLONE.value, "enqueued_id": added, "params": params}, at)
    return EnqueuedRow(id=added, sweep_id=row.id, params=params, cloned_from=trial_id, trial_id=None), True


def annotate(
    connection: Connection,
    trial_id: int,
    at: float,
    *,
    note: str | None = None,
    tags: Sequence[str] | None = None,
    added: Sequence[str] = (),
    removed: Sequence[str] = (),
) -> None:
    """Set the note ("": none) or the tags of a trial, or add and remove tags.

    Raises `NotFoundError`, and `InvalidSpecError` for an invalid note or tag, or too many tags.
    """
    trial = trial_reader.get(connection, trial_id)
    payload: dict[str, object] = {"number": trial.number}
    if note is not None and (text := checked_note(note)) != trial.note:
        trial_annotations.set_note(connection, trial_id, text, at)
        payload["note"] = text
    wanted = set(trial.tags if tags is None else checked_tags(tags))
    wanted = wanted - set(checked_tags(removed, "remove_tags")) | set(checked_tags(added, "add_tags"))
    if wanted != set(trial.tags):
        check_count(wanted)
        trial_annotations.set_tags(connection, trial_id, sorted(wanted))
        payload["tags"] = sorted(wanted)
    if len(payload) > 1:
        trial_annotations.add_event(connection, trial.sweep_id, trial_id, payload=payload, at=at)


def _by_key(connection: Connection, idempotency_key: str) -> EnqueuedRow | None:
    found = connection.execute(select(enqueued).where(enqueued.c.idempotency_key == idempotency_key)).one_or_none()
    if found is None:
        return None
    return EnqueuedRow(
        id=found.id,
        sweep_id=found.sweep_id,
        params=json.loads(found.params),
        cloned_from=found.cloned_from,
        trial_id=found.trial_id,
    )


def _add_event(connection: Connection, trial: TrialRow, payload: dict[str, object], at: float) -> None:
    payload = {"number": trial.number, **payload}
    events.add(connection, [NewEvent(at, "trial.requested", trial.sweep_id, trial.id, payload=payload)])


# Devices.


def drain(connection: Connection, device_id: str, reason: str, at: float) -> None:
    """Drain a device; its running trial completes. Raises `NotFoundError`."""
    device(connection, device_id)
    devices.drain(connection, [DeviceDrained(device_id, reason, at)])


def return_device(connection: Connection, device_id: str, at: float) -> None:
    """Return a drained device. Raises `NotFoundError`."""
    device(connection, device_id)
    result = connection.execute(delete(devices_aside).where(devices_aside.c.device_id == device_id))
    if result.rowcount:
        events.add(connection, [NewEvent(at, "device.returned", payload={"device": device_id})])


def device(connection: Connection, device_id: str) -> DeviceRow:
    """One device. Raises `NotFoundError` with the known ids."""
    found = {row.id: row for row in devices.all_of(connection)}
    if device_id not in found:
        raise NotFoundError(f"there is no device {device_id!r}; known: {', '.join(found) or 'none yet'}")
    return found[device_id]
