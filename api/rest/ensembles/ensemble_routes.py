"""Ensembles over REST: build, read, evaluate, versions, stop; predictions are handed on to the gateway; api."""

from __future__ import annotations

import asyncio
import reprlib
import time
from collections.abc import Callable
from typing import Annotated, Any

import httpx2
import numpy as np
import orjson
from fastapi import APIRouter, Query, Request, Response
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors.numpy import save
from sqlalchemy import Connection

from podium.api.http import reject_duplicate_keys
from podium.api.http.authentication import submitter, viewer
from podium.api.http.body_schema import body_of
from podium.api.http.prediction_rows import check_rows, rows_of
from podium.api.http.route_context import MAX_PREDICTION_BYTES, After, RowId, ServiceContext, body_within, context
from podium.api.rest.ensembles.ensemble_models import EnsembleView, EvaluationView, Health
from podium.api.rest.models.response_models import Page
from podium.db.stores import candidates, ensemble_changes, ensembles, evaluations, sweeps
from podium.db.stores.ensembles import EnsembleRow, VersionRow
from podium.ensemble.building.version_building import Builder
from podium.ensemble.protocol.local_socket import NO_TLS
from podium.ensemble.values.ensemble_spec import (
    POSTED,
    SERVING,
    EnsembleRequest,
    MemberState,
    Split,
    Task,
    VersionRequest,
)
from podium.ensemble.values.version import NewVersion, TrialFiles, used_splits
from podium.sweep.runtime.atomic_files import write_whole
from podium.sweep.runtime.component import wake
from podium.sweep.runtime.weights_lock import building
from podium.sweep.values.errors import BadRequestError, ConflictError, EnsembleError, NotFoundError

router = APIRouter(prefix="/api/v1/ensembles", tags=["ensembles"])
EVALUATE_POLL_S = 0.02
HEALTH_S = 0.5


class EvaluateBody(BaseModel):
    """What to measure a version on: a split of the data its members were trained on, or rows posted with it."""

    model_config = ConfigDict(extra="forbid")

    split: Split | None = Field(None, description="default: test, or the rows that are posted")
    inputs: list[list[float]] | None = Field(None, description="rows to measure on, in place of a split")
    targets: list[Any] | None = Field(None, description="of each row: the class's name or number, or the values")
    version: int | None = Field(None, ge=1, description="default: the one that answers")
    force: bool = Field(False, description="measure on a split that was used to make the version; the result says so")
    wait_s: float = Field(60.0, ge=0, le=300, description="how long to wait; a later answer is 202 with its id")


@router.post("", status_code=201, dependencies=[submitter])
def build_ensemble(body: EnsembleRequest, response: Response, service: ServiceContext = context) -> EnsembleView:
    """Choose the members and have the host build them; poll until `state` is `ready`."""
    with building(service.settings.data):
        version = _decided(body, service)
        with service.database.write() as connection:
            ensemble_id = ensemble_changes.create(
                connection, body.name, _sweep_of(body, connection), version, time.time()
            )
            row = ensembles.get(connection, ensemble_id)
    _wake_host(service)
    response.headers["Location"] = f"/api/v1/ensembles/{ensemble_id}"
    return EnsembleView.of(row)


@router.get("", dependencies=[viewer])
def list_ensembles(
    after: After = None, limit: Annotated[int, Query(ge=1, le=200)] = 50, service: ServiceContext = context
) -> Page[EnsembleView]:
    """Ensembles, newest first."""
    with service.database.read() as connection:
        rows = ensembles.page(connection, after=after, limit=limit + 1)
    health = _health(service)
    items = [EnsembleView.of(row, health) for row in rows[:limit]]
    return Page(items=items, next=items[-1].id if len(rows) > limit else None)


