"""Forwards predictions unchanged to the gateways in turn, through their Unix sockets; api.

The gateway's own port is faster.
"""

from __future__ import annotations

import logging
from typing import Annotated

import httpx2
from fastapi import APIRouter, FastAPI, Path, Request, Response

from podium.api.http import npy_response
from podium.api.http.authentication import authenticator_of, public, session_of, viewer
from podium.api.http.cancel_on_disconnect import cancel_on_disconnect
from podium.api.http.inference_protocol_errors import InferenceRoute
from podium.api.http.request_body import limits_of, read_body, reads_own_body
from podium.api.http.route_dependencies import context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.ensembles.prediction_openapi_schemas import PredictBody, PredictionView
from podium.ensemble.protocol.gateway_http_client import BASE_URL, AsyncGatewayTransport
from podium.ensemble.values.ensemble_spec import MAX_DEADLINE_MS
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import NotFoundError, ServiceError

READ_TIMEOUT_S = MAX_DEADLINE_MS / 1000 + 10
MAX_CONNECTIONS = 1024
KEEPALIVE_S = 2.0  # less than the gateway's, which would otherwise close a connection under a request
REQUEST_HEADERS = frozenset(
    {b"accept", b"authorization", b"content-encoding", b"content-type", b"inference-header-content-length"}
)
RESPONSE_HEADERS = (
    "content-type",
    "inference-header-content-length",
    "retry-after",
    "www-authenticate",
    *map(str.lower, npy_response.HEADERS),
)
IdOrName = Annotated[int | str, Path(description="id or name of an ensemble")]

_PREDICT = {
    "requestBody": {"content": {"application/json": {"schema": PredictBody.model_json_schema()}}},
    "parameters": [
        {"name": name, "in": "query", "required": False, "schema": {"type": "boolean"}, "description": why}
        for name, why in (("members", "include the outputs of each member"), ("whole", "require all members to answer"))
    ],
}

_NPY = {npy_response.NPY: {"schema": {"type": "string", "format": "binary", "description": "the outputs only"}}}

router = APIRouter(prefix="/api/v1/ensembles", tags=["ensembles"])
inference = APIRouter(prefix="/v2", tags=["inference"], route_class=InferenceRoute)


@router.post(
    "/{ensemble_id:path}/predict",
    dependencies=[viewer],
    response_class=Response,
    responses={200: {"model": PredictionView, "description": "The prediction.", "content": _NPY}},
    openapi_extra=_PREDICT,
)
@reads_own_body
async def predict(ensemble_id: IdOrName, request: Request, service: ServiceContext = context) -> Response:
    """Predict rows with an ensemble: `{"inputs": [[...], ...], "deadline_ms": 200}`, or a NumPy .npy array.

    The ensemble is identified by its id or its name.
    """
    return await forward(request, service.settings)


@inference.get("/health/{probe}", dependencies=[public], include_in_schema=False)
async def probe(probe: str, request: Request, service: ServiceContext = context) -> Response:
    """Liveness and readiness of the gateway. Public."""
    return await forward(request, service.settings)


@inference.post("{rest:path}/infer", dependencies=[viewer], include_in_schema=False)
@reads_own_body
async def infer(rest: str, request: Request, service: ServiceContext = context) -> Response:
    """A prediction in the Open Inference Protocol."""
    return await forward(request, service.settings)


@inference.api_route("{rest:path}", methods=["GET", "POST"], dependencies=[viewer], include_in_schema=False)
async def protocol(rest: str, request: Request, service: ServiceContext = context) -> Response:
    """Every other path of the Open Inference Protocol."""
    return await forward(request, service.settings)


async def forward(request: Request, settings: ServiceSettings) -> Response:
    """Send the request to a gateway and return its response. Raises `ServiceError` if none accepts or answers it.

    The raw path is forwarded: an encoded slash in an ensemble's name is not a path separator.
    """
    content = await read_body(request, limits_of(request).array_rows_bytes)
    client = _gateway(request.app, settings)
    forwarded = client.build_request(
        request.method,
        gateway_url(request.scope["raw_path"].partition(b"?")[0], request.scope["query_string"]),
        headers=[(name, value) for name, value in request.headers.raw if name in REQUEST_HEADERS] + _session(request),
        content=content,
    )
    try:
        answer = await cancel_on_disconnect(request, client.send(forwarded))
    except httpx2.TransportError as error:
        raise ServiceError("the gateway is not running; `podium serve` restarts it") from error
    kept = {name: answer.headers[name] for name in RESPONSE_HEADERS if name in answer.headers}
    return Response(answer.content, answer.status_code, kept)


def _session(request: Request) -> list[tuple[bytes, bytes]]:
    """The session cookie, without other cookies."""
    secret = session_of(request)
    return [] if secret is None else [(b"cookie", f"{authenticator_of(request).cookie}={secret}".encode())]


def gateway_url(path: bytes, query: bytes) -> httpx2.URL:
    """The URL at the gateway. Raises `NotFoundError` for a path that normalization would change, such as `..`."""
    whole = path + b"?" + query if query else path
    url = httpx2.URL(BASE_URL, raw_path=whole)
    if url.raw_path != whole:
        raise NotFoundError(
            f"{path.decode(errors='replace')}: a path must be percent-encoded, without . and .. segments"
        )
    return url


def _gateway(app: FastAPI, settings: ServiceSettings) -> httpx2.AsyncClient:
    """The client of an app, created on first use."""
    if getattr(app.state, "gateway", None) is None:
        logging.getLogger("httpx2").setLevel(logging.WARNING)  # it would log every prediction
        limits = httpx2.Limits(
            max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS, keepalive_expiry=KEEPALIVE_S
        )
        transport = AsyncGatewayTransport(settings.gateway_sockets, limits)
        timeout = httpx2.Timeout(5.0, read=READ_TIMEOUT_S)
        app.state.gateway = httpx2.AsyncClient(transport=transport, timeout=timeout, trust_env=False)
    client: httpx2.AsyncClient = app.state.gateway
    return client
