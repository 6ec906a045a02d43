"""The Open Inference Protocol, version 2: ensembles are models, with their versions; gateway.

https://github.com/kserve/open-inference-protocol, with the extensions in `EXTENSIONS`: clients of Triton and KServe
work unchanged. All routes except server health require a bearer token.

A model name may contain slashes. Paths are matched from the end: `/v2/models/a/versions/1` is version 1 of `a`, even
if an ensemble is called `a/versions/1`.
"""

from __future__ import annotations

import asyncio
import re
from importlib.metadata import version as installed
from typing import Any

import orjson
from fastapi import APIRouter, HTTPException, Request, Response
from starlette.routing import Route

from podium.api.gateway import inference_request, inference_response
from podium.api.gateway.inference_response import outputs_of
from podium.api.gateway.output_tensors import BYTES, FP32, INPUT
from podium.api.gateway.podium_format_prediction_routes import REFUSALS, is_large
from podium.api.gateway.readiness import can_answer_all
from podium.api.http import reject_duplicate_keys, request_arrival_time
from podium.api.http.authentication import authorize, authorizes_itself, public, viewer
from podium.api.http.cancel_on_disconnect import cancel_on_disconnect
from podium.api.http.inference_protocol_errors import InferenceRoute, answers_inference_errors, inference_error
from podium.api.http.request_body import check_row_count, limits_of, read_body, run_in_thread_if
from podium.api.http.request_decompression import ENCODINGS, decompress
from podium.api.http.request_limits import INLINE_SIZE
from podium.db.access.tokens import Role
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.replica_link_manager import can_answer
from podium.ensemble.values.ensemble_snapshot import Snapshot, Traffic
from podium.ensemble.values.prediction import Prediction
from podium.sweep.values.errors import BadRequestError, NotFoundError

EXTENSIONS = ("binary_tensor_data", "model_configuration")
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_TRITON_TYPES = {FP32: "TYPE_FP32", BYTES: "TYPE_STRING"}

router = APIRouter(prefix="/v2", tags=["inference"], route_class=InferenceRoute)


def _aggregator(request: Request) -> Aggregator:
    aggregator: Aggregator = request.app.state.aggregator
    return aggregator


@router.get("/health/live", dependencies=[public])
def server_live() -> Response:
    """The process is alive. Public."""
    return _json({"live": True})


@router.get("/health/ready", dependencies=[public])
async def server_ready(request: Request) -> Response:
    """Every ensemble that has been ready has its quorum. Public."""
    ready = can_answer_all(_aggregator(request))
    return _json({"ready": ready}, 200 if ready else 503)


@router.get("", dependencies=[viewer])
def server_metadata() -> dict[str, Any]:
    """Name, version and extensions of the server."""
    return {"name": "podium", "version": installed("podium"), "extensions": EXTENSIONS}


@router.post("/repository/index", dependencies=[viewer])
async def repository_index(request: Request) -> Response:
    """Every active and canary version; with `{"ready": true}` only the ready ones."""
    content = await read_body(request, limits_of(request).json_rows_bytes)
    ready_only = _ready_only(content)
    rows = [_index_row(snapshot) for traffic in _aggregator(request).ensembles.all() for snapshot in _versions(traffic)]
    return _json([row for row in rows if row["state"] == "READY" or not ready_only])


def _ready_only(content: bytes) -> bool:
    try:
        body = orjson.loads(content) if content else {}
        reject_duplicate_keys.check_parsed(content, body)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from error
    if not isinstance(body, dict) or not isinstance(body.get("ready", False), bool):
        raise BadRequestError('the body must be empty or {"ready": true}')
    return bool(body.get("ready", False))


def _index_row(snapshot: Snapshot) -> dict[str, str]:
    up = can_answer(snapshot)
    reason = "" if up else "fewer members are ready than the quorum"
    return {
        "name": snapshot.name,
        "version": str(snapshot.version),
        "state": "READY" if up else "UNAVAILABLE",
        "reason": reason,
    }


# FastAPI matches the lower decorator first, as it must: the pattern without a version matches both paths.


@router.get("/models/{name:path}/ready", dependencies=[viewer])
@router.get("/models/{name:path}/versions/{version}/ready", dependencies=[viewer])
async def model_ready(request: Request, name: str, version: str | None = None) -> Response:
    """Whether enough members are ready for the quorum."""
    snapshot = _described(request, name, version)
    ready = can_answer(snapshot)
    return _json({"name": snapshot.name, "ready": ready}, 200 if ready else 503)


@router.get("/models/{name:path}/config", dependencies=[viewer])
@router.get("/models/{name:path}/versions/{version}/config", dependencies=[viewer])
async def model_config(request: Request, name: str, version: str | None = None) -> Response:
    """The model configuration that Triton's tools read. Shapes include the rows, so there is no batch dimension."""
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