@router.get("/{ensemble_id}", dependencies=[viewer])
def show_ensemble(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """One ensemble: its state, and for each member where it runs and how it does."""
    with service.database.read() as connection:
        row = ensembles.get(connection, ensemble_id)
    return EnsembleView.of(row, _health(service))


# Versions and life.


@router.post("/{ensemble_id}/versions", status_code=201, dependencies=[submitter])
def add_version(ensemble_id: RowId, body: VersionRequest, service: ServiceContext = context) -> EnsembleView:
    """Build another version: it takes over as soon as it is ready, or answers a share of the requests as a canary."""
    with service.database.read() as connection:
        before = ensembles.get(connection, ensemble_id).active
    with building(service.settings.data):
        version = _decided(body, service)
        _check_replaces(before, version)
        at = time.time()
        return _change(
            service, ensemble_id, lambda c: ensemble_changes.add_version(c, ensemble_id, version, body.canary_share, at)
        )  # fmt: skip


@router.post("/{ensemble_id}/promote", dependencies=[submitter])
def promote_canary(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """The canary answers everything from now on."""
    return _change(service, ensemble_id, lambda c: ensemble_changes.promote(c, ensemble_id, time.time()))


@router.post("/{ensemble_id}/rollback", dependencies=[submitter])
def roll_back(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """Give up the version on its way, or go back to the one before; it takes over when it is ready."""
    return _change(service, ensemble_id, lambda c: ensemble_changes.roll_back(c, ensemble_id, time.time()))


@router.post("/{ensemble_id}/stop", dependencies=[submitter])
def stop_ensemble(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """End the members and give their devices back; one that is stopped already stays so."""
    return _change(service, ensemble_id, lambda c: ensemble_changes.stop(c, ensemble_id, time.time()))


@router.post("/{ensemble_id}/start", dependencies=[submitter])
def start_ensemble(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """Have the members of a stopped ensemble again; one that runs goes on, and what failed of it is tried again."""
    return _change(service, ensemble_id, lambda c: ensemble_changes.start(c, ensemble_id, time.time()))


@router.post("/{ensemble_id}/retire", dependencies=[submitter])
def retire_ensemble(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """End it for good; what was measured stays."""
    return _change(service, ensemble_id, lambda c: ensemble_changes.retire(c, ensemble_id, time.time()))


def _change(service: ServiceContext, ensemble_id: int, change: Callable[[Connection], object]) -> EnsembleView:
    with service.database.write() as connection:
        change(connection)
        row = ensembles.get(connection, ensemble_id)
    _wake_host(service)
    wake(service.settings.runtime.wake_socket("gateway"))
    return EnsembleView.of(row)


def _decided(body: EnsembleRequest, service: ServiceContext) -> NewVersion:
    return Builder(service.settings.data).build(body, trials_of(body, service))


def trials_of(body: EnsembleRequest, service: ServiceContext) -> list[TrialFiles]:
    """What may be chosen from. Raises `NotFoundError` for a sweep or a trial that is not there."""
    with service.database.read() as connection:
        if body.trial_ids is not None:
            return candidates.named(connection, body.trial_ids)
        assert body.sweep_id is not None
        sweeps.get(connection, body.sweep_id)
        return candidates.of_sweep(connection, body.sweep_id)


def _sweep_of(body: EnsembleRequest, connection: Connection) -> int | None:
    """The one sweep that the members come from, if it is one."""
    if body.trial_ids is None:
        return body.sweep_id
    found = {trial.sweep_id for trial in candidates.named(connection, body.trial_ids)}
    return found.pop() if len(found) == 1 else None


def _check_replaces(before: VersionRow, version: NewVersion) -> None:
    """Clients of an ensemble count on what goes in and what comes out."""
    if (before.features, before.classes) != (version.features, version.classes):
        raise EnsembleError(
            f"the new version takes {version.features} inputs and knows {len(version.classes)} outputs, the one before "
            f"{before.features} and {len(before.classes)}, or they differ in name; build another ensemble"
        )


def _wake_host(service: ServiceContext) -> None:
    wake(service.settings.runtime.wake_socket("host"))


def _health(service: ServiceContext) -> Health:
    """What the gateway knows of each replica; nothing while it is away."""
    try:
        transport = httpx2.HTTPTransport(uds=str(service.settings.runtime.gateway_socket), verify=NO_TLS)
        with httpx2.Client(transport=transport, base_url="http://gateway", timeout=HEALTH_S, trust_env=False) as client:
            token = service.settings.data.admin_token.read_text().strip()
            answer = client.get("/api/v1/replicas", headers={"Authorization": f"Bearer {token}"})
        found: Health = answer.json() if answer.status_code == 200 else {}
    except (httpx2.HTTPError, OSError):
        return {}
    return found


# Evaluation.


@router.post(
    "/{ensemble_id}/evaluate",
    dependencies=[submitter],
    openapi_extra=body_of(EvaluateBody),
    responses={202: {"model": EvaluationView, "description": "It takes longer; ask for it by its id."}},
)
async def evaluate_ensemble(
    ensemble_id: RowId, request: Request, response: Response, service: ServiceContext = context
) -> EvaluationView:
    """Score a version and each member on a split or on posted rows. 202 when it takes longer than `wait_s`."""
    content = await body_within(request, MAX_PREDICTION_BYTES)
    body = await asyncio.to_thread(_read_evaluate, content)
    evaluation_id = await asyncio.to_thread(_queue_evaluation, ensemble_id, body, service)
    _wake_host(service)
    end = time.monotonic() + body.wait_s
    while True:
        view = await asyncio.to_thread(show_evaluation, ensemble_id, evaluation_id, service)
        if view.state == "failed":
            raise EnsembleError(view.reason)
        if view.state == "finished":
            return view
        if time.monotonic() >= end:
            response.status_code = 202
            return view
        await asyncio.sleep(EVALUATE_POLL_S)


@router.get("/{ensemble_id}/evaluations", dependencies=[viewer])
def list_evaluations(ensemble_id: RowId, service: ServiceContext = context) -> list[EvaluationView]:
    """The last evaluations of an ensemble, newest first."""
    with service.database.read() as connection:
        ensembles.get(connection, ensemble_id)
        return [EvaluationView.of(row) for row in evaluations.of_ensemble(connection, ensemble_id)]


@router.get("/{ensemble_id}/evaluations/{evaluation_id}", dependencies=[viewer])
def show_evaluation(ensemble_id: RowId, evaluation_id: RowId, service: ServiceContext = context) -> EvaluationView:
    """An evaluation, done or under way."""
    with service.database.read() as connection:
        row = evaluations.get(connection, evaluation_id)
    if row.ensemble_id != ensemble_id:
        raise NotFoundError(f"ensemble {ensemble_id} has no evaluation {evaluation_id}")
    return EvaluationView.of(row)


class NumpyResponse(Response):
    """An array in numpy's own format."""

    media_type = "application/x-npy"


@router.get(
    "/{ensemble_id}/evaluations/{evaluation_id}/probabilities", dependencies=[viewer], response_class=NumpyResponse
)
def show_probabilities(ensemble_id: RowId, evaluation_id: RowId, service: ServiceContext = context) -> NumpyResponse:
    """What the ensemble said of each row, (rows, outputs) float32 in numpy's format."""
    show_evaluation(ensemble_id, evaluation_id, service)
    try:
        content = service.settings.data.probabilities(evaluation_id).read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"evaluation {evaluation_id} has no result yet") from None
    return NumpyResponse(content)


def _read_evaluate(content: bytes) -> EvaluateBody:
    """The rows are checked by numpy: a model of a million lists would take its time."""
    try:
        values = orjson.loads(content or b"{}")
        reject_duplicate_keys.check_read(content, values)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise BadRequestError("the body must be an object")
    given = {name: values.pop(name, None) for name in ("inputs", "targets")}
    posted = {name: value for name, value in given.items() if value is not None}
    try:
        body = EvaluateBody.model_validate(values)
    except ValidationError as error:
        found = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise EnsembleError(found) from None
    if len(posted) == 1:
        raise EnsembleError("inputs and targets: post both, or neither")
    if posted and body.split is not None:
        raise EnsembleError("split: leave it out where rows are posted")
    return body.model_copy(update=posted)


def _queue_evaluation(ensemble_id: int, body: EvaluateBody, service: ServiceContext) -> int:
    with service.database.read() as connection:
        row = ensembles.get(connection, ensemble_id)
    version = _answering(row, body.version)
    _check_complete(version)
    split = POSTED if body.inputs is not None else (body.split or Split.TEST).value
    _check_unused(version, split, forced=body.force)
    rows = None if body.inputs is None else _posted_rows(body, version)
    with service.database.write() as connection:
        evaluation_id = evaluations.queue(
            connection, ensemble_id, version.number, split, forced=body.force, at=time.time()
        )  # fmt: skip
        if rows is not None:  # before the transaction ends: the host must find it
            write_whole(service.settings.data.posted_rows(evaluation_id), rows)
    return evaluation_id


def _answering(row: EnsembleRow, number: int | None) -> VersionRow:
    if row.state not in SERVING:
        reason = f" ({row.reason})" if row.reason else ""
        raise ConflictError(f"ensemble {row.id} is {row.state.value}{reason}; it can be evaluated when it is ready")
    if number is None:
        return row.active
    if number not in row.versions:
        raise NotFoundError(f"ensemble {row.id} has no version {number}")
    if number not in (row.version, row.canary):
        raise ConflictError(f"version {number} of ensemble {row.id} does not answer now")
    return row.versions[number]


def _check_complete(version: VersionRow) -> None:
    """What is measured is the whole: a degraded version answers, but cannot be measured."""
    for member in version.members:
        if all(replica.state is not MemberState.READY for replica in member.replicas):
            replica = member.replicas[0]
            reason = f" ({replica.reason})" if replica.reason else ""
            raise ConflictError(
                f"all members are needed for an evaluation: member {member.position} is {replica.state.value}{reason}"
            )


def _check_unused(version: VersionRow, split: str, *, forced: bool) -> None:
    for used, reason in used_splits(version.selection).items():
        if used.value == split and not forced:
            raise EnsembleError(
                f"split: {reason}, so figures on it would flatter; measure on test, or force it and have it flagged"
            )


def _posted_rows(body: EvaluateBody, version: VersionRow) -> bytes:
    inputs = rows_of(body.inputs)
    check_rows(inputs, version.features)
    assert body.targets is not None
    if not isinstance(body.targets, list) or len(body.targets) != len(inputs):
        raise EnsembleError(f"targets: one for each of the {len(inputs)} rows of inputs")
    regression = version.combination.task is Task.REGRESSION
    targets = _target_values(body.targets, version) if regression else _target_classes(body.targets, version)
    content: bytes = save({"inputs": inputs, "targets": targets})
    return content


def _target_classes(targets: list[Any], version: VersionRow) -> NDArray[Any]:
    numbers = {name: number for number, name in enumerate(version.classes)}
    found = []
    for row, target in enumerate(targets):
        number = numbers.get(target) if isinstance(target, str) else target
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(version.classes):
            raise EnsembleError(
                f"targets: {reprlib.repr(target)} in row {row} is no class; there are {', '.join(version.classes)}"
            )
        found.append(number)
    return np.asarray(found, dtype=np.int64)


def _target_values(targets: list[Any], version: VersionRow) -> NDArray[Any]:
    values = rows_of([[t] if isinstance(t, int | float) else t for t in targets], "targets")
    if values.shape != (len(targets), len(version.classes)) or not np.isfinite(values).all():
        raise EnsembleError(f"targets: {len(version.classes)} finite values for each row")
    return values
