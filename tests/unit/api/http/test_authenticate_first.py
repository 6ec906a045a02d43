"""An unauthenticated request is refused before its body is read, on every route."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from podium.db.access.tokens import Role
from tests.service_rig import ServiceRig, assert_problem
from tests.unit.api.http.test_authentication import PUBLIC, ROUTES

BODILESS = ("GET", "DELETE")
WITH_BODIES = sorted(route for route in {*ROUTES, *PUBLIC} if not route.startswith(BODILESS))
LENGTHS = {"content-length": "1000000", "transfer-encoding": "chunked"}


def asked(service: ServiceRig, route: str, length: str, token: str) -> tuple[int, int]:
    """The status, and how often the service received a part of the body."""
    method, path = route.split()
    path = path.replace("{rest:path}", "/repository/index").replace("_id", "").replace("{version}", "1")
    path = path.replace("{sweep}", "1").replace("{trial}", "1").replace("{ensemble}", "1").replace("{device}", "1")
    headers = {"host": "localhost", "content-type": "application/json", "authorization": f"Bearer {token}"}
    headers[length] = LENGTHS[length]
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "http_version": "1.1", "scheme": "http", "server": ("localhost", 8300), "client": ("127.0.0.1", 5),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    read = 0
    statuses: list[int] = []

    async def receive() -> MutableMapping[str, Any]:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": b" " * 100, "more_body": read < 3}

    async def send(message: MutableMapping[str, Any]) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    asyncio.run(service.app()(scope, receive, send))
    return statuses[0], read


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("route", WITH_BODIES)
def test_body_of_an_unauthenticated_request_is_not_read(service: ServiceRig, route: str, length: str) -> None:
    status, read = asked(service, route, length, "wrong")
    if route in PUBLIC:
        assert (status, read) == (422, 3)  # the credentials are in the body
    else:
        assert (status, read) == (401, 0)


def test_body_of_an_authenticated_request_is_read(service: ServiceRig) -> None:
    assert asked(service, "POST /api/v1/tokens", "content-length", "token-of-admin") == (422, 3)


def test_refusal_is_the_same_as_without_a_body(service: ServiceRig) -> None:
    for role, token in ((None, None), (Role.VIEWER, "wrong")):
        client = service.client(role)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        whole = client.post("/api/v1/tokens", json={"name": "x"}, headers=headers)
        bare = client.get("/api/v1/tokens", headers=headers)
        assert whole.json() == bare.json()
        assert whole.headers["www-authenticate"] == "Bearer"
        assert whole.headers["content-security-policy"] == bare.headers["content-security-policy"]


def test_unknown_method_names_the_allowed_ones(service: ServiceRig) -> None:
    answer = service.client().request("PATCH", "/api/v1/devices")
    assert_problem(answer, 405)
    assert answer.headers["allow"] == "GET"
