"""Tokens: shown once, listed without their secret, revoked everywhere immediately; failures are counted by address."""

from __future__ import annotations

import hashlib
import ssl
import time
from dataclasses import replace

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from podium.api.http import login_rate_limit
from podium.api.http.login_rate_limit import LoginRateLimit
from podium.db.access import tokens
from podium.db.access.tokens import Role
from podium.db.schema.tables import tokens as token_table
from podium.sweep.runtime import cluster_certificates
from podium.sweep.values.errors import ConflictError, NotFoundError, TooManyFailuresError
from tests.commands import Podium
from tests.service_rig import AT, ServiceRig, assert_problem

TOKENS = "/api/v1/tokens"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_token_is_shown_once_and_has_its_role(service: ServiceRig, client: TestClient) -> None:
    made = client.post(TOKENS, json={"name": "ann", "role": "submitter"})
    assert made.status_code == 201
    token = made.json()
    assert (token["name"], token["state"], token["created_by"]) == ("ann", "valid", "admin")
    assert token["token"].startswith("podium_")
    session = service.client(None).get("/api/v1/session", headers=bearer(token["token"])).json()
    assert (session["name"], session["role"], session["expires_at"]) == ("ann", "submitter", token["expires_at"])
    listed = client.get(TOKENS)
    assert token["token"] not in listed.text
    assert [each["name"] for each in listed.json()["items"]] == ["viewer", "submitter", "admin", "node", "ann"]


def test_token_of_a_node_names_the_certificate_of_the_head(service: ServiceRig) -> None:
    service.settings = replace(service.settings, cluster="10.0.0.5")
    cluster_certificates.ensure(service.data.cluster_certificate, service.data.cluster_key, "10.0.0.5")
    token = service.client().post(TOKENS, json={"name": "node-b", "role": "node"}).json()
    assert token["role"] == "node"
    secret, _, fingerprint = token["token"].partition("@")
    pem = service.data.cluster_certificate.read_text()
    assert fingerprint == hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
    assert_problem(service.client(None).get("/api/v1/devices", headers=bearer(secret)), 403, "viewer", "node")


def test_token_of_a_node_is_refused_by_a_service_without_nodes(client: TestClient) -> None:
    answer = client.post(TOKENS, json={"name": "node-b", "role": "node"})
    assert "--cluster ADDRESS" in assert_problem(answer, 409)["detail"]


def test_token_is_valid_for_90_days_by_default(service: ServiceRig, client: TestClient) -> None:
    for asked, seconds in (({}, 90 * 86400), ({"expires_in_s": 60}, 60), ({"expires_in_s": None}, None)):
        name = f"t{seconds}"
        made = client.post(TOKENS, json={"name": name, "role": "viewer", **asked}).json()
        with service.database.read() as connection:
            until = tokens.get(connection, made["id"]).expires_at
        assert until == (None if seconds is None else pytest.approx(time.time() + seconds, abs=5))


@pytest.mark.parametrize(
    "body",
    [
        {"name": "", "role": "viewer"},
        {"name": "7", "role": "viewer"},
        {"name": "a b", "role": "viewer"},
        {"name": "<img src=x onerror=alert(1)>", "role": "viewer"},
        {"name": "a\n", "role": "viewer"},
        {"name": "x" * 65, "role": "viewer"},
        {"name": "ann", "role": "root"},
        {"name": "ann"},
        {"name": "ann", "role": "viewer", "expires_in_s": 1},
        {"name": "ann", "role": "viewer", "expires_in_s": 1e12},
        {"name": "ann", "role": "viewer", "token": "mine"},
    ],
)
def test_invalid_token_request_is_422(client: TestClient, body: dict[str, object]) -> None:
    assert_problem(client.post(TOKENS, json=body), 422)


def test_name_is_free_again_when_its_token_has_ended(client: TestClient) -> None:
    first = client.post(TOKENS, json={"name": "ann", "role": "viewer"}).json()
    assert_problem(client.post(TOKENS, json={"name": "ann", "role": "admin"}), 409, "already", str(first["id"]))
    client.delete(f"{TOKENS}/{first['id']}")
    assert client.post(TOKENS, json={"name": "ann", "role": "viewer"}).status_code == 201


