"""Login with a browser: codes work once, cookies have all restrictions, and a session ends with its token."""

from __future__ import annotations

import time
from http.cookies import SimpleCookie

import pytest
from sqlalchemy import Table, update
from starlette.testclient import TestClient

from podium.api.rest.access import session_routes
from podium.db.access import login_sessions as stored
from podium.db.access.tokens import Holder, Role
from podium.db.schema.tables import login_codes, sessions, tokens
from tests.service_rig import ServiceRig, assert_problem

SESSION = "/api/v1/session"
COOKIE = "podium_session_8300"


def code_of(service: ServiceRig, role: Role = Role.ADMIN, **body: float) -> str:
    """The code of a fresh link."""
    answer = service.client(role).post("/api/v1/login-links", json=body)
    assert answer.status_code == 201
    address, _, code = answer.json()["url"].partition("#")
    assert address == "http://127.0.0.1:8300/login"
    return str(code)


@pytest.fixture
def browser(service: ServiceRig) -> TestClient:
    """A browser that a submitter has logged in with a link."""
    client = service.client(None)
    assert client.post(SESSION, json={"code": code_of(service, Role.SUBMITTER)}).status_code == 200
    return client


def test_code_logs_in_once_as_its_creator(service: ServiceRig) -> None:
    code = code_of(service, Role.VIEWER)
    answer = service.client(None).post(SESSION, json={"code": code})
    assert (answer.status_code, answer.json()["name"], answer.json()["role"]) == (200, "viewer", "viewer")
    assert_problem(service.client(None).post(SESSION, json={"code": code}), 401, "has been used", "podium login")


def test_token_logs_in(service: ServiceRig) -> None:
    client = service.client(None)
    assert client.post(SESSION, json={"token": " token-of-admin\n"}).json()["role"] == "admin"
    assert client.get("/api/v1/devices").status_code == 200
    assert_problem(service.client(None).post(SESSION, json={"token": "x"}), 401, "unknown, expired or revoked")


def test_token_of_a_node_cannot_log_in(service: ServiceRig) -> None:
    client = service.client(None)
    assert_problem(client.post(SESSION, json={"token": "token-of-node"}), 403, "role node cannot log in")
    assert not client.cookies


@pytest.mark.parametrize("body", [{}, {"code": "a", "token": "b"}, {"code": ""}, {"code": "x" * 201}, {"k": 1}, []])
def test_request_without_a_code_or_token_is_422(service: ServiceRig, body: object) -> None:
    assert_problem(service.client(None).post(SESSION, json=body), 422)


def test_lone_surrogate_is_an_unknown_token(service: ServiceRig) -> None:
    answer = service.client(None).post(SESSION, content=b'{"token": "\\ud800"}')
    assert answer.status_code in (401, 422)


def test_cookie_is_httponly_and_samesite_and_named_by_port(service: ServiceRig) -> None:
    answer = service.client(None).post(SESSION, json={"code": code_of(service)})
    cookie = SimpleCookie(answer.headers["set-cookie"])[COOKIE]
    assert (cookie["httponly"], cookie["samesite"].lower(), cookie["path"]) == (True, "strict", "/")
    assert cookie["domain"] == ""
    assert float(cookie["max-age"]) == pytest.approx(session_routes.SESSION_S, abs=2)
    assert cookie.value not in answer.text


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_cookie_is_secure_under_tls(service: ServiceRig, scheme: str) -> None:
    client = TestClient(service.app(), f"{scheme}://127.0.0.1:8300")
    answer = client.post(SESSION, json={"token": "token-of-viewer"})
    assert bool(SimpleCookie(answer.headers["set-cookie"])[COOKIE]["secure"]) == (scheme == "https")


def test_session_has_the_role_of_its_token(browser: TestClient) -> None:
    assert browser.get(SESSION).json()["role"] == "submitter"
    assert browser.post("/api/v1/sweeps/1/cancel").status_code == 404
    assert_problem(browser.post("/api/v1/devices/cpu-0/drain"), 403, "admin", "submitter")


