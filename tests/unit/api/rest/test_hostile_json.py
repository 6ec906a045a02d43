"""Hostile JSON: every route with a body refuses it with a message, and none fails."""

from __future__ import annotations

import json
from collections.abc import Iterator

import orjson
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from podium.api.http import reject_duplicate_keys
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
    "a lone surrogate": b'{"name": "\\ud800"}',
    "a lone surrogate for a key": b'{"\\udfff": 1}',
    "not UTF-8": b'{"name": "\xff"}',
    "a key twice": b'{"name": "a", "name": "b"}',
    "a key twice, inside": b'{"name": [{"x": 1, "y": 2, "\\u0078": 3}]}',
    "a packed body": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00C\xbf\xa6\xa3\x02\x00\x00\x00",
}


@pytest.fixture
def app(service: ServiceRig) -> FastAPI:
    return service.app()


def _operations(app: FastAPI, service: ServiceRig) -> Iterator[tuple[str, str]]:
    """Every operation with a body, at existing resources; the routes of the gateway have tests of their own."""
    sweep_id = service.sweep()
    trial_id = service.trial(sweep_id, 0, 0.5)
    ensemble_id = service.ensemble(sweep_id, [trial_id, service.trial(sweep_id, 1, 0.6)])
    service.device()
    found = {"sweep_id": sweep_id, "trial_id": trial_id, "ensemble_id": ensemble_id, "device_id": "cpu-0", "name": "b"}
    for path, operations in app.openapi()["paths"].items():
        for method, operation in operations.items():
            if "requestBody" in operation and not path.endswith("/predict"):
                yield method, path.format(**found)


def test_no_route_accepts_hostile_json(service: ServiceRig, app: FastAPI) -> None:
    client = service.client(app=app)
    statuses = {
        (method, path, name): client.request(method, path, content=body, headers=JSON).status_code
        for method, path in _operations(app, service)
        for name, body in BODIES.items()
    }
    assert len(statuses) > 15 * len(BODIES)
    assert {asked: status for asked, status in statuses.items() if status not in (400, 422)} == {}


def test_duplicate_key_is_named(client: TestClient) -> None:
    body = b'{"name": "a", "role": "viewer", "role": "admin"}'
    assert_problem(client.post("/api/v1/tokens", content=body, headers=JSON), 400, "duplicate key 'role'")
    assert "a" not in [token["name"] for token in client.get("/api/v1/tokens").json()["items"]]


def test_duplicate_key_at_the_end_of_a_large_body_is_refused_quickly(client: TestClient) -> None:
    keys = ",".join(f'"k{n}":1' for n in range(50_000))
    body = f'{{{keys},"k49999":2}}'.encode()
    assert_problem(client.post("/api/v1/sweeps", content=body, headers=JSON), 400, "duplicate key 'k49999'")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("sweeps/import", '{"name": "a", "trials": [{"state": "finished", "state": "failed"}]}'),
        ("ensembles/1/evaluate", '{"split": "test", "wait_s": 0, "split": "train"}'),
        ("ensembles/1/evaluate", '{"inputs": [[1.0]], "targets": ["a"], "targets": ["b"]}'),
        ("ensembles/1/predict", '{"inputs": [[0, 0, 1]], "inputs": [[0, 0, 2]]}'),
        ("ensembles/1/predict", '{"inputs": [[0, 0, 1]], "deadline_ms": 1, "deadline\\u005fms": 60000}'),
        ("/v2/models/rows/infer", '{"id": "a", "id": "b", "inputs": []}'),
        ("/v2/models/rows/infer", '{"inputs": [{"name": "INPUT", "name": "X"}]}'),
        ("/v2/repository/index", '{"ready": true, "ready": false}'),
    ],
)
def test_duplicate_key_is_refused_in_rows_and_imports(service: ServiceRig, path: str, body: str) -> None:
    sweep_id = service.sweep()
    trials = [service.trial(sweep_id, number, 0.5) for number in range(2)]
    ensemble_id = service.ensemble(sweep_id, trials, "rows")
    service.ready(ensemble_id, ["unix:nowhere"] * 2)
    of_gateway = path.startswith("/") or path.endswith("predict")
    with service.client(app=service.gateway() if of_gateway else None) as client:
        address = path if path.startswith("/") else f"/api/v1/{path}"
        answer = client.post(address, content=body.encode(), headers=JSON)
    assert answer.status_code == 400, answer.text
    assert "duplicate key" in answer.json()["detail"]


def test_rows_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check costs a prediction nothing: a body with no more strings than expected is not parsed again."""
    monkeypatch.setattr(reject_duplicate_keys, "check", pytest.fail)
    found: object
    for found in (
        {"inputs": [[1.0, 2.0]] * 1000, "deadline_ms": 5},
        {"targets": ["a", "b"], "inputs": [[1.0]]},
        {"inputs": [{"name": "INPUT", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}], "id": "x"},
        [], None, 5, "text",
    ):  # fmt: skip
        reject_duplicate_keys.check_parsed(json.dumps(found).encode(), found)


def test_deep_nesting_is_counted_without_an_error() -> None:
    body = b'{"a":' * 1000 + b"1" + b"}" * 1000
    reject_duplicate_keys.check_parsed(body, orjson.loads(body))
