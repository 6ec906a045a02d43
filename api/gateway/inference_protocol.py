"""The Open Inference Protocol, version 2: an ensemble is a model there, its versions are the model's; gateway.

https://github.com/kserve/open-inference-protocol, with the extensions that `EXTENSIONS` names, so that the clients of
Triton and KServe work unchanged. The bearer token of every other route is needed here too, but for server health.

A name may have slashes. What a path says is read from its end: `/v2/models/a/versions/1` is version 1 of `a`, whatever
else is called `a/versions/1`.
"""

from __future__ import annotations

import asyncio
import re
from importlib.metadata import version as installed
from typing import Any

import orjson
from fastapi import APIRouter, HTTPException, Request, Response

from podium.api.gateway import inference_answer, inference_request
from podium.api.gateway.inference_answer import outputs_of
from podium.api.gateway.output_tensors import BYTES, FP32, INPUT
from podium.api.gateway.predictions import REFUSALS, is_large
from podium.api.http import reject_duplicate_keys
from podium.api.http.authentication import viewer
from podium.api.http.cancel_on_disconnect import while_there
from podium.api.http.inference_errors import InferenceRoute, refusal
from podium.api.http.request_decompression import ENCODINGS, unpacked
from podium.api.http.route_context import (
    MAX_JSON_ROWS_BYTES,
    MAX_PREDICTION_BYTES,
    SMALL,
    beside_if,
    body_within,
    check_count,
)
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.replica_links import can_answer
from podium.ensemble.values.ensemble_spec import EnsembleState, Snapshot, Traffic
from podium.ensemble.values.prediction import Prediction
from podium.sweep.values.errors import BadRequestError, NotFoundError

EXTENSIONS = ("binary_tensor_data", "model_configuration")
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_NOT_YET = frozenset({EnsembleState.BUILDING, EnsembleState.WARMING})
_TRITON_TYPES = {FP32: "TYPE_FP32", BYTES: "TYPE_STRING"}

router = APIRouter(prefix="/v2", tags=["inference"], route_class=InferenceRoute)


def _aggregator(request: Request) -> Aggregator:
    aggregator: Aggregator = request.app.state.aggregator
    return aggregator


@router.get("/health/live")
def server_live() -> Response:
    """This process answers; public."""
    return _json({"live": True})


@router.get("/health/ready")
async def server_ready(request: Request) -> Response:
    """Every ensemble that was ever up has its quorum; public."""
    known = [each for each in _aggregator(request).traffic() if each.state not in _NOT_YET]
    ready = all(can_answer(each.active) for each in known)
    return _json({"ready": ready}, 200 if ready else 503)


@router.get("", dependencies=[viewer])
def server_metadata() -> dict[str, Any]:
    """Who answers here."""
    return {"name": "podium", "version": installed("podium"), "extensions": EXTENSIONS}


@router.post("/repository/index", dependencies=[viewer])
async def repository_index(request: Request) -> Response:
    """Every version that answers, or is to; with `{"ready": true}` only those that do."""
    content = await body_within(request, MAX_JSON_ROWS_BYTES)
    ready_only = _ready_only(content)
    rows = [_index_row(snapshot) for traffic in _aggregator(request).traffic() for snapshot in _versions(traffic)]
    return _json([row for row in rows if row["state"] == "READY" or not ready_only])


def _ready_only(content: bytes) -> bool:
    try:
        asked = orjson.loads(content) if content else {}
        reject_duplicate_keys.check_read(content, asked)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error
    if not isinstance(asked, dict) or not isinstance(asked.get("ready", False), bool):
        raise BadRequestError('the body is nothing, or {"ready": true}')
    return bool(asked.get("ready", False))


def _index_row(snapshot: Snapshot) -> dict[str, str]:
    up = can_answer(snapshot)
    reason = "" if up else "fewer members are up than the quorum"
    return {
        "name": snapshot.name,
        "version": str(snapshot.version),
        "state": "READY" if up else "UNAVAILABLE",
        "reason": reason,
    }


# Of each pair the lower one is tried first, and must be: a name alone would match a path with a version too.


@router.get("/models/{name:path}/ready", dependencies=[viewer])
@router.get("/models/{name:path}/versions/{version}/ready", dependencies=[viewer])
async def model_ready(request: Request, name: str, version: str | None = None) -> Response:
    """Whether enough members are up for a quorum."""
    snapshot = _described(request, name, version)
    ready = can_answer(snapshot)
    return _json({"name": snapshot.name, "ready": ready}, 200 if ready else 503)


@router.get("/models/{name:path}/config", dependencies=[viewer])
@router.get("/models/{name:path}/versions/{version}/config", dependencies=[viewer])
async def model_config(request: Request, name: str, version: str | None = None) -> Response:
    """What Triton's own tools read before they ask. Rows are part of every shape, so there is no batch dimension."""
    snapshot = _described(request, name, version)
    outputs = outputs_of(snapshot).items()
    return _json(
        {
            "name": snapshot.name,
            "platform": f"podium_{snapshot.mode.value}",
            "backend": "podium",
            "max_batch_size": 0,
            "input": [{"name": INPUT, "data_type": _TRITON_TYPES[FP32], "dims": [-1, snapshot.features]}],
            "output": [{"name": n, "data_type": _TRITON_TYPES[kind], "dims": [-1, *row]} for n, (kind, row) in outputs],
        }
    )


