"""A prediction in Podium's own words: rows in, the answer and each member's part in it out; gateway."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any

import numpy as np
import orjson
from fastapi import APIRouter, Query, Request, Response
from numpy.typing import NDArray

from api import problems
from api.auth import viewer
from api.departure import while_there
from api.inputs import check_rows, rows_of, rows_of_npy
from api.service import MAX_JSON_ROWS_BYTES, MAX_PREDICTION_BYTES, RowId, ServiceContext, body_within, context
from db import ensembles
from ensemble.aggregator import Aggregator
from ensemble.combine import uncertainty
from ensemble.prediction import MemberStatus, Outcome, Prediction
from ensemble.spec import Snapshot, Task
from sweep.errors import BadRequestError, EnsembleError, NotFoundError

EVALUATION_MS = 60_000.0
REFUSALS = {
    Outcome.SHED: (429, "Too many predictions are under way"),
    Outcome.BELOW_QUORUM: (503, "Fewer members answered than the quorum"),
    Outcome.DEADLINE: (504, "No member answered in time"),
}

router = APIRouter(prefix="/api/v1")


@router.post("/ensembles/{ensemble_id}/predict", dependencies=[viewer])
async def predict(
    ensemble_id: RowId,
    request: Request,
    deadline_ms: Annotated[float | None, Query(ge=1, le=600_000)] = None,
    version: Annotated[int | None, Query(ge=1)] = None,
    whole: bool = False,
    service: ServiceContext = context,
) -> Response:
    """The ensemble's answer for some rows.

    Body: `{"inputs": [[...], ...], "deadline_ms": 200}`, or an array of rows in numpy's format as
    application/x-npy. With `whole`, every member must answer, however long it takes, and its own outputs are
    returned too: for evaluation.
    """
    aggregator: Aggregator = request.app.state.aggregator
    is_npy = request.headers.get("content-type", "").partition(";")[0] == "application/x-npy"
    if is_npy:
        content = await body_within(request, MAX_PREDICTION_BYTES)
    else:
        content = await body_within(request, MAX_JSON_ROWS_BYTES, "send an array in numpy's format, application/x-npy")
    snapshot = _answering(aggregator, service, ensemble_id, version)  # only now: a body may take its time
    inputs, wanted_ms = (rows_of_npy(content), None) if is_npy else _read_json(content)
    check_rows(inputs, snapshot.features)
    deadline_ms = deadline_ms or wanted_ms
    if whole:
        snapshot = replace(snapshot, quorum=len(snapshot.members), deadline_ms=EVALUATION_MS)
    prediction = await while_there(request, aggregator.predict(snapshot, inputs, deadline_ms))
    body = _answer(prediction, whole)
    if prediction.outcome in REFUSALS:
        return problems.problem(*REFUSALS[prediction.outcome], _missing(prediction), **body)
    return Response(orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json")


def _missing(prediction: Prediction) -> str:
    """Who did not answer, and why."""
    snapshot = prediction.snapshot
    said = f"{prediction.answered} of {len(snapshot.members)} members answered, the quorum is {snapshot.quorum}"
    missing = [f"{r.member_id} {r.status.value}" for r in prediction.reports if r.status is not MemberStatus.OK]
    return f"{said} (member {', '.join(missing)})" if missing else said


def _answering(aggregator: Aggregator, service: ServiceContext, ensemble_id: int, version: int | None) -> Snapshot:
    """The version that is to answer. Raises `NotFoundError`."""
    traffic = aggregator.traffic_of(ensemble_id)
    if traffic is None:
        with service.database.read() as connection:
            row = ensembles.get(connection, ensemble_id)
        raise NotFoundError(f"ensemble {ensemble_id} is {row.state}: it does not answer")
    return aggregator.choose(traffic, version)


@router.get("/replicas", dependencies=[viewer])
async def replicas(request: Request) -> Response:
    """How each replica does, by its id: what the api shows of it."""
    aggregator: Aggregator = request.app.state.aggregator
    found = {str(replica_id): asdict(health) for replica_id, health in aggregator.health().items()}
    return Response(orjson.dumps(found), media_type="application/json")


def _read_json(content: bytes) -> tuple[NDArray[np.float32], float | None]:
    try:
        body = orjson.loads(content)
        rows = body["inputs"]
        deadline_ms = body.get("deadline_ms")
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error
    except (TypeError, KeyError, AttributeError) as error:
        raise BadRequestError('the body must be {"inputs": [[number, ...], ...]}') from error
    if deadline_ms is not None and not (isinstance(deadline_ms, int | float) and 1 <= deadline_ms <= 600_000):
        raise EnsembleError("deadline_ms: a number from 1 to 600000")
    return rows_of(rows), deadline_ms


def _answer(prediction: Prediction, whole: bool) -> dict[str, Any]:
    snapshot = prediction.snapshot
    body: dict[str, Any] = {
        "ensemble": snapshot.name,
        "version": snapshot.version,
        "mode": snapshot.mode.value,
        "outcome": prediction.outcome.value,
        "requested": len(snapshot.members),
        "answered": prediction.answered,
        "quorum": snapshot.quorum,
        "degraded": prediction.outcome is not Outcome.OK,
        "members": [{**asdict(report), "status": report.status.value} for report in prediction.reports],
        "deadline_ms": prediction.deadline_ms,
        "total_ms": prediction.total_ms,
    }
    if prediction.outputs is not None and prediction.member_outputs is not None:
        doubt = uncertainty(
            snapshot.combination, prediction.member_outputs, prediction.outputs, prediction.answered_positions
        )
        body |= {"outputs": prediction.outputs, "weights": prediction.weights}
        if snapshot.combination.task is Task.CLASSIFICATION:
            labels = [snapshot.classes[index] for index in prediction.outputs.argmax(axis=1)]
            body |= {"labels": labels, "entropy": doubt.entropy, "mutual_information": doubt.mutual_information}
        else:
            body |= {"variance": doubt.variance, "disagreement": doubt.disagreement}
        if whole:
            body["member_outputs"] = prediction.member_outputs
    return body