@authorizes_itself
@answers_inference_errors
async def infer(request: Request) -> Response:
    """Predict the rows in `INPUT`.

    The request parameter `timeout` (microseconds) is a deadline if it is earlier than the ensemble's. The response
    parameters report outcome and quorum, with the status of each member as JSON in `members`; so do errors.
    """
    await authorize(request, Role.VIEWER)
    name = request.path_params["name"]
    aggregator, number = _aggregator(request), _number(name, request.path_params.get("version"))
    aggregator.ensembles.named(name, number)  # fail before the body is read
    content, json_bytes = await _content(request)
    snapshot = aggregator.ensembles.named(name, number)  # again: the body may have taken long to arrive
    names = list(outputs_of(snapshot))
    limits = limits_of(request)
    parsed = await run_in_thread_if(
        len(content) > INLINE_SIZE,
        lambda: inference_request.parse(
            content, json_bytes, features=snapshot.features, outputs=names, max_json_bytes=limits.json_rows_bytes
        ),
    )
    check_row_count(len(parsed.inputs), limits.rows)
    work = aggregator.predict(snapshot, parsed.inputs, parsed.deadline_ms, request_arrival_time.arrived_s(request))
    prediction = await cancel_on_disconnect(request, work)
    if prediction.outputs is None:
        return _no_answer(prediction)
    body, head_bytes = await run_in_thread_if(
        is_large(prediction.numbers), lambda: inference_response.write(prediction, parsed)
    )
    if head_bytes is None:
        return Response(body, media_type="application/json")
    headers = {"Inference-Header-Content-Length": str(head_bytes)}
    return Response(body, headers=headers, media_type="application/octet-stream")


INFER = (
    Route("/v2/models/{name:path}/versions/{version}/infer", infer, methods=["POST"]),
    Route("/v2/models/{name:path}/infer", infer, methods=["POST"]),
)
router.routes.extend(INFER)


@router.get("/models/{name:path}", dependencies=[viewer])
@router.get("/models/{name:path}/versions/{version}", dependencies=[viewer])
async def model_metadata(request: Request, name: str, version: str | None = None) -> Response:
    """The model's active versions, its input and its outputs; -1 means the number of rows."""
    snapshot = _described(request, name, version)
    traffic = _aggregator(request).ensembles.by_id(snapshot.ensemble_id)
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
def unknown_path(request: Request, rest: str) -> Response:
    """404 for any other path, in the format of the protocol."""
    raise NotFoundError(
        f"{request.method} /v2/{rest} is not supported: /v2 has health, metadata, config and infer of models, and the "
        "repository index; build ensembles with POST /api/v1/ensembles, and read metrics at /metrics"
    )


def _json(body: object, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")


def _versions(traffic: Traffic) -> list[Snapshot]:
    return [snapshot for snapshot in (traffic.active, traffic.canary) if snapshot is not None]


def _described(request: Request, name: str, version: str | None) -> Snapshot:
    """The version to describe: the active one by default, never the canary."""
    aggregator = _aggregator(request)
    if version is None:
        traffic = aggregator.ensembles.find(name)
        return aggregator.ensembles.named(name, None) if traffic is None else traffic.active  # `named` raises the error
    return aggregator.ensembles.named(name, _number(name, version))


def _number(name: str, version: str | None) -> int | None:
    if version is None:
        return None
    if not re.fullmatch("[0-9]{1,18}", version):
        raise NotFoundError(f"ensemble {name!r} has no version {version[:40]!r}: versions are positive integers")
    return int(version)


async def _content(request: Request) -> tuple[bytes, int | None]:
    """The decompressed body, and the length of its JSON part if binary data follows it."""
    stated = request.headers.get("inference-header-content-length")
    if stated is not None and not re.fullmatch("[0-9]{1,18}", stated):
        raise BadRequestError(f"Inference-Header-Content-Length: {stated[:40]!r} must be a number of bytes")
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding not in {"identity", *ENCODINGS}:
        raise HTTPException(415, f"Content-Encoding: must be identity, gzip or deflate, not {encoding[:40]!r}")
    limit = limits_of(request).array_rows_bytes
    content = await read_body(request, limit)
    if encoding != "identity":
        content = await asyncio.to_thread(decompress, content, encoding, limit)
    return content, None if stated is None else int(stated)


def _no_answer(prediction: Prediction) -> Response:
    kind = REFUSALS[prediction.outcome]
    snapshot = prediction.snapshot
    reports = zip(snapshot.members, prediction.reports, strict=False)
    members = "; ".join(f"{member.name} {each.status.value}" for member, each in reports)
    answered = f"{prediction.answered} of {len(snapshot.members)} members answered, the quorum is {snapshot.quorum}"
    detail = f"{kind.title}: {answered}"
    named = f"{detail} ({members})" if members else detail
    named = f"{named}: {prediction.first_error}" if prediction.first_error else named
    return inference_error(kind, named, parameters=inference_response.report(prediction))