@router.post("/models/{name:path}/infer", dependencies=[viewer])
@router.post("/models/{name:path}/versions/{version}/infer", dependencies=[viewer])
async def infer(request: Request, name: str, version: str | None = None) -> Response:
    """The ensemble's prediction for the rows in `INPUT`.

    Parameters of the request: `timeout` in microseconds is a deadline, if it is earlier than the ensemble's own.
    Parameters of the answer say how it came about, with what each member did as JSON in `members`; so do errors.
    """
    aggregator, number = _aggregator(request), _number(name, version)
    aggregator.named(name, number)  # whoever asks for what is not there need not send it all
    content, json_bytes = await _content(request)
    snapshot = aggregator.named(name, number)  # of this moment: a body may take long to come
    names = list(outputs_of(snapshot))
    asked = await beside_if(
        len(content) > SMALL, lambda: inference_request.parse(content, json_bytes, snapshot.features, names)
    )
    check_count(len(asked.inputs))
    prediction = await while_there(request, aggregator.predict(snapshot, asked.inputs, asked.deadline_ms))
    if prediction.outputs is None:
        return _no_answer(prediction)
    body, head_bytes = await beside_if(is_large(prediction), lambda: inference_answer.write(prediction, asked))
    if head_bytes is None:
        return Response(body, media_type="application/json")
    headers = {"Inference-Header-Content-Length": str(head_bytes)}
    return Response(body, headers=headers, media_type="application/octet-stream")


@router.get("/models/{name:path}", dependencies=[viewer])
@router.get("/models/{name:path}/versions/{version}", dependencies=[viewer])
async def model_metadata(request: Request, name: str, version: str | None = None) -> Response:
    """The model's versions that answer, its input and its outputs; -1 is the number of rows."""
    snapshot = _described(request, name, version)
    traffic = _aggregator(request).traffic_of(snapshot.ensemble_id)
    assert traffic is not None
    outputs = outputs_of(snapshot).items()
    return _json(
        {
            "name": snapshot.name,
            "versions": [str(each.version) for each in _versions(traffic)],
            "platform": f"podium_{snapshot.mode.value}",
            "inputs": [{"name": INPUT, "datatype": FP32, "shape": [-1, snapshot.features]}],
            "outputs": [{"name": n, "datatype": kind, "shape": [-1, *row]} for n, (kind, row) in outputs],
        }
    )


@router.api_route("/{rest:path}", methods=_METHODS, dependencies=[viewer], include_in_schema=False)
def nothing_else(request: Request, rest: str) -> Response:
    """What is left, in words that the protocol's clients can read."""
    raise NotFoundError(
        f"{request.method} /v2/{rest} is not served here: there are health, metadata, config and infer of models, and "
        "the index of the repository; ensembles are built at /api/v1/ensembles, counts are at /metrics"
    )


def _json(body: object, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")


def _versions(traffic: Traffic) -> list[Snapshot]:
    return [snapshot for snapshot in (traffic.active, traffic.canary) if snapshot is not None]


def _described(request: Request, name: str, version: str | None) -> Snapshot:
    """A version to be told of: without a number the active one, never by chance the canary."""
    aggregator = _aggregator(request)
    if version is None:
        traffic = aggregator.find(name)
        return aggregator.named(name, None) if traffic is None else traffic.active  # the former says what is wrong
    return aggregator.named(name, _number(name, version))


def _number(name: str, version: str | None) -> int | None:
    if version is None:
        return None
    if not re.fullmatch("[0-9]{1,18}", version):
        raise NotFoundError(f"ensemble {name!r} has no version {version[:40]!r}: versions are 1, 2, 3")
    return int(version)


async def _content(request: Request) -> tuple[bytes, int | None]:
    """The request's body, and how much of it is JSON if not all. Packed ones are unpacked beside the event loop."""
    stated = request.headers.get("inference-header-content-length")
    if stated is not None and not re.fullmatch("[0-9]{1,18}", stated):
        raise BadRequestError(f"Inference-Header-Content-Length: {stated[:40]!r} is not a number of bytes")
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding not in {"identity", *ENCODINGS}:
        raise HTTPException(415, f"Content-Encoding: send identity, gzip or deflate, not {encoding[:40]!r}")
    content = await body_within(request, MAX_PREDICTION_BYTES)
    if encoding != "identity":
        content = await asyncio.to_thread(unpacked, content, encoding, MAX_PREDICTION_BYTES)
    return content, None if stated is None else int(stated)


def _no_answer(prediction: Prediction) -> Response:
    status, title = REFUSALS[prediction.outcome]
    snapshot = prediction.snapshot
    said = "; ".join(f"member {each.member_id} {each.status.value}" for each in prediction.reports)
    detail = (
        f"{title}: {prediction.answered} of {len(snapshot.members)} members answered, the quorum is {snapshot.quorum}"
    )
    named = f"{detail} ({said})" if said else detail
    named = f"{named}: {prediction.first_error}" if prediction.first_error else named
    return refusal(status, title, named, parameters=inference_answer.report(prediction))
