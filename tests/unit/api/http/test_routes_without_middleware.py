"""Routes in front of FastAPI: which requests they answer, and that errors are those of the app."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from fastapi import FastAPI, HTTPException, Request, Response
from starlette.requests import ClientDisconnect
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from podium.api.http import problem_details, route_roles
from podium.api.http.routes_without_middleware import RoutesWithoutMiddleware
from podium.sweep.values.errors import EnsembleError, NotFoundError
from tests.service_rig import ServiceRig


def _client(app: ASGIApp) -> TestClient:
    return TestClient(app, raise_server_exceptions=False)


def _app_with(endpoint: Any) -> tuple[FastAPI, Route]:
    """An app with a single route, `/models/{name:path}/infer`."""
    app = FastAPI()
    problem_details.install(app)
    route = Route("/models/{name:path}/infer", endpoint, methods=["POST"])
    app.router.routes.append(route)
    return app, route


async def _name(request: Request) -> Response:
    return Response(request.path_params["name"])


def test_matching_request_does_not_reach_the_app() -> None:
    _, route = _app_with(_name)

    async def unreachable(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError

    answer = _client(RoutesWithoutMiddleware(unreachable, [route])).post("/models/a/b/infer")
    assert (answer.status_code, answer.text) == (200, "a/b")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/models/a/infer", 405), ("POST", "/models/a/infer/", 307), ("POST", "/models/a", 404)],
)
def test_other_requests_are_answered_by_the_app(method: str, path: str, status: int) -> None:
    app, route = _app_with(_name)
    direct = _client(RoutesWithoutMiddleware(app, [route])).request(method, path, follow_redirects=False)
    assert direct.status_code == status
    assert direct.content == _client(app).request(method, path, follow_redirects=False).content


@pytest.mark.parametrize(
    "error",
    [NotFoundError("no such ensemble"), EnsembleError("inputs: must be a list"), HTTPException(408, "too slow"),
     HTTPException(415, "not that"), OSError(errno.ENOSPC, "full"), ClientDisconnect()],
    ids=repr,
)  # fmt: skip
def test_errors_are_answered_as_by_the_app(error: Exception) -> None:
    async def fail(request: Request) -> Response:
        raise error

    app, route = _app_with(fail)
    direct, usual = (
        _client(RoutesWithoutMiddleware(app, [route])).post("/models/a/infer"),
        _client(app).post("/models/a/infer"),
    )
    assert (direct.status_code, direct.headers, direct.content) == (usual.status_code, usual.headers, usual.content)


def test_unexpected_error_is_logged_and_answered_with_its_id(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(request: Request) -> Response:
        raise ArithmeticError("poison")

    app, route = _app_with(fail)
    answer = _client(RoutesWithoutMiddleware(app, [route])).post("/models/a/infer")
    assert (answer.status_code, answer.json()["type"]) == (500, problem_details.ProblemType.INTERNAL_ERROR.urn)
    assert answer.json()["detail"].rpartition(" ")[2] in caplog.text
    assert "poison" in caplog.text
    assert "poison" not in answer.text


def test_direct_routes_of_the_gateway_are_routes_of_its_app(service: ServiceRig) -> None:
    app: Any = service.gateway()
    known = list(route_roles.all_routes(app.routes))
    assert len(app.routes_without_middleware) == 3
    assert all(route in known for route in app.routes_without_middleware)


@pytest.mark.parametrize("path", ["/api/v1/ensembles/1/predict", "/v2/models/a/infer", "/v2/models/a/versions/1/infer"])
def test_direct_routes_are_guarded(service: ServiceRig, path: str) -> None:
    client = service.client(app=service.gateway())
    assert client.post(path, headers={"Host": "evil.test"}).status_code == 421
    assert client.post(path, headers={"Origin": "http://evil.test"}).status_code == 403
    refused = service.client(None, service.gateway()).post(path)
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert refused.headers["X-Content-Type-Options"] == "nosniff"
