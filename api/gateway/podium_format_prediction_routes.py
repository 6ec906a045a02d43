"""Predictions in Podium's own format, with the part of each member; gateway."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import numpy as np
import orjson
from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError
from starlette.routing import Route

from podium.api.gateway.gateway_counter_totals import GatewayCounterTotals, summed
from podium.api.http import npy_response, problem_details, reject_duplicate_keys, request_arrival_time
from podium.api.http.authentication import authorize, authorizes_itself, viewer
from podium.api.http.cancel_on_disconnect import cancel_on_disconnect
from podium.api.http.prediction_rows import check_rows, rows_of, rows_of_npy
from podium.api.http.problem_details import ProblemType
from podium.api.http.request_body import check_row_count, limits_of, read_body, run_in_thread_if
from podium.api.http.request_limits import (
    INLINE_SIZE,
    MAX_ID,
    MAX_ROWS,
    MAX_ROWS_WITH_MEMBERS,
)
from podium.api.http.service_context import ServiceContext
from podium.db.access.tokens import Role
from podium.db.stores import ensemble_reader
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.values.ensemble_snapshot import Member, Snapshot, Traffic
from podium.ensemble.values.ensemble_spec import MAX_DEADLINE_MS, Task, is_id
from podium.ensemble.values.prediction import MemberReport, MemberStatus, Outcome, Prediction
from podium.sweep.values.errors import BadRequestError, EnsembleError, NotFoundError

EVALUATION_MS = 60_000.0
_ID_DIGITS = len(str(MAX_ID)) + 1  # an id with more digits is invalid
REFUSALS = {
    Outcome.SHED: ProblemType.TOO_MANY_PREDICTIONS,
    Outcome.BELOW_QUORUM: ProblemType.BELOW_QUORUM,
    Outcome.DEADLINE: ProblemType.DEADLINE_EXCEEDED,
}

router = APIRouter(prefix="/api/v1")


@dataclass(frozen=True, slots=True)
class _Parameters:
    """Path and query parameters of a prediction."""

    ensemble: int | str  # id or name
    deadline_ms: Annotated[float | None, Field(ge=1, le=MAX_DEADLINE_MS)] = None
    version: Annotated[int | None, Field(ge=1)] = None
    whole: bool = False
    members: bool = False

    @classmethod
    def of(cls, request: Request) -> _Parameters:
        """Raises `RequestValidationError`, and `NotFoundError` for an id out of range."""
        named = request.path_params["ensemble"]
        if is_id(named) and not 1 <= int(named[:_ID_DIGITS]) <= MAX_ID:
            raise NotFoundError(f"there is no ensemble {named[:_ID_DIGITS]}")
        ensemble = int(named) if is_id(named) else named
        if not request.scope["query_string"]:
            return cls(ensemble=ensemble)
        try:
            return _PARAMETERS.validate_python({**request.query_params, "ensemble": ensemble})
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_url=False, include_input=False)) from error


_PARAMETERS = TypeAdapter(_Parameters)
_DEFAULTS = _Parameters("")


@authorizes_itself
async def predict(request: Request) -> Response:
    """Predict rows with an ensemble.

    Body: `{"inputs": [[...], ...], "deadline_ms": 200}`, or an array in NumPy's .npy format (application/x-npy).
    `Accept: application/x-npy` requests the response in that format (`npy_response`). With `members`, the response
    includes the outputs of each member, null for a member that did not answer, for at most `MAX_ROWS_WITH_MEMBERS`
    rows. With `whole`, all members must answer, within a minute regardless of the ensemble's deadline, and their
    outputs are included; this is for evaluation and requires the role submitter.
    """
    await authorize(request, Role.VIEWER)
    parameters = _Parameters.of(request)
    if parameters.whole:
        await authorize(request, Role.SUBMITTER)
    answers_npy = npy_response.accepts_npy(request.headers.get("accept", "").lower())
    if answers_npy and (parameters.whole or parameters.members):
        raise EnsembleError("members: not available in .npy format; accept application/json instead")
    aggregator: Aggregator = request.app.state.aggregator
    is_npy = request.headers.get("content-type", "").partition(";")[0] == "application/x-npy"
    limits = limits_of(request)
    if is_npy:
        content = await read_body(request, limits.array_rows_bytes)
    else:
        content = await read_body(request, limits.json_rows_bytes, "send a .npy array (application/x-npy)")
    service: ServiceContext = request.app.state.service
    snapshot = await _version_for(aggregator, service, parameters)  # after the body, which may take long to arrive
    inputs, deadline_ms = await run_in_thread_if(
        len(content) > INLINE_SIZE, lambda: read_rows(content, snapshot.features, limits.rows, is_npy=is_npy)
    )
    if parameters.members and len(inputs) > MAX_ROWS_WITH_MEMBERS:
        raise EnsembleError(f"members: at most {MAX_ROWS_WITH_MEMBERS} rows, not {len(inputs):,}")
    if parameters.whole:
        snapshot = replace(snapshot, quorum=len(snapshot.members), deadline_ms=EVALUATION_MS)
    work = aggregator.predict(
        snapshot, inputs, parameters.deadline_ms or deadline_ms, request_arrival_time.arrived_s(request)
    )
    prediction = await cancel_on_disconnect(request, work)
    if prediction.outcome in REFUSALS:
        return refused(prediction, parameters)
    if answers_npy:
        return npy_response.write(prediction)
    text = await run_in_thread_if(is_large(prediction.numbers), lambda: serialize(prediction, parameters))
    return Response(text, media_type="application/json")


PREDICT = Route("/api/v1/ensembles/{ensemble:path}/predict", predict, methods=["POST"])
router.routes.append(PREDICT)


def is_large(numbers: int) -> bool:
    """Whether serializing a prediction from this number of member outputs would block the event loop."""
    return numbers > INLINE_SIZE // 16


def serialize(prediction: Prediction, parameters: _Parameters = _DEFAULTS) -> bytes:
    """The body of a response."""
    return orjson.dumps(_answer(prediction, parameters), option=orjson.OPT_SERIALIZE_NUMPY)


def refused(prediction: Prediction, parameters: _Parameters = _DEFAULTS) -> Response:
    """The response to a request whose outcome is one of `REFUSALS`."""
    body = _answer(prediction, parameters)
    return problem_details.problem(REFUSALS[prediction.outcome], _missing(prediction), **body)


def read_rows(
    content: bytes, features: int, max_rows: int = MAX_ROWS, *, is_npy: bool = False
) -> tuple[NDArray[np.float32], float | None]:
    """The rows of a body, (rows, features), and its deadline in milliseconds. Raises `PodiumError`, `HTTPException`."""
    inputs, deadline_ms = (rows_of_npy(content), None) if is_npy else _read_json(content)
    check_rows(inputs, features)
    check_row_count(len(inputs), max_rows)
    return inputs, deadline_ms


def traffic_of(aggregator: Aggregator, named: str) -> Traffic | None:
    """The ensemble with this id or name; None if it does not answer predictions."""
    if not is_id(named):
        return aggregator.ensembles.find(named)
    return aggregator.ensembles.by_id(int(named)) if len(named) < _ID_DIGITS else None


def _missing(prediction: Prediction) -> str:
    """The members that did not answer, and why."""
    snapshot = prediction.snapshot
    detail = f"{prediction.answered} of {len(snapshot.members)} members answered, the quorum is {snapshot.quorum}"
    reports = zip(snapshot.members, prediction.reports, strict=False)
    missing = [f"{member.name} {r.status.value}" for member, r in reports if r.status is not MemberStatus.OK]
    named = f"{detail} ({', '.join(missing)})" if missing else detail
    return f"{named}: {prediction.first_error}" if prediction.first_error else named


async def _version_for(aggregator: Aggregator, service: ServiceContext, parameters: _Parameters) -> Snapshot:
    """The version that answers this request. Raises `NotFoundError`."""
    named = parameters.ensemble
    traffic = aggregator.ensembles.by_id(named) if isinstance(named, int) else aggregator.ensembles.find(named)
    if traffic is None:
        state = await asyncio.to_thread(_state_of, service, named)
        raise NotFoundError(f"ensemble {named!r} is {state} and does not answer predictions")
    return aggregator.ensembles.choose(traffic, parameters.version)


def _state_of(service: ServiceContext, named: int | str) -> str:
    with service.database.read() as connection:
        row = (
            ensemble_reader.get(connection, named)
            if isinstance(named, int)
            else ensemble_reader.named(connection, named)
        )
    return str(row.state)


@router.get("/replicas", dependencies=[viewer])
async def replicas(request: Request) -> Response:
    """Health of each replica by id, as all gateway processes together see it, for the api process."""
    exchange: GatewayCounterTotals = request.app.state.gateway_counter_totals
    figures = summed(await exchange.shares())
    found = {str(replica_id): asdict(health) for replica_id, health in figures.health.items()}
    return Response(orjson.dumps(found), media_type="application/json")


def _read_json(content: bytes) -> tuple[NDArray[np.float32], float | None]:
    try:
        body = orjson.loads(content)
        reject_duplicate_keys.check_parsed(content, body)
        rows = body["inputs"]
        deadline_ms = body.get("deadline_ms")
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error
    except (TypeError, KeyError, AttributeError) as error:
        raise BadRequestError('the body must be {"inputs": [[number, ...], ...]}') from error
    if deadline_ms is not None and not (type(deadline_ms) in (int, float) and 1 <= deadline_ms <= MAX_DEADLINE_MS):
        raise EnsembleError(f"deadline_ms: must be a number from 1 to {MAX_DEADLINE_MS}")
    return rows_of(rows), deadline_ms


def _report(member: Member, report: MemberReport) -> dict[str, Any]:
    """Not `msgspec.structs.asdict`, whose dictionary would be merged with the fields of the member."""
    return {
        "member_id": report.member_id,
        "trial_id": report.trial_id,
        "trial_number": member.trial_number,
        "sweep_id": member.sweep_id,
        "epoch": report.epoch,
        "status": report.status.value,
        "queue_ms": report.queue_ms,
        "compute_ms": report.compute_ms,
        "message": report.message,
    }


def _answer(prediction: Prediction, parameters: _Parameters) -> dict[str, Any]:
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
        "members": [_report(*each) for each in zip(snapshot.members, prediction.reports, strict=False)],
        "deadline_ms": prediction.deadline_ms,
        "total_ms": prediction.total_ms,
    }
    if prediction.outputs is not None and prediction.member_outputs is not None:
        found = prediction.uncertainty()
        body |= {"outputs": prediction.outputs, "weights": prediction.weights}
        if snapshot.combination.task is Task.CLASSIFICATION:
            labels = [snapshot.classes[index] for index in prediction.outputs.argmax(axis=1)]
            body |= {"labels": labels, "entropy": found.entropy, "mutual_information": found.mutual_information}
        else:
            body |= {"variance": found.variance, "disagreement": found.disagreement}
        if parameters.whole:
            body["member_outputs"] = prediction.member_outputs
        elif parameters.members:
            outputs = dict(zip(prediction.answered_positions, prediction.member_outputs, strict=True))
            body["member_outputs"] = [outputs.get(position) for position in range(len(snapshot.members))]
    return body
