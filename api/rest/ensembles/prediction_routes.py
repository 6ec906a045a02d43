"""Predictions that come to the api go on to the gateway, through its Unix socket, as they are; api.

Who wants speed calls the gateway's own port.
"""

from __future__ import annotations

import logging
from typing import Annotated

import httpx2
from fastapi import APIRouter, FastAPI, Path, Request, Response

from podium.api.http import npy_answer
from podium.api.http.authentication import doorkeeper_of, session_of, viewer
from podium.api.http.cancel_on_disconnect import while_there
from podium.api.http.inference_errors import InferenceRoute
from podium.api.http.route_context import MAX_PREDICTION_BYTES, ServiceContext, body_within, context
from podium.api.rest.ensembles.prediction_schema import PredictBody, PredictionView
from podium.ensemble.protocol.local_socket import NO_TLS
from podium.sweep.runtime.settings import ServiceSettings
from podium.sweep.values.errors import NotFoundError, ServiceError

LONGEST_ANSWER_S = 610.0  # the longest deadline, and a little
MAX_CONNECTIONS = 1024
IDLE_S = 2.0  # then a connection is closed here, before the gateway closes it under a request that is on its way
ASKED = frozenset(
    {b"accept", b"authorization", b"content-encoding", b"content-type", b"inference-header-content-length"}
)
ANSWERED = (
    "content-type",
    "inference-header-content-length",
    "retry-after",
    "www-authenticate",
    *map(str.lower, npy_answer.HEADERS),
)
IdOrName = Annotated[int | str, Path(description="id or name of an ensemble")]

_PREDICT = {
    "requestBody": {"content": {"application/json": {"schema": PredictBody.model_json_schema()}}},
    "parameters": [
        {"name": name, "in": "query", "required": False, "schema": {"type": "boolean"}, "description": why}
        for name, why in (("members", "with each member's own outputs"), ("whole", "only if all members answer"))
    ],
}

_NPY = {npy_answer.NPY: {"schema": {"type": "string", "format": "binary", "description": "the outputs alone"}}}

predictions = APIRouter(prefix="/api/v1/ensembles", tags=["ensembles"])
inference = APIRouter(prefix="/v2", tags=["inference"], route_class=InferenceRoute)


@predictions.post(
    "/{ensemble_id:path}/predict",
    dependencies=[viewer],
    response_class=Response,
    responses={200: {"model": PredictionView, "description": "the answer", "content": _NPY}},
    openapi_extra=_PREDICT,
)
async def predict(ensemble_id: IdOrName, request: Request, service: ServiceContext = context) -> Response:
    """The ensemble's answer for some rows: `{"inputs": [[...], ...], "deadline_ms": 200}`, or numpy's format.

    The ensemble is given by its id or by its name.
    """
    return await forward(request, service.settings)


@inference.get("/health/{probe}", include_in_schema=False)
async def probe(probe: str, request: Request, service: ServiceContext = context) -> Response:
    """Whether the gateway lives, and whether it is ready; public."""
    return await forward(request, service.settings)


@inference.api_route("{rest:path}", methods=["GET", "POST"], dependencies=[viewer], include_in_schema=False)
async def protocol(rest: str, request: Request, service: ServiceContext = context) -> Response:
    """The Open Inference Protocol; the gateway knows its paths."""
    return await forward(request, service.settings)


async def forward(request: Request, settings: ServiceSettings) -> Response:
    """Ask the gateway the same, and answer what it answers. Raises `ServiceError` when it is not there.

    The path goes on as it came, percent signs and all: a name in it may hold a slash that is none of the path's.
    """
    content = await body_within(request, MAX_PREDICTION_BYTES)
    client = _gateway(request.app, settings)
    asked = client.build_request(
        request.method,
        _url(request.scope["raw_path"].partition(b"?")[0], request.scope["query_string"]),
        headers=[(name, value) for name, value in request.headers.raw if name in ASKED] + _session(request),
        content=content,
    )
    try:
        answer = await while_there(request, client.send(asked))
    except httpx2.TransportError as error:
        raise ServiceError("the gateway is not there; `podium serve` is starting it again") from error
    kept = {name: answer.headers[name] for name in ANSWERED if name in answer.headers}
    return Response(answer.content, answer.status_code, kept)


def _session(request: Request) -> list[tuple[bytes, bytes]]:
    """The cookie of ours alone."""
    secret = session_of(request)
    return [] if secret is None else [(b"cookie", f"{doorkeeper_of(request).cookie}={secret}".encode())]


def _url(path: bytes, query: bytes) -> httpx2.URL:
    """The same place at the gateway. Raises `NotFoundError` for a path that leads elsewhere, by `..`."""
    whole = path + b"?" + query if query else path
    url = httpx2.URL("http://gateway", raw_path=whole)
    if url.raw_path != whole:
        raise NotFoundError(f"{path.decode(errors='replace')}: a path has no . or .. in it, and is percent-encoded")
    return url


def _gateway(app: FastAPI, settings: ServiceSettings) -> httpx2.AsyncClient:
    """The one client of an app, made when it is first needed."""
    if getattr(app.state, "gateway", None) is None:
        logging.getLogger("httpx2").setLevel(logging.WARNING)  # it would log every prediction
        limits = httpx2.Limits(
            max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS, keepalive_expiry=IDLE_S
        )
        transport = httpx2.AsyncHTTPTransport(uds=str(settings.runtime.gateway_socket), limits=limits, verify=NO_TLS)
        timeout = httpx2.Timeout(5.0, read=LONGEST_ANSWER_S)
        app.state.gateway = httpx2.AsyncClient(transport=transport, timeout=timeout, trust_env=False)
    client: httpx2.AsyncClient = app.state.gateway
    return client