def test_header_takes_precedence_over_the_cookie(browser: TestClient) -> None:
    assert browser.get(SESSION, headers={"Authorization": "Bearer token-of-viewer"}).json()["role"] == "viewer"
    assert browser.get(SESSION, headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_logout_ends_the_session_immediately(service: ServiceRig, browser: TestClient) -> None:
    secret = browser.cookies[COOKIE]
    assert browser.get(SESSION).status_code == 200
    assert browser.delete(SESSION).status_code == 204
    assert COOKIE not in browser.cookies
    browser.cookies.set(COOKIE, secret)
    assert_problem(browser.get(SESSION), 401, "podium login")
    with service.database.read() as connection:
        assert connection.execute(sessions.select()).all() == []


def test_logout_with_a_token_keeps_the_token(service: ServiceRig) -> None:
    client = service.client()
    assert client.delete(SESSION).status_code == 204
    assert client.get(SESSION).json()["expires_at"] is None


@pytest.mark.parametrize("column", ["expires_at", "revoked_at"])
def test_session_ends_with_its_token(service: ServiceRig, browser: TestClient, column: str) -> None:
    with service.database.write() as connection:
        connection.execute(update(tokens).values({column: time.time() - 1}))
    assert_problem(browser.get(SESSION), 401)


def test_session_is_no_longer_than_its_token(service: ServiceRig) -> None:
    code = code_of(service)
    with service.database.write() as connection:
        connection.execute(update(tokens).values(expires_at=time.time() + 60))
    answer = service.client(None).post(SESSION, json={"code": code})
    assert 50 <= int(SimpleCookie(answer.headers["set-cookie"])[COOKIE]["max-age"]) <= 60


@pytest.mark.parametrize("table", [login_codes, tokens], ids=["code", "token"])
def test_expired_code_is_refused(service: ServiceRig, table: Table) -> None:
    code = code_of(service)
    with service.database.write() as connection:
        connection.execute(update(table).values(expires_at=time.time() - 1))
    assert_problem(service.client(None).post(SESSION, json={"code": code}), 401)


@pytest.mark.parametrize("valid_s", [0, 86401, float("1e308")])
def test_link_is_valid_for_at_most_a_day(service: ServiceRig, valid_s: float) -> None:
    assert_problem(service.client().post("/api/v1/login-links", json={"valid_s": valid_s}), 422)


def test_expired_codes_and_sessions_are_deleted_at_login(service: ServiceRig) -> None:
    old = code_of(service), code_of(service)
    service.client(None).post(SESSION, json={"code": old[0]})
    with service.database.write() as connection:
        for table in (login_codes, sessions):
            connection.execute(update(table).values(expires_at=time.time() - 1))
    service.client(None).post(SESSION, json={"code": code_of(service)})
    with service.database.read() as connection:
        assert [len(connection.execute(table.select()).all()) for table in (login_codes, sessions)] == [1, 1]


def test_codes_and_sessions_of_a_token_are_limited_to_the_newest_100(service: ServiceRig) -> None:
    with service.database.write() as connection:
        admin = Holder(3, "admin", Role.ADMIN)
        other = stored.create_session(connection, Holder(1, "viewer", Role.VIEWER), 1.0, 1e10)
        codes = [stored.new_code(connection, 3, now, 1e10) for now in range(stored.MAX_SESSIONS + 2)]
        created = [stored.create_session(connection, admin, now, 1e10) for now in range(stored.MAX_SESSIONS + 2)]
        known = [stored.redeem(connection, code, 1000.0) is not None for code in codes]
        held = [stored.holder(connection, session.secret, 1000.0) is not None for session in created]
        assert stored.holder(connection, other.secret, 1000.0) is not None
    assert known == held == [False] * 2 + [True] * stored.MAX_SESSIONS


def test_database_contains_no_code_and_no_secret(service: ServiceRig) -> None:
    code = code_of(service)
    client = service.client(None)
    client.post(SESSION, json={"code": code})
    with service.database.write():
        written = b"".join(file.read_bytes() for file in service.data.root.glob("podium.sqlite3*"))
    assert code.encode() not in written
    assert client.cookies[COOKIE].encode() not in written


def test_gateway_accepts_sessions(service: ServiceRig, browser: TestClient) -> None:
    with service.client(None, service.gateway()) as gateway:
        assert gateway.get("/metrics").status_code == 401
        gateway.cookies.set(COOKIE, browser.cookies[COOKIE])
        assert gateway.get("/metrics").status_code == 200


def test_failed_login_does_not_wait_for_writers(service: ServiceRig) -> None:
    """Writers do not wait for failed logins either: a failed login takes no lock."""
    client = service.client(None)
    with service.database.write():
        for body in ({"code": "guessed"}, {"token": "guessed"}):
            assert client.post(SESSION, json=body).status_code == 401
