"""The predecessors of sweeps: names become ids at submission; held sweeps are read and released; api and scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Row, insert, select, update

from podium.db.schema.tables import sweep_predecessors, sweeps, trial_params, trials
from podium.db.stores import event_outbox, warm_starts
from podium.db.stores.event_outbox import NewEvent
from podium.db.stores.feasible_trial_condition import FEASIBLE
from podium.db.stores.trial_params import params_of
from podium.sweep.lifecycle.database_changes import SweepReleased
from podium.sweep.lifecycle.dependent_sweep_release import (
    BestTrial,
    HeldSweep,
    Predecessor,
    Release,
    release_or_wait,
    with_fixed_values,
)
from podium.sweep.spec.predecessors import FixFrom, SweepReference
from podium.sweep.spec.program import FunctionProgram, ImportedProgram
from podium.sweep.spec.sweep_spec import SweepSpec, spec_from_json
from podium.sweep.values.errors import ConflictError, InvalidSpecError, NotFoundError, NotPossibleError, Problem
from podium.sweep.values.states import SweepState, TrialState
from podium.sweep.values.sweep_wait_reason import WAITS_FOR_SCHEDULER, Wait, stored_wait

_HELD_STATES = [SweepState.QUEUED.value, SweepState.PAUSED.value]
_NAMED = 5  # how many sweeps with the same name an error lists


@dataclass(frozen=True, slots=True)
class LinkedSweep:
    """A predecessor or successor of a sweep."""

    id: int
    name: str
    state: SweepState


@dataclass(frozen=True, slots=True)
class SweepLinks:
    """The sweeps directly before and after a sweep, by id."""

    predecessors: tuple[LinkedSweep, ...] = ()
    successors: tuple[LinkedSweep, ...] = ()


# Submission.


def resolve(connection: Connection, spec: SweepSpec, idempotency_key: str | None = None) -> SweepSpec:
    """The spec with ids instead of names of sweeps, and the sweep of `fix_from` among `after`.

    A sweep that was submitted with this key is no candidate for a name. Raises `InvalidSpecError` for an unknown sweep,
    an ambiguous name, or a sweep that cannot give the values of `fix_from`.
    """
    if not spec.after and spec.fix_from is None:
        return spec
    before = _submitted_with(connection, idempotency_key)
    problems: list[Problem] = []
    after: list[int] = []

    def add(reference: SweepReference, *where: str) -> int | None:
        try:
            found = _id_of(connection, reference, before)
        except NotFoundError as error:
            problems.append(Problem(where, str(error)))
            return None
        if found not in after:
            after.append(found)
        return found

    for index, reference in enumerate(spec.after):
        add(reference, "after", str(index))
    changes: dict[str, object] = {}
    if spec.fix_from is not None:
        source = add(spec.fix_from.sweep, "fix_from", "sweep")
        if source is not None:
            problems += _fix_from_problems(connection, spec, spec.fix_from, source)
            changes["fix_from"] = spec.fix_from.model_copy(update={"sweep": source})
    if problems:
        raise InvalidSpecError(problems)
    return spec.model_copy(update={**changes, "after": after})


def _submitted_with(connection: Connection, idempotency_key: str | None) -> int | None:
    if idempotency_key is None:
        return None
    return connection.execute(select(sweeps.c.id).where(sweeps.c.idempotency_key == idempotency_key)).scalar()


def _id_of(connection: Connection, reference: SweepReference, before: int | None) -> int:
    named = sweeps.c.id == reference if isinstance(reference, int) else sweeps.c.name == reference
    if before is not None:
        named &= sweeps.c.id < before
    found = connection.execute(select(sweeps.c.id).where(named).order_by(sweeps.c.id.desc())).scalars().all()
    if not found:
        what = f"there is no sweep {reference}" if isinstance(reference, int) else f"no sweep is named {reference!r}"
        raise NotFoundError(f"{what}; write the id or the name of a sweep that was submitted before")
    if len(found) > 1:
        ids = ", ".join(map(str, found[:_NAMED])) + (", …" if len(found) > _NAMED else "")
        raise NotFoundError(f"{len(found)} sweeps are named {reference!r}; write the id of one: {ids}")
    return int(found[0])


def _fix_from_problems(connection: Connection, spec: SweepSpec, fix_from: FixFrom, sweep_id: int) -> list[Problem]:
    """What can be known before the earlier sweep ends, or all if it has."""
    row = connection.execute(select(sweeps.c.name, sweeps.c.state, sweeps.c.spec).where(sweeps.c.id == sweep_id)).one()
    earlier, source = spec_from_json(row.spec), f"sweep {sweep_id} ({row.name})"
    if len(earlier.objectives) > 1:
        message = f"{source} has several objectives, and so no best trial; name a sweep with one objective"
        return [Problem(("fix_from", "sweep"), message)]
    if not isinstance(earlier.program, FunctionProgram | ImportedProgram):  # which may have others at run time
        problems = [
            Problem(("fix_from", "parameters", str(index)), f"{source} has no parameter {name!r}; remove it")
            for index, name in enumerate(fix_from.parameters)
            if name not in earlier.parameters
        ]
        if problems:
            return problems
    if row.state != SweepState.FINISHED.value:
        return []
    names = spec.model_copy(update={"fix_from": fix_from.model_copy(update={"sweep": sweep_id})})
    held = HeldSweep(
        0,
        SweepState.QUEUED,
        names.to_json(),
        (Predecessor(sweep_id, row.name, SweepState.FINISHED),),
        _best_of(connection, sweep_id),
    )
    step = release_or_wait(held)
    return [Problem(("fix_from",), step.message.removeprefix("fix_from: "))] if isinstance(step, Wait) else []


def add(connection: Connection, sweep_id: int, spec: SweepSpec) -> None:
    """Hold a new sweep until its predecessors have finished; `spec` is resolved."""
    if spec.after:
        rows = [{"sweep_id": sweep_id, "predecessor_id": earlier} for earlier in spec.after]
        connection.execute(insert(sweep_predecessors), rows)
        connection.execute(update(sweeps).where(sweeps.c.id == sweep_id).values(held=True))


# Held sweeps.


def held_sweeps(connection: Connection, sweep_id: int | None = None) -> list[HeldSweep]:
    """The sweeps that wait for their predecessors, oldest first; all, or one if it does."""
    statement = select(sweeps).where(sweeps.c.held, sweeps.c.state.in_(_HELD_STATES)).order_by(sweeps.c.id)
    if sweep_id is not None:
        statement = statement.where(sweeps.c.id == sweep_id)
    return [_held(connection, row) for row in connection.execute(statement).all()]


def _held(connection: Connection, row: Row[tuple[object, ...]]) -> HeldSweep:
    values = row._mapping
    predecessors = connection.execute(
        select(sweeps.c.id, sweeps.c.name, sweeps.c.state, sweeps.c.reason)
        .join(sweep_predecessors, sweep_predecessors.c.predecessor_id == sweeps.c.id)
        .where(sweep_predecessors.c.sweep_id == values["id"])
        .order_by(sweeps.c.id)
    ).all()
    source = (json.loads(values["spec"]).get("fix_from") or {}).get("sweep")
    return HeldSweep(
        sweep_id=values["id"],
        state=SweepState(values["state"]),
        spec=values["spec"],
        predecessors=tuple(Predecessor(r.id, r.name, SweepState(r.state), r.reason) for r in predecessors),
        best=None if source is None else _best_of(connection, source),
        wait=stored_wait(values["wait_reason"], values["wait_message"]),
    )


def _best_of(connection: Connection, sweep_id: int) -> BestTrial | None:
    """The best finished trial of a sweep with one objective; of equal ones, the earlier."""
    goal = connection.execute(select(sweeps.c.goal).where(sweeps.c.id == sweep_id)).scalar_one()
    best_first = trials.c.value.desc() if goal == "maximize" else trials.c.value.asc()
    finished = (trials.c.sweep_id == sweep_id) & (trials.c.state == TrialState.FINISHED.value)
    statement = select(trials.c.id, trials.c.number).where(finished, FEASIBLE).order_by(best_first, trials.c.number)
    row = connection.execute(statement.limit(1)).one_or_none()
    if row is None:
        return None
    params = params_of(connection, trial_params.c.trial_id == row.id)
    return BestTrial(row.id, row.number, params.get(row.id, {}))


def release(connection: Connection, changes: Iterable[SweepReleased]) -> None:
    """Release held sweeps, each with its values of `fix_from` and its warm start; others are left unchanged."""
    for change in changes:
        held = held_sweeps(connection, change.sweep_id)
        if held:
            _release(connection, held[0], change)


def _release(connection: Connection, held: HeldSweep, change: SweepReleased) -> None:
    spec, fixed = spec_from_json(held.spec), change.fixed
    values: dict[str, object] = {"held": False}
    if fixed is not None:
        spec = with_fixed_values(spec, fixed.params)
        values |= {"spec": spec.to_json(), "submitted_spec": held.spec, "fixed": fixed.to_json()}
    if held.state is SweepState.QUEUED:
        values |= {"wait_reason": WAITS_FOR_SCHEDULER.reason.value, "wait_message": WAITS_FOR_SCHEDULER.message}
    connection.execute(update(sweeps).where(sweeps.c.id == held.sweep_id).values(values))
    if (warm_start := warm_starts.select_for(connection, spec)) is not None:
        warm_starts.add(connection, held.sweep_id, warm_start)
    payload = {"by_client": change.by_client, "fixed": None if fixed is None else json.loads(fixed.to_json())}
    event_outbox.add(connection, [NewEvent(change.at, "sweep.released", held.sweep_id, payload=payload)])


def release_for_client(connection: Connection, sweep_id: int, at: float) -> None:
    """Release a sweep whatever the states of its predecessors. A sweep that was released before is left unchanged.

    Raises `NotFoundError`, `NotPossibleError` for one that has ended or has no predecessors, and `ConflictError` if
    `fix_from` has no usable values.
    """
    row = connection.execute(select(sweeps.c.state, sweeps.c.held).where(sweeps.c.id == sweep_id)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no sweep {sweep_id}")
    found = held_sweeps(connection, sweep_id)
    if not found:
        if row.held:
            raise NotPossibleError.of(f"a {row.state} sweep cannot be released", ())
        if not links_of(connection, [sweep_id])[sweep_id].predecessors:
            raise NotPossibleError(f"sweep {sweep_id} does not wait for other sweeps", ())
        return
    step = release_or_wait(found[0], by_client=True)
    if not isinstance(step, Release):
        raise ConflictError(step.message)
    release(connection, [SweepReleased(sweep_id, step.fixed, at, by_client=True)])


# Views.


def links_of(connection: Connection, ids: Sequence[int]) -> dict[int, SweepLinks]:
    """The direct predecessors and successors of sweeps, by id of the sweep."""
    before: dict[int, list[LinkedSweep]] = {sweep_id: [] for sweep_id in ids}
    after: dict[int, list[LinkedSweep]] = {sweep_id: [] for sweep_id in ids}
    link, other = sweep_predecessors.c, sweeps.c
    columns = (link.sweep_id, link.predecessor_id, other.name, other.state)
    joined = select(*columns).order_by(other.id)
    earlier = joined.join(sweeps, other.id == link.predecessor_id).where(link.sweep_id.in_(ids))
    later = joined.join(sweeps, other.id == link.sweep_id).where(link.predecessor_id.in_(ids))
    for row in connection.execute(earlier):
        before[row.sweep_id].append(LinkedSweep(row.predecessor_id, row.name, SweepState(row.state)))
    for row in connection.execute(later):
        after[row.predecessor_id].append(LinkedSweep(row.sweep_id, row.name, SweepState(row.state)))
    return {sweep_id: SweepLinks(tuple(before[sweep_id]), tuple(after[sweep_id])) for sweep_id in ids}
