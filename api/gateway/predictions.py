"""A prediction in Podium's own words: rows in, the answer and each member's part in it out; gateway."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from typing import Annotated, Any

import numpy as np
import orjson
from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError

from podium.api.http import npy_answer, problem_details, reject_duplicate_keys
from podium.api.http.authentication import admit, asks_itself, viewer
from podium.api.http.cancel_on_disconnect import while_there
from podium.api.http.prediction_rows import check_rows, rows_of, rows_of_npy
from podium.api.http.route_context import (
    MAX_ID,
    MAX_JSON_ROWS_BYTES,
    MAX_PREDICTION_BYTES,
    SMALL,
    ServiceContext,
    beside_if,
    body_within,
    check_count,
)
from podium.db.access.tokens import Role
from podium.db.stores import ensembles
from podium.ensemble.scoring.combine import uncertainty
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.values.ensemble_spec import Snapshot, Task, is_id
from podium.ensemble.values.prediction import MemberReport, MemberStatus, Outcome, Prediction
from podium.sweep.values.errors import BadRequestError, EnsembleError, NotFoundError

EVALUATION_MS = 60_000.0
_ID_DIGITS = len(str(MAX_ID)) + 1  # more are too many
FEW_ROWS = 100  # for which members' own outputs may be asked for by anybody
REFUSALS = {
    Outcome.SHED: (429, "Too many predictions are under way"),
    Outcome.BELOW_QUORUM: (503, "Fewer members answered than the quorum"),
    Outcome.DEADLINE: (504, "No member answered in time"),
}

router = APIRouter(prefix="/api/v1")


class _Asked(BaseModel):
    """What path and query say of a prediction."""

    ensemble: int | str  # its id, or its name
    deadline_ms: Annotated[float | None, Field(ge=1, le=600_000)] = None
    version: Annotated[int | None, Field(ge=1)] = None
    whole: bool = False
    members: bool = False

    @classmethod
    def of(cls, request: Request) -> _Asked:
        """Raises `RequestValidationError`, and `NotFoundError` for an id that no ensemble can have."""
        named = request.path_params["ensemble"]
        if is_id(named) and not 1 <= int(named[:_ID_DIGITS]) <= MAX_ID:
            raise NotFoundError(f"there is no ensemble {named[:_ID_DIGITS]}")
        try:
            return cls.model_validate({**request.query_params, "ensemble": int(named) if is_id(named) else named})
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_url=False, include_input=False)) from error


@asks_itself
async def predict(request: Request) -> Response:
    """The ensemble's answer for some rows.

    Body: `{"inputs": [[...], ...], "deadline_ms": 200}`, or an array of rows in numpy's format as
    application/x-npy. `Accept: application/x-npy` asks for the answer in that format (`npy_answer`). With `whole` in
    the query, every member must answer, within a minute whatever the ensemble's deadline, and its own outputs are
    returned too: for evaluation, so a submitter's token is needed. With `members`, the outputs of those that answered
    are returned too, of at most `FEW_ROWS` rows; null for one that did not.
    """
    await admit(request, Role.VIEWER)
    asked = _Asked.of(request)
    if asked.whole:
        await admit(request, Role.SUBMITTER)
    answers_npy = npy_answer.is_wanted(request.headers.get("accept", "").lower())
    if answers_npy and (asked.whole or asked.members):
        raise EnsembleError(
            "members: an answer in numpy's format has the ensemble's outputs alone; accept JSON instead"
        )
    aggregator: Aggregator = request.app.state.aggregator
    is_npy = request.headers.get("content-type", "").partition(";")[0] == "application/x-npy"
    if is_npy:
        content = await body_within(request, MAX_PREDICTION_BYTES)
    else:
        content = await body_within(request, MAX_JSON_ROWS_BYTES, "send an array in numpy's format, application/x-npy")
    service: ServiceContext = request.app.state.service
    snapshot = await _answering(aggregator, service, asked)  # only now: a body may take its time
    inputs, wanted_ms = await beside_if(len(content) > SMALL, lambda: _read(content, is_npy, snapshot.features))
    if asked.members and len(inputs) > FEW_ROWS:
        raise EnsembleError(f"members: their own outputs are given for at most {FEW_ROWS} rows, not {len(inputs):,}")
    if asked.whole:
        snapshot = replace(snapshot, quorum=len(snapshot.members), deadline_ms=EVALUATION_MS)
    work = aggregator.predict(snapshot, inputs, asked.deadline_ms or wanted_ms)
    prediction = await while_there(request, work)
    if prediction.outcome in REFUSALS:
        body = _answer(prediction, asked)
        return problem_details.problem(*REFUSALS[prediction.outcome], _missing(prediction), **body)
    if answers_npy:
        return npy_answer.write(prediction)
    text = await beside_if(is_large(prediction), lambda: _write(prediction, asked))
    return Response(text, media_type="application/json")


# A plain route: to have FastAPI look at parameters and dependencies would cost each prediction as much as all the rest.
router.add_route("/api/v1/ensembles/{ensemble:path}/predict", predict, methods=["POST"])


def is_large(prediction: Prediction) -> bool:
    """Whether to write the answer takes so long that the event loop should not."""
    return prediction.member_outputs is not None and prediction.member_outputs.size > SMALL // 16


def _write(prediction: Prediction, asked: _Asked) -> bytes:
    return orjson.dumps(_answer(prediction, asked), option=orjson.OPT_SERIALIZE_NUMPY)


def _read(content: bytes, is_npy: bool, features: int) -> tuple[NDArray[np.float32], float | None]:
    inputs, wanted_ms = (rows_of_npy(content), None) if is_npy else _read_json(content)
    check_rows(inputs, features)
    check_count(len(inputs))
    return inputs, wanted_ms


def _missing(prediction: Prediction) -> str:
    """Who did not answer, and why."""
    snapshot = prediction.snapshot
    said = f"{prediction.answered} of {len(snapshot.members)} members answered, the quorum is {snapshot.quorum}"
    missing = [f"{r.member_id} {r.status.value}" for r in prediction.reports if r.status is not MemberStatus.OK]
    named = f"{said} (member {', '.join(missing)})" if missing else said
    return f"{named}: {prediction.first_error}" if prediction.first_error else named


async def _answering(aggregator: Aggregator, service: ServiceContext, asked: _Asked) -> Snapshot:
    """The version that is to answer. Raises `NotFoundError`."""
    named = asked.ensemble
    traffic = aggregator.traffic_of(named) if isinstance(named, int) else aggregator.find(named)
    if traffic is None:
        state = await asyncio.to_thread(_state_of, service, named)
        raise NotFoundError(f"ensemble {named!r} is {state}: it does not answer")
    return aggregator.choose(traffic, asked.version)


def _state_of(service: ServiceContext, named: int | str) -> str:
    with service.database.read() as connection:
        row = ensembles.get(connection, named) if isinstance(named, int) else ensembles.named(connection, named)
    return str(row.state)


@router.get("/replicas", dependencies=[viewer])
async def replicas(request: Request) -> Response:
    """How each replica does, by its id: what the api shows of it."""
    aggregator: Aggregator = request.app.state.aggregator
    found = {str(replica_id): asdict(health) for replica_id, health in aggregator.health().items()}
    return Response(orjson.dumps(found), media_type="application/json")


def _read_json(content: bytes) -> tuple[NDArray[np.float32], float | None]:
    try:
        body = orjson.loads(content)
        reject_duplicate_keys.check_read(content, body)
        rows = body["inputs"]
        deadline_ms = body.get("deadline_ms")
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error
    except (TypeError, KeyError, AttributeError) as error:
        raise BadRequestError('the body must be {"inputs": [[number, ...], ...]}') from error
    if deadline_ms is not None and not (type(deadline_ms) in (int, float) and 1 <= deadline_ms <= 600_000):
        raise EnsembleError("deadline_ms: a number from 1 to 600000")
    return rows_of(rows), deadline_ms


def _part(report: MemberReport) -> dict[str, Any]:
    """By hand: `asdict` copies what need not be copied, in a third of the time that the whole answer takes."""
    return {
        "member_id": report.member_id,
        "trial_id": report.trial_id,
        "epoch": report.epoch,
        "status": report.status.value,
        "queue_ms": report.queue_ms,
        "compute_ms": report.compute_ms,
        "message": report.message,
    }


def _answer(prediction: Prediction, asked: _Asked) -> dict[str, Any]:
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
        "members": [_part(report) for report in prediction.reports],
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
        if asked.whole:
            body["member_outputs"] = prediction.member_outputs
        elif asked.members:
            said = dict(zip(prediction.answered_positions, prediction.member_outputs, strict=True))
            body["member_outputs"] = [said.get(position) for position in range(len(snapshot.members))]
    return body
