"""The api forwards requests to the gateway, and answers to the client, unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import httpx2
import pytest
from fastapi import FastAPI, Request, Response
from starlette.testclient import TestClient

from podium.api.http import problem_details, route_dependencies
from podium.api.http.problem_details import ProblemType
from podium.api.http.request_body import IncomingBodies
from podium.api.http.request_limits import RequestLimits
from podium.api.rest.ensembles import prediction_proxy_routes
from podium.sweep.values.errors import NotFoundError
from tests.inference_fakes import TOKEN, SingleTokenAuthenticator

BEARER = {"Authorization": f"Bearer {TOKEN}"}


class Gateway:
    """Records requests, and returns the answer that the test sets."""

    def __init__(self) -> None:
        self.came: list[dict[str, Any]] = []
        self.answer = Response(b"{}", media_type="application/json")
        self.app = FastAPI()
        self.app.add_api_route("/{rest:path}", self._keep, methods=["GET", "POST"])

    async def _keep(self, request: Request) -> Response:
        content = await request.body()
        url = request.scope["raw_path"].decode(), request.scope["query_string"].decode()
        self.came.append({"method": request.method, "url": url, "headers": request.headers, "content": content})
        return self.answer


@pytest.fixture
def gateway() -> Gateway:
    """The gateway behind the Unix socket."""
    return Gateway()


@pytest.fixture
def client(gateway: Gateway) -> Iterator[TestClient]:
    """A client of the api, which has a connection to the gateway."""
    app = FastAPI()
    app.state.gateway = httpx2.AsyncClient(transport=httpx2.ASGITransport(gateway.app))
    app.state.authenticator = SingleTokenAuthenticator()
    app.state.service = None
    app.state.incoming_bodies = IncomingBodies()
    app.state.request_limits = RequestLimits()
    app.dependency_overrides[route_dependencies.context.dependency] = lambda: Settingless()
    problem_details.install(app)
    app.include_router(prediction_proxy_routes.router)
    app.include_router(prediction_proxy_routes.inference)
    with TestClient(app, raise_server_exceptions=False) as opened:
        yield opened


class Settingless:
    """A service whose settings are not read, because the connection exists."""

    settings = None


def test_prediction_is_forwarded_unchanged(client: TestClient, gateway: Gateway) -> None:
    headers = {**BEARER, "Content-Type": "application/x-npy", "Cookie": "theirs=secret", "X-Own": "1"}
    answer = client.post("/api/v1/ensembles/7/predict?whole=true&deadline_ms=5", content=b"rows", headers=headers)
    assert answer.status_code == 200
    (came,) = gateway.came
    assert (came["method"], came["content"]) == ("POST", b"rows")
    assert came["url"] == ("/api/v1/ensembles/7/predict", "whole=true&deadline_ms=5")
    assert came["headers"]["content-type"] == "application/x-npy"
    assert came["headers"]["authorization"] == BEARER["Authorization"]
    assert "cookie" not in came["headers"]
    assert "x-own" not in came["headers"]


@pytest.mark.parametrize("named", ["small-1", "a%2Fb%20c%3F", "a/b", "d%C3%B6g"])
def test_ensemble_may_be_given_by_name(client: TestClient, gateway: Gateway, named: str) -> None:
    answer = client.post(f"/api/v1/ensembles/{named}/predict", content=b"{}", headers=BEARER)
    assert answer.status_code == 200
    assert gateway.came[0]["url"] == (f"/api/v1/ensembles/{named}/predict", "")


def test_npy_answer_keeps_its_headers(client: TestClient, gateway: Gateway) -> None:
    headers = {"Podium-Outcome": "degraded", "Podium-Answered": "2"}
    gateway.answer = Response(b"\x93NUMPY", headers=headers, media_type="application/x-npy")
    answer = client.post("/api/v1/ensembles/7/predict", headers={**BEARER, "Accept": "application/x-npy"})
    assert gateway.came[0]["headers"]["accept"] == "application/x-npy"
    assert answer.headers["content-type"] == "application/x-npy"
    assert (answer.headers["podium-outcome"], answer.headers["podium-answered"]) == ("degraded", "2")


def test_binary_tensors_are_forwarded_in_both_directions(client: TestClient, gateway: Gateway) -> None:
    gateway.answer = Response(b'{"a":1}\0\xff', headers={"Inference-Header-Content-Length": "7"},
                              media_type="application/octet-stream")  # fmt: skip
    headers = {**BEARER, "Inference-Header-Content-Length": "2", "Content-Encoding": "gzip"}
    answer = client.post("/v2/models/m/infer", content=b"{}\xff\0", headers=headers)
    (came,) = gateway.came
    assert came["content"] == b"{}\xff\0"
    assert (came["headers"]["inference-header-content-length"], came["headers"]["content-encoding"]) == ("2", "gzip")
    assert answer.content == b'{"a":1}\0\xff'
    assert answer.headers["inference-header-content-length"] == "7"
    assert answer.headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize("path", ["/v2/models/a%2Fb%20c%3F", "/v2/models/d%C3%B6g/versions/1/ready", "/v2", "/v2/x/y"])
def test_path_is_forwarded_unchanged(client: TestClient, gateway: Gateway, path: str) -> None:
    assert client.get(path, headers=BEARER).status_code == 200
    assert gateway.came[0]["url"] == (path, "")


def test_path_with_dot_segments_is_refused() -> None:
    for path in ("/v2/../healthz", "/v2/./models/m"):
        with pytest.raises(NotFoundError):
            prediction_proxy_routes.gateway_url(path.encode(), b"")
    assert (
        prediction_proxy_routes.gateway_url(b"/v2/models/%2E%2E/x", b"a=%2F").raw_path == b"/v2/models/%2E%2E/x?a=%2F"
    )


def test_non_ascii_header_is_forwarded_to_the_gateway(client: TestClient, gateway: Gateway) -> None:
    headers = [(b"Authorization", BEARER["Authorization"].encode()), (b"Inference-Header-Content-Length", b"\xb2")]
    assert client.post("/v2/models/m/infer", content=b"{}", headers=headers).status_code == 200
    assert "inference-header-content-length" in gateway.came[0]["headers"]


def test_refusal_is_returned_completely(client: TestClient, gateway: Gateway) -> None:
    gateway.answer = problem_details.problem(ProblemType.TOO_MANY_PREDICTIONS, "later", error="later")
    answer = client.post("/v2/models/m/infer", content=b"{}", headers=BEARER)
    assert (answer.status_code, answer.json()["error"]) == (429, "later")
    assert answer.headers["retry-after"] == "1"
    assert answer.headers["content-type"] == "application/problem+json"


def test_health_is_public_and_other_routes_are_not(client: TestClient, gateway: Gateway) -> None:
    assert client.get("/v2/health/live").status_code == 200
    assert client.get("/v2/health/ready").status_code == 200
    assert len(gateway.came) == 2
    for path in ("/v2", "/v2/models/m", "/v2/models/m/ready"):
        answer = client.get(path)
        assert answer.status_code == 401
        assert "Authorization" in answer.json()["error"]
    assert client.post("/v2/models/m/infer", content=b"{}").status_code == 401
    assert client.post("/api/v1/ensembles/7/predict", content=b"{}").status_code == 401
    assert len(gateway.came) == 2


def test_body_above_the_limit_is_not_forwarded(client: TestClient, gateway: Gateway) -> None:
    cast(FastAPI, client.app).state.request_limits = RequestLimits(array_rows_bytes=3)
    answer = client.post("/v2/models/m/infer", content=b"1234", headers=BEARER)
    assert (answer.status_code, answer.json()["error"]) == (413, "the request body exceeds 3 bytes; send fewer rows")
    assert gateway.came == []


def test_missing_gateway_is_503(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: Any, **__: Any) -> None:
        raise httpx2.ConnectError("refused")

    monkeypatch.setattr(httpx2.AsyncClient, "send", refuse)
    for answer in (
        client.post("/v2/models/m/infer", content=b"{}", headers=BEARER),
        client.get("/v2/health/live"),
    ):
        assert answer.status_code == 503
        assert "podium serve" in answer.json()["error"]
    answer = client.post("/api/v1/ensembles/7/predict", content=b"{}", headers=BEARER)
    assert "podium serve" in answer.json()["detail"]
