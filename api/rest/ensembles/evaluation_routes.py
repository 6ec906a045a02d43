"""Evaluations of ensembles over REST: start, list, show, outputs; api."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from podium.api.http import reject_duplicate_keys
from podium.api.http.authentication import submitter, viewer
from podium.api.http.openapi_bodies import body_of
from podium.api.http.request_body import limits_of, read_body, reads_own_body
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.ensembles.ensemble_schemas import EvaluationView
from podium.api.use_cases.ensemble_evaluation_submission import EvaluationRequest, queue_evaluation
from podium.db.stores import ensemble_evaluations, ensemble_reader
from podium.ensemble.values.ensemble_spec import Split
from podium.sweep.values.errors import BadRequestError, EnsembleError, NotFoundError

router = APIRouter(prefix="/api/v1/ensembles", tags=["ensembles"])
POLL_S = 0.02


class EvaluateBody(BaseModel):
    """What to evaluate a version on: a split of its members' data, or rows in the request."""

    model_config = ConfigDict(extra="forbid")

    split: Split | None = Field(None, description="default: test, unless rows are posted")
    inputs: list[list[float]] | None = Field(None, description="rows to evaluate on, in place of a split")
    targets: list[Any] | None = Field(None, description="for each row: the name or index of its class, or its values")
    version: int | None = Field(None, ge=1, description="default: the active version")
    force: bool = Field(False, description="allow a split that was used to make the version; the result is flagged")
    wait_s: float = Field(60.0, ge=0, le=300, description="how long to wait for the result; then 202 with its id")


class NumpyResponse(Response):
    """An array in NumPy's .npy format."""

    media_type = "application/x-npy"


@router.post(
    "/{ensemble_id}/evaluate",
    dependencies=[submitter],
    openapi_extra=body_of(EvaluateBody),
    responses={202: {"model": EvaluationView, "description": "Not finished within `wait_s`; poll it by its id."}},
)
@reads_own_body
async def evaluate_ensemble(
    ensemble_id: RowId, request: Request, response: Response, service: ServiceContext = context
) -> EvaluationView:
    """Score a version and each of its members on a split or on posted rows. 202 if it takes longer than `wait_s`."""
    content = await read_body(request, limits_of(request).array_rows_bytes)
    body = await asyncio.to_thread(_parse, content)
    evaluation = EvaluationRequest(
        version=body.version, split=body.split, inputs=body.inputs, targets=body.targets, force=body.force
    )
    evaluation_id = await asyncio.to_thread(queue_evaluation, service, ensemble_id, evaluation)
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
        await asyncio.sleep(POLL_S)


@router.get("/{ensemble_id}/evaluations", dependencies=[viewer])
def list_evaluations(ensemble_id: RowId, service: ServiceContext = context) -> list[EvaluationView]:
    """The latest evaluations of an ensemble, newest first."""
    with service.database.read() as connection:
        ensemble_reader.get(connection, ensemble_id)
        return [EvaluationView.of(row) for row in ensemble_evaluations.of_ensemble(connection, ensemble_id)]


@router.get("/{ensemble_id}/evaluations/{evaluation_id}", dependencies=[viewer])
def show_evaluation(ensemble_id: RowId, evaluation_id: RowId, service: ServiceContext = context) -> EvaluationView:
    """One evaluation, finished or not."""
    with service.database.read() as connection:
        row = ensemble_evaluations.get(connection, evaluation_id)
    if row.ensemble_id != ensemble_id:
        raise NotFoundError(f"ensemble {ensemble_id} has no evaluation {evaluation_id}")
    return EvaluationView.of(row)


@router.get(
    "/{ensemble_id}/evaluations/{evaluation_id}/probabilities", dependencies=[viewer], response_class=NumpyResponse
)
def show_probabilities(ensemble_id: RowId, evaluation_id: RowId, service: ServiceContext = context) -> NumpyResponse:
    """The ensemble's outputs: float32 of shape (rows, outputs) in NumPy's .npy format."""
    show_evaluation(ensemble_id, evaluation_id, service)
    try:
        content = service.settings.data.probabilities(evaluation_id).read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"evaluation {evaluation_id} has no result yet") from None
    return NumpyResponse(content)


def _parse(content: bytes) -> EvaluateBody:
    """NumPy checks the rows later: pydantic would be slow on millions of numbers."""
    try:
        values = orjson.loads(content or b"{}")
        reject_duplicate_keys.check_parsed(content, values)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise BadRequestError("the body must be a JSON object")
    given = {name: values.pop(name, None) for name in ("inputs", "targets")}
    posted = {name: value for name, value in given.items() if value is not None}
    try:
        body = EvaluateBody.model_validate(values)
    except ValidationError as error:
        found = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise EnsembleError(found) from None
    if len(posted) == 1:
        raise EnsembleError("inputs and targets: set both, or neither")
    if posted and body.split is not None:
        raise EnsembleError("split: cannot be combined with inputs and targets")
    return body.model_copy(update=posted)
