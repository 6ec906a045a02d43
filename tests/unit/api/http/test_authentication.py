"""Every route with every kind of token. The role is that of its method, unless the route is listed here."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import cast

import pytest
from sqlalchemy import Connection
from starlette.routing import BaseRoute, Route
from starlette.testclient import TestClient

from podium.api.http import route_roles
from podium.api.http.authentication import Authenticator
from podium.api.http.login_rate_limit import LoginRateLimit
from podium.api.rest.routers import ROUTERS
from podium.db.access import tokens
from podium.db.access.tokens import Role
from podium.db.schema.database import Database
from podium.db.schema.tables import tokens as token_table
from podium.sweep.values.errors import UnauthorizedError
from tests.service_rig import AT, ServiceRig, assert_problem

V1 = "/api/v1"
PUBLIC = {  # need no token
    "GET /healthz",
    "GET /readyz",
    "GET /openapi.json",  # of FastAPI itself
    "GET /schemas/sweep-v1.json",
    "GET /v2/health/{probe}",
    f"POST {V1}/session",  # the credentials are in the body
}
EXCEPTIONS = {  # other routes: viewer to read (GET), submitter to change
    f"POST {V1}/sweeps/import": Role.ADMIN,
    **{f"POST {V1}/devices/{{device_id}}/{command}": Role.ADMIN for command in ("drain", "return")},
    **{f"POST {V1}/nodes/{{name}}/{command}": Role.ADMIN for command in ("drain", "return")},
    f"DELETE {V1}/nodes/{{name}}": Role.ADMIN,
    f"DELETE {V1}/session": Role.VIEWER,
    f"POST {V1}/login-links": Role.VIEWER,
    f"GET {V1}/tokens": Role.ADMIN,
    f"POST {V1}/tokens": Role.ADMIN,
    f"DELETE {V1}/tokens/{{token_id}}": Role.ADMIN,
    f"POST {V1}/ensembles/preview": Role.VIEWER,
    f"POST {V1}/ensembles/{{ensemble_id:path}}/predict": Role.VIEWER,
    "POST /v2{rest:path}": Role.VIEWER,
    "POST /v2{rest:path}/infer": Role.VIEWER,
}
GATEWAY_PUBLIC = {"GET /healthz", "GET /readyz", "GET /v2/health/live", "GET /v2/health/ready"}
MODEL = "/v2/models/{name:path}"
GATEWAY = {
    f"POST {V1}/ensembles/{{ensemble:path}}/predict",
    f"GET {V1}/replicas",
    "GET /metrics",
    "GET /v2",
    "POST /v2/repository/index",
    *(
        f"{one}{tail}"
        for one in (f"GET {MODEL}", f"GET {MODEL}/versions/{{version}}")
        for tail in ("", "/ready", "/config")
    ),
    f"POST {MODEL}/infer",
    f"POST {MODEL}/versions/{{version}}/infer",
    *(f"{method} /v2/{{rest:path}}" for method in ("DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT")),  # refused
}


def walk(routes: Iterable[BaseRoute]) -> Iterator[str]:
    """`METHOD path` of every route, included routers as well."""
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is not None:
            yield from walk(included.routes)
        else:
            assert isinstance(route, Route), f"{route}: only plain HTTP routes are expected"
            yield from (f"{method} {route.path}" for method in (route.methods or set()) - {"HEAD"})


def required_by_method(route: str) -> Role:
    return Role.VIEWER if route.startswith("GET ") else Role.SUBMITTER


ROUTES = {
    route: EXCEPTIONS.get(route, required_by_method(route))
    for router in ROUTERS
    for route in walk(router.routes)
    if route not in PUBLIC
}


def request(client: TestClient, route: str, token: str | None) -> int:
    method, path = route.split()
    path = re.sub(r"\{.*?\}", "1", path)
    path = path.replace(
        "/events", "/events?sweep=0"
    )  # refused after authentication; otherwise the stream would not end
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return client.request(method, path, headers=headers).status_code


def test_every_route_is_examined(service: ServiceRig) -> None:
    assert set(walk(service.app().routes)) == PUBLIC | set(ROUTES)
    assert EXCEPTIONS.keys() <= ROUTES.keys(), "an exception that no route has"
    assert {route: role for route, role in EXCEPTIONS.items() if role is not required_by_method(route)} == EXCEPTIONS
    assert set(walk(service.gateway().routes)) == GATEWAY_PUBLIC | GATEWAY


def test_route_without_a_role_prevents_the_start(service: ServiceRig) -> None:
    app = service.app()
    app.add_api_route("/api/v1/secrets", lambda: "all of them")
    with pytest.raises(RuntimeError, match="/api/v1/secrets"):
        route_roles.check(app.routes)
    app = service.app()
    app.mount("/files", app)
    with pytest.raises(RuntimeError, match="not a plain route"):
        route_roles.check(app.routes)


@pytest.mark.parametrize("route", sorted(PUBLIC))
def test_public_route_needs_no_token(service: ServiceRig, route: str) -> None:
    client = service.client(None)
    for token in (None, "garbage"):
        assert request(client, route, token) not in (401, 403)


@pytest.mark.parametrize(("route", "needed"), sorted(ROUTES.items()))
def test_route_accepts_its_role_and_higher_ones(service: ServiceRig, route: str, needed: Role) -> None:
    client = service.client(None)
    for token in (None, "garbage"):
        assert request(client, route, token) == 401, f"{route} needs no token; if it is public, list it in PUBLIC"
    for role in Role:
        status = request(client, route, f"token-of-{role.value}")
        assert (status == 403) == (not role.covers(needed)), (
            f"{route} answers {status} to {role}, but should need {needed}; if not, list it in PUBLIC or EXCEPTIONS"
        )
        assert status not in (401, 405, 500)


def test_gateway_authenticates_too(service: ServiceRig) -> None:
    app, failures = service.gateway(), LoginRateLimit(max_failures=10_000)
    app.state.authenticator = Authenticator(
        service.database, service.settings.session_cookie, login_rate_limit=failures
    )
    with service.client(None, app) as client:
        for route in sorted(GATEWAY):
            assert [request(client, route, token) for token in (None, "garbage")] == [401, 401], route
            for role in Role:
                status = request(client, route, f"token-of-{role.value}")
                assert (status == 403) == (role is Role.NODE), (role, route)
                assert status not in (401, 500), route
        assert request(client, "GET /healthz", None) == 200


def test_token_of_a_node_is_refused_by_every_route_of_people(service: ServiceRig) -> None:
    client = service.client(Role.NODE)
    for route in (route for route, needed in ROUTES.items() if needed is not Role.NODE):
        assert request(client, route, f"token-of-{Role.NODE.value}") == 403, route


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "token-of-admin", "Bearer  x y z", "Bearer " + "x" * 4000],
    ids=lambda text: text[:20],
)
def test_invalid_authorization_header_is_401_with_a_hint(service: ServiceRig, header: str) -> None:
    answer = service.client(None).get(f"{V1}/devices", headers={"Authorization": header})
    assert_problem(answer, 401)
    assert answer.headers["www-authenticate"] == "Bearer"


def test_insufficient_role_is_403_and_names_both_roles(service: ServiceRig) -> None:
    assert_problem(service.client(Role.VIEWER).post(f"{V1}/sweeps/1/cancel"), 403, "submitter", "viewer")


@pytest.mark.parametrize("column", ["expires_at", "revoked_at"])
def test_expired_token_is_401(service: ServiceRig, column: str) -> None:
    with service.database.write() as connection:
        connection.execute(token_table.update().values({column: AT}))
    assert_problem(service.client().get(f"{V1}/devices"), 401, "unknown, expired or revoked")


class CountingDatabase:
    """A database that records the thread of each read."""

    def __init__(self, database: Database) -> None:
        self.threads: list[threading.Thread] = []
        self._database = database

    def read(self) -> AbstractContextManager[Connection]:
        self.threads.append(threading.current_thread())
        return self._database.read()


def test_unknown_token_is_looked_up_once_outside_the_event_loop(service: ServiceRig) -> None:
    database = CountingDatabase(service.database)
    authenticator = Authenticator(cast(Database, database), "cookie", cache_unknown_s=1000.0, max_cached=3)

    async def ask(token: str) -> None:
        with pytest.raises(UnauthorizedError):
            await authenticator.token_holder(token, "127.0.0.1")

    for token in ("a", "a", "b", "c", "d", "d"):
        asyncio.run(ask(token))
    assert len(database.threads) == 4
    assert threading.main_thread() not in database.threads
    asyncio.run(ask("a"))  # the oldest of four was evicted
    assert len(database.threads) == 5


@pytest.mark.sqlite
def test_database_contains_no_token(service: ServiceRig) -> None:
    assert b"token-of-admin" not in service.data.database.read_bytes()
    with service.database.read() as connection:
        digests = set(connection.execute(token_table.select()).mappings().all()[0].values())
    assert tokens.digest("token-of-viewer") in digests
    assert "token-of-viewer" not in digests
