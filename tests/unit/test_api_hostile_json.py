"""JSON that nobody means: every route that takes a body refuses it in words, and none falls over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from tests.service_rig import ServiceRig, assert_problem

JSON = {"Content-Type": "application/json"}
BODIES = {
    "lists in lists": b"[" * 100_000,
    "objects in objects": b'{"a":' * 100_000,
    "deep and whole": b'{"name":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "no number": b'{"name": NaN}',
    "no end": b'{"name": -Infinity}',
    "too large a float": b'{"name": 1e999}',
    "too many digits": b'{"name": ' + b"9" * 5_000 + b"}",
    "above 2**64": b'{"name": ' + b"9" * 400 + b"}",
    "half a character": b'{"name": "\\ud800"}',
    "half a character for a key": b'{"\\udfff": 1}',
    "not UTF-8": b'{"name": "\xff"}',
    "a key twice": b'{"name": "a", "name": "b"}',
    "a key twice, inside": b'{"name": [{"x": 1, "y": 2, "\\u0078": 3}]}',
    "a packed body": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00C\xbf\xa6\xa3\x02\x00\x00\x00",
}


@pytest.fixture
def app(service: ServiceRig) -> FastAPI:
    return service.app()


def _operations(app: FastAPI, service: ServiceRig) -> Iterator[tuple[str, str]]:
    """Every one that takes a body, at something that is there; what the gateway reads has tests of its own."""
    sweep_id = service.sweep()
    trial_id = service.trial(sweep_id, 0, 0.5)
    ensemble_id = service.ensemble(sweep_id, [trial_id, service.trial(sweep_id, 1, 0.6)])
    service.device()
    found = {"sweep_id": sweep_id, "trial_id": trial_id, "ensemble_id": ensemble_id, "device_id": "cpu-0"}
    for path, operations in app.openapi()["paths"].items():
        for method, operation in operations.items():
            if "requestBody" in operation and not path.endswith("/predict"):
                yield method, path.format(**found)


def test_no_route_takes_json_that_nobody_means(service: ServiceRig, app: FastAPI) -> None:
    client = service.client(app=app)
    statuses = {
        (method, path, name): client.request(method, path, content=body, headers=JSON).status_code
        for method, path in _operations(app, service)
        for name, body in BODIES.items()
    }
    assert len(statuses) > 15 * len(BODIES)
    assert {asked: status for asked, status in statuses.items() if status not in (400, 422)} == {}


def test_a_key_that_is_there_twice_is_named(client: TestClient) -> None:
    body = b'{"name": "a", "role": "viewer", "role": "admin"}'
    assert_problem(client.post("/api/v1/tokens", content=body, headers=JSON), 400, "the key 'role' is here twice")
    assert "a" not in [token["name"] for token in client.get("/api/v1/tokens").json()["items"]]


def test_a_large_body_with_a_key_twice_at_its_end_is_refused_soon(client: TestClient) -> None:
    keys = ",".join(f'"k{n}":1' for n in range(50_000))
    body = f'{{{keys},"k49999":2}}'.encode()
    assert_problem(client.post("/api/v1/sweeps", content=body, headers=JSON), 400, "the key 'k49999' is here twice")
