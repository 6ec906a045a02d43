"""Ensembles over REST: build, read, evaluate, stop; predictions are handed on to the gateway; api."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Literal

import httpx2
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api.auth import submitter, viewer
from api.service import After, RowId, ServiceContext, body_within, context
from api.views import EnsembleView, EvaluationView, Page
from db import ensembles, sweeps
from ensemble.selection import Candidate, top_k
from ensemble.spec import EnsembleRequest, EnsembleState
from sweep.errors import EnsembleError, NotFoundError, ServiceError
from sweep.part import wake

router = APIRouter(prefix="/api/v1/ensembles", tags=["ensembles"])
MAX_PREDICT_BYTES = 64 << 20
EVALUATE_POLL_S = 0.02


class EvaluateBody(BaseModel):
    """What to measure an ensemble on."""

    model_config = ConfigDict(extra="forbid")

    split: Literal["validation", "calibration", "test"] = "test"
    wait_s: float = Field(60.0, ge=0, le=300, description="how long to wait; a later answer is 202 with its id")


@router.post("", status_code=201, dependencies=[submitter])
def build_ensemble(body: EnsembleRequest, response: Response, service: ServiceContext = context) -> EnsembleView:
    """Choose the members and have the host build them; poll until `state` is `ready`."""
    with service.database.write() as connection:
        goal = sweeps.get(connection, body.sweep_id).goal
        found = [Candidate(*row) for row in ensembles.candidates(connection, body.sweep_id)]
        chosen = top_k(found, body.k, goal)
        ensemble_id = ensembles.create(connection, body, [c.trial_id for c in chosen], time.time())
        row = ensembles.get(connection, ensemble_id)
    wake(service.settings.runtime.wake_socket("host"))
    response.headers["Location"] = f"/api/v1/ensembles/{ensemble_id}"
    return EnsembleView.of(row)


@router.get("", dependencies=[viewer])
def list_ensembles(
    after: After = None, limit: Annotated[int, Query(ge=1, le=200)] = 50, service: ServiceContext = context
) -> Page[EnsembleView]:
    """Ensembles, newest first."""
    with service.database.read() as connection:
        rows = ensembles.page(connection, after=after, limit=limit + 1)
    items = [EnsembleView.of(row) for row in rows[:limit]]
    return Page(items=items, next=items[-1].id if len(rows) > limit else None)


@router.get("/{ensemble_id}", dependencies=[viewer])
def show_ensemble(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """One ensemble: its state, and for each member where it runs and how it does."""
    with service.database.read() as connection:
        return EnsembleView.of(ensembles.get(connection, ensemble_id))


@router.post("/{ensemble_id}/stop", dependencies=[submitter])
def stop_ensemble(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """End the members and give their devices back; one that is stopped already stays so."""
    with service.database.write() as connection:
        ensembles.get(connection, ensemble_id)
        ensembles.change(connection, ensemble_id, EnsembleState.STOPPED, "stopped on request", time.time())
        row = ensembles.get(connection, ensemble_id)
    wake(service.settings.runtime.wake_socket("host"))
    return EnsembleView.of(row)


@router.post("/{ensemble_id}/evaluate", dependencies=[submitter])
async def evaluate_ensemble(
    ensemble_id: RowId, body: EvaluateBody, response: Response, service: ServiceContext = context
) -> EvaluationView:
    """Score the ensemble and each member on a split. 202 with an id when it takes longer than `wait_s`."""
    with service.database.write() as connection:
        ensembles.get(connection, ensemble_id)
        evaluation_id = ensembles.queue_evaluation(connection, ensemble_id, body.split, time.time())
    wake(service.settings.runtime.wake_socket("host"))
    end = time.monotonic() + body.wait_s
    while True:
        view = show_evaluation(ensemble_id, evaluation_id, service)
        if view.state == "failed":
            raise EnsembleError(view.reason)
        if view.state == "finished":
            return view
        if time.monotonic() >= end:
            response.status_code = 202
            return view
        await asyncio.sleep(EVALUATE_POLL_S)


@router.get("/{ensemble_id}/evaluations/{evaluation_id}", dependencies=[viewer])
def show_evaluation(ensemble_id: RowId, evaluation_id: RowId, service: ServiceContext = context) -> EvaluationView:
    """An evaluation, done or under way."""
    with service.database.read() as connection:
        row = ensembles.get_evaluation(connection, evaluation_id)
    if row.ensemble_id != ensemble_id:
        raise NotFoundError(f"ensemble {ensemble_id} has no evaluation {evaluation_id}")
    return EvaluationView.of(row)


@router.get("/{ensemble_id}/evaluations/{evaluation_id}/probabilities", dependencies=[viewer])
def show_probabilities(ensemble_id: RowId, evaluation_id: RowId, service: ServiceContext = context) -> Response:
    """What the ensemble said of each row, (rows, classes) float32 in numpy's format."""
    show_evaluation(ensemble_id, evaluation_id, service)
    try:
        content = service.settings.data.probabilities(evaluation_id).read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"evaluation {evaluation_id} has no result yet") from None
    return Response(content, media_type="application/x-npy")


@router.post("/{ensemble_id}/predict", dependencies=[viewer], response_class=Response)
async def predict(ensemble_id: RowId, request: Request, service: ServiceContext = context) -> Response:
    """Hand the request on to the gateway; who wants speed calls the gateway's own port."""
    content = await body_within(request, MAX_PREDICT_BYTES)
    passed = {name: request.headers[name] for name in ("content-type", "authorization") if name in request.headers}
    client = _gateway(request, service)
    try:
        answer = await client.post(
            f"/api/v1/ensembles/{ensemble_id}/predict", params=request.query_params, content=content, headers=passed
        )
    except httpx2.TransportError as error:
        raise ServiceError("the gateway is not there; `podium serve` is starting it again") from error
    kept = {name: answer.headers[name] for name in ("retry-after",) if name in answer.headers}
    return Response(answer.content, answer.status_code, kept, media_type=answer.headers.get("content-type"))


def _gateway(request: Request, service: ServiceContext) -> httpx2.AsyncClient:
    state = request.app.state
    if getattr(state, "gateway", None) is None:
        transport = httpx2.AsyncHTTPTransport(uds=str(service.settings.runtime.gateway_socket))
        state.gateway = httpx2.AsyncClient(transport=transport, base_url="http://gateway", timeout=70.0)
    client: httpx2.AsyncClient = state.gateway
    return client