def test_revoked_token_is_refused_immediately(service: ServiceRig, client: TestClient) -> None:
    made = client.post(TOKENS, json={"name": "ann", "role": "viewer"}).json()
    browser = service.client(None, app=client.app)  # type: ignore[arg-type]
    assert browser.post("/api/v1/session", json={"token": made["token"]}).status_code == 200
    link = browser.post("/api/v1/login-links").json()["url"]
    assert browser.get("/api/v1/devices").status_code == 200
    assert browser.get("/api/v1/devices", headers=bearer(made["token"])).status_code == 200
    revoked = client.delete(f"{TOKENS}/{made['id']}").json()
    assert (revoked["state"], revoked["revoked_by"]) == ("revoked", "admin")
    assert browser.get("/api/v1/devices").status_code == 401
    assert browser.get("/api/v1/devices", headers=bearer(made["token"])).status_code == 401
    assert browser.post("/api/v1/session", json={"code": link.partition("#")[2]}).status_code == 401
    assert client.delete(f"{TOKENS}/{made['id']}").json() == revoked


def test_gateway_refuses_a_revoked_token_immediately(service: ServiceRig, client: TestClient) -> None:
    made = client.post(TOKENS, json={"name": "ann", "role": "viewer"}).json()
    with service.client(None, service.gateway()) as gateway:
        assert gateway.get("/metrics", headers=bearer(made["token"])).status_code == 200
        client.delete(f"{TOKENS}/{made['id']}")
        end = time.monotonic() + 4  # its cache is valid for 5 s
        while gateway.get("/metrics", headers=bearer(made["token"])).status_code != 401:
            assert time.monotonic() < end


def test_token_of_the_data_directory_cannot_be_revoked_over_rest(service: ServiceRig, client: TestClient) -> None:
    service.data.admin_token.write_text("token-of-admin\n")
    (own,) = [each["id"] for each in client.get(TOKENS).json()["items"] if each["role"] == "admin"]
    assert_problem(client.delete(f"{TOKENS}/{own}"), 409, "remove admin.token and start")
    service.data.admin_token.unlink()
    assert client.delete(f"{TOKENS}/{own}").status_code == 200


def test_unknown_token_cannot_be_revoked(client: TestClient) -> None:
    assert_problem(client.delete(f"{TOKENS}/99"), 404, "there is no token 99")


def test_tokens_are_listed_in_pages(service: ServiceRig, client: TestClient) -> None:
    seen, after = [], None
    while True:
        page = client.get(TOKENS, params={"limit": 2} | ({} if after is None else {"after": after})).json()
        seen += [each["id"] for each in page["items"]]
        if (after := page["next"]) is None:
            break
    assert seen == list(range(1, len(Role) + 1))


def test_new_admin_token_of_the_data_directory_replaces_the_old_one(service: ServiceRig) -> None:
    with service.database.write() as connection:
        tokens.install_admin(connection, "first", AT)
        tokens.install_admin(connection, "first", AT + 1)
        assert tokens.holder(connection, "first", AT + 1) is not None
        tokens.install_admin(connection, "second", AT + 2)
        assert tokens.holder(connection, "first", AT + 3) is None
        assert tokens.holder(connection, "second", AT + 3) is not None
        assert tokens.holder(connection, "token-of-admin", AT + 3) is not None  # another process created it


def test_store_refuses_a_duplicate_name_and_an_unknown_id(service: ServiceRig) -> None:
    with service.database.write() as connection:
        tokens.create(connection, "ann", Role.VIEWER, AT, by="admin", until=AT + 10)
        with pytest.raises(ConflictError, match="'ann'"):
            tokens.create(connection, "ann", Role.VIEWER, AT + 9, by="admin", until=None)
        tokens.create(connection, "ann", Role.VIEWER, AT + 10, by="admin", until=None)
        with pytest.raises(NotFoundError):
            tokens.revoke(connection, 99, "admin", AT)


# Failed logins.


class Clock:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_eleventh_failure_waits_until_the_first_is_a_minute_old() -> None:
    clock = Clock()
    counted = LoginRateLimit(clock)
    for _ in range(login_rate_limit.MAX_FAILURES):
        counted.add("10.0.0.1", "x")
        clock.now += 1
    with pytest.raises(TooManyFailuresError) as refused:
        counted.add("10.0.0.1", "x")
    assert refused.value.retry_s == 51
    counted.add("10.0.0.2", "x")
    clock.now += 61
    counted.add("10.0.0.1", "x")


