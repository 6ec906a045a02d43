"""The request guard: host names of the service, pages of other origins, and headers of answers."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from starlette.testclient import TestClient
from starlette.types import Message, Scope

from podium.api.http.allowed_host_names import HostNames, is_host_name
from podium.api.http.browser_security_middleware import RequestGuard
from podium.api.http.host_and_origin_check import is_cross_origin
from podium.api.http.security_headers import HEADERS
from tests.service_rig import ServiceRig, assert_problem

OURS = "http://127.0.0.1:8300"
METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8300", "localhost:8300", "[::1]:8300", "LocalHost:8300", "localhost", "localhost:9000",
     "podium.example", "podium.example:443", "PODIUM.example:1", "proxy.example:8443"],
)  # fmt: skip
def test_own_host_names_are_accepted(host: str) -> None:
    assert HostNames(["podium.example", "Proxy.example:8443"]).allow([host.encode()])


@pytest.mark.parametrize(
    "host",
    ["evil.test", "evil.test:8300", "localhost.", "localhost.:8300", "127.0.0.1.", "127.0.0.1.evil.test",
     "0.0.0.0:8300", "127.0.0.2:8300", "127.1:8300", "2130706433:8300", "0x7f000001", "[::]:8300",
     "[::ffff:127.0.0.1]:8300", "::1", "", " ", "localhost a", "localhost:8300/", "localhost?a", "localhost/b",
     "localhost#c", "evil.test#@localhost", "user@localhost:8300", "localhost:", "localhost:port", "localhost:-1",
     "localhost:830000", "localhost,evil.test", "sub.localhost", "proxy.example", "proxy.example:80",
     "localhost\u0000", "löcalhost", "[::1"],
)  # fmt: skip
def test_foreign_host_names_are_refused(host: str) -> None:
    assert not HostNames(["podium.example", "proxy.example:8443"]).allow([host.encode("latin-1")])


def test_missing_and_duplicate_host_are_refused() -> None:
    names = HostNames([])
    assert not names.allow([])
    assert not names.allow([b"localhost", b"localhost"])
    assert not names.allow([b"localhost", b"evil.test"])


@pytest.mark.parametrize(("text", "whether"), [("a.b", True), ("a:80", True), ("http://a", False), ("a/b", False)])
def test_valid_host_names(text: str, whether: bool) -> None:
    assert is_host_name(text) is whether


def test_foreign_host_is_refused_with_or_without_a_token(service: ServiceRig) -> None:
    app = service.app()
    for client in (service.client(app=app), service.client(None, app)):
        for method in METHODS:
            for path in ("/", "/healthz", "/api/v1/sweeps", "/api/v1/session", "/nothing", "/openapi.json"):
                answer = client.request(method, path, headers={"Host": "evil.test:8300"})
                assert answer.status_code == 421, (method, path)
                if method != "HEAD":
                    assert_problem(answer, 421, "--allowed-host")


def test_unix_socket_has_no_host_name() -> None:
    assert asyncio.run(_status({"server": ("/run/gateway.sock", None), "headers": [(b"host", b"gateway")]})) == 200
    assert asyncio.run(_status({"server": ("127.0.0.1", 8301), "headers": [(b"host", b"gateway")]})) == 421


async def _status(scope: Scope) -> int:
    """The status through the guard of an application that answers 200 to everything."""
    said: list[int] = []

    async def app(_: Scope, __: object, send: object) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]

    async def send(message: Message) -> None:
        said.extend([message["status"]] if "status" in message else [])

    async def receive() -> Message:
        return {"type": "http.request"}

    guard = RequestGuard(app, HostNames([]))
    await guard({"type": "http", "method": "GET", "path": "/", **scope}, receive, send)
    return said[0]


UNSAFE = ["POST", "PUT", "PATCH", "DELETE"]
KINDS = [None, "application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
SITES = {None: None, "same-origin": True, "none": True, "same-site": False, "cross-site": False, "": False, "x": False}
ORIGINS = {
    None: None,
    OURS: True,
    OURS.upper(): True,
    "https://127.0.0.1:8300": True,  # behind a proxy with TLS
    "http://127.0.0.1": False,
    "http://127.0.0.1:9999": False,
    "http://localhost:8300": False,
    "https://evil.test": False,
    "http://evil.test#127.0.0.1:8300": False,
    "null": False,
    "": False,
    "127.0.0.1:8300": False,
}


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("site", SITES)
def test_only_own_pages_may_change_something(site: str | None, origin: str | None) -> None:
    """`Sec-Fetch-Site` counts if present, otherwise `Origin`; clients other than browsers send neither of them."""
    ours = SITES[site] if site is not None else ORIGINS[origin]
    for method, kind in itertools.product(UNSAFE, KINDS):
        given = {"host": "127.0.0.1:8300", "sec-fetch-site": site, "origin": origin, "content-type": kind}
        headers = [(name.encode(), value.encode()) for name, value in given.items() if value is not None]
        assert is_cross_origin(method, headers) == (ours is False), (method, kind)


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
@pytest.mark.parametrize(
    ("method", "mode", "target", "refused"),
    [
        ("GET", "navigate", "document", False),  # a link on another page
        ("POST", "navigate", "document", True),  # a form
        ("GET", "navigate", "iframe", True),
        ("GET", "no-cors", "image", True),
        ("GET", "no-cors", "script", True),
        ("GET", "cors", "empty", True),
        ("OPTIONS", "cors", "empty", True),  # a preflight
        ("GET", "websocket", "websocket", True),
    ],
)
def test_foreign_page_may_only_link(site: str, method: str, mode: str, target: str, refused: bool) -> None:
    given = {"host": "localhost", "sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": target}
    assert is_cross_origin(method, [(name.encode(), value.encode()) for name, value in given.items()]) is refused


def test_duplicate_headers_are_refused() -> None:
    host = (b"host", b"localhost")
    assert is_cross_origin("POST", [host, (b"sec-fetch-site", b"same-origin"), (b"sec-fetch-site", b"cross-site")])
    assert is_cross_origin("POST", [host, (b"origin", b"http://localhost"), (b"origin", b"http://evil.test")])


def test_foreign_page_changes_nothing_even_with_a_session(service: ServiceRig) -> None:
    browser = service.client(None)
    assert browser.post("/api/v1/session", json={"token": "token-of-admin"}).status_code == 200
    sweep_id = service.sweep()
    for headers in ({"Origin": "http://localhost:8300"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}):
        assert_problem(browser.post(f"/api/v1/sweeps/{sweep_id}/cancel", headers=headers), 403, "only pages")
    assert browser.get(f"/api/v1/sweeps/{sweep_id}").json()["state"] == "queued"
    assert browser.post(f"/api/v1/sweeps/{sweep_id}/cancel", headers={"Origin": OURS}).status_code == 200


def test_every_answer_has_the_security_headers(service: ServiceRig) -> None:
    app = service.app()
    app.add_api_route("/broken", _broken)
    client = service.client(app=app)
    gateway = service.client(None, service.gateway())
    answers = [
        client.get("/healthz"),
        client.get("/api/v1/sweeps"),
        client.get("/api/v1/sweeps/99"),
        client.get("/api/v1/nothing"),
        client.get("/", headers={"Accept": "text/html"}),
        client.get("/broken"),
        client.get("/healthz", headers={"Host": "evil.test"}),
        client.post("/api/v1/sweeps", headers={"Origin": "null"}),
        client.post("/api/v1/sweeps", content=b"x" * (2 << 20)),
        client.request("PUT", "/healthz"),
        gateway.get("/healthz"),
        gateway.get("/metrics"),
    ]
    assert {answer.status_code for answer in answers} >= {200, 401, 403, 404, 405, 413, 421, 500}
    for answer in answers:
        assert {name: answer.headers.get_list(name) for name in HEADERS} == {k: [v] for k, v in HEADERS.items()}
        assert len(answer.headers.get_list("cache-control")) == 1
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert "server" not in answer.headers
    assert client.get("/api/v1/sweeps").headers["cache-control"] == "no-store"


def _broken() -> None:
    raise RuntimeError("secret")


def test_scripts_are_loaded_only_from_the_same_origin() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy


def test_nothing_is_shared_with_other_origins(service: ServiceRig) -> None:
    preflight = {"Origin": "http://evil.test", "Access-Control-Request-Method": "POST"}
    client: TestClient = service.client()
    for path in ("/api/v1/sweeps", "/healthz"):
        answer = client.options(path, headers=preflight)
        assert not [name for name in answer.headers if name.startswith("access-control")]