def test_repeated_failure_of_a_page_counts_once() -> None:
    counted = LoginRateLimit(Clock())
    for _ in range(100):
        counted.add("10.0.0.1", "a session that is over", once=True)
    for number in range(login_rate_limit.MAX_FAILURES - 1):
        counted.add("10.0.0.1", str(number), once=True)
    with pytest.raises(TooManyFailuresError):
        counted.add("10.0.0.1", "another", once=True)


def test_addresses_are_bounded_and_an_ipv6_network_counts_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = LoginRateLimit(Clock(), max_addresses=50)
    for number in range(200):
        counted.add(f"10.0.0.{number}", "x")
    assert counted.address_count == 50
    with pytest.raises(TooManyFailuresError):
        for number in range(20):
            counted.add(f"2001:db8::{number:x}", "x")


@pytest.mark.parametrize("way", ["a token", "a code", "a token to log in", "a session"])
def test_eleventh_failure_is_429_while_valid_tokens_are_accepted(service: ServiceRig, way: str) -> None:
    client = service.client(None)

    def fail(number: int) -> int:
        if way == "a token":
            return client.get("/api/v1/devices", headers=bearer("wrong")).status_code
        if way == "a session":
            return client.get("/api/v1/devices", headers={"Cookie": f"podium_session_8300=x{number}"}).status_code
        body = {"code" if way == "a code" else "token": "wrong"}
        return client.post("/api/v1/session", json=body).status_code

    assert [fail(number) for number in range(12)] == [401] * 10 + [429] * 2
    refused = client.get("/api/v1/devices", headers=bearer("wrong"))
    assert_problem(refused, 429, "too many invalid tokens")
    assert 50 <= int(refused.headers["retry-after"]) <= 60
    assert client.get("/api/v1/devices", headers=bearer("token-of-viewer")).status_code == 200
    assert client.get("/api/v1/devices").status_code == 401
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("token", ["tökén", "\udcff", "a\x00b", "a b", "x" * 8000])
def test_token_of_any_bytes_is_unknown(service: ServiceRig, token: str) -> None:
    header = b"Bearer " + token.encode(errors="surrogateescape")
    answer = service.client(None).get("/api/v1/devices", headers={b"Authorization": header})
    assert_problem(answer, 401)


# The command line.


def test_tokens_are_managed_by_the_command_line(
    podium: Podium, service: ServiceRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    from podium.api.client.client import Client

    def opened(_: object) -> Client:
        return Client("http://testserver", "token", http=service.client())

    monkeypatch.setattr(Client, "of", opened)
    code, out, err = podium("token", "create", "ann", "--role", "viewer", "--expires-in", "8w")
    assert (code, out.startswith("podium_"), len(out.splitlines())) == (0, True, 1)
    assert "of ann, viewer, until" in err
    assert "not shown again" in err
    assert podium("token", "create", "ann", "--role", "viewer")[0] == 1
    assert podium("token", "create", "eve", "--role", "admin", "--expires-in", "never")[0] == 0
    assert podium("token", "create", "node-b", "--role", "node")[0] == 1, "it accepts no nodes"
    for wrong in ("8", "0d", "8y", "-1d", ""):
        assert podium("token", "create", "bob", "--role", "viewer", "--expires-in", wrong)[0] == 2
    listed = podium("token", "list")[1]
    assert "ann" in listed
    assert out.strip() not in listed
    code, out, err = podium("token", "revoke", "ann", "nobody", len(Role) + 2)
    assert (code, out) == (1, "token 5 of ann is revoked\ntoken 6 of eve is revoked\n")
    assert "no valid token 'nobody'" in err
    with service.database.read() as connection:
        states = {row.name: row.state(time.time()) for row in tokens.page(connection, 0, 10)}
    assert (states["ann"], states["eve"]) == ("revoked", "revoked")


def test_expired_token_is_listed_as_expired(service: ServiceRig, client: TestClient) -> None:
    made = client.post(TOKENS, json={"name": "ann", "role": "viewer"}).json()
    with service.database.write() as connection:
        connection.execute(update(token_table).where(token_table.c.id == made["id"]).values(expires_at=AT))
    assert client.get(TOKENS).json()["items"][-1]["state"] == "expired"
