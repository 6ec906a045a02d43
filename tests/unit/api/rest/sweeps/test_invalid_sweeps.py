"""POST /sweeps with every kind of invalid body: 4xx with the problem and its position, never 5xx, nothing stored."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from podium.api.http.request_limits import MAX_JSON_BYTES
from podium.db.stores import sweeps
from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from tests.service_rig import ServiceRig, assert_problem
from tests.specs import builtin_document as document

URL = "/api/v1/sweeps"
JSON = {"Content-Type": "application/json"}
LR = {"min": 1e-4, "max": 0.1, "log": True}
HUGE = 10**400


def lr(**changes: Any) -> dict[str, Any]:
    """The document with another learning rate."""
    return document(parameters={"lr": changes})


def data(**changes: Any) -> dict[str, Any]:
    return document(program={"model": "mlp", "data": changes})


# name, document, the invalid key, words of the message
WRONG: list[tuple[str, dict[str, Any], str, str]] = [
    ("an unknown key", document(methd="tpe"), "methd", "did you mean 'method'?"),
    ("an unknown key below", document(metric={"name": "val_loss", "gaol": "minimize"}), "metric.gaol", "'goal'"),
    ("a wrong type", document(run_cap="many"), "run_cap", "must be an integer"),
    ("a number as text", lr(min="0.1", max=1.0), "parameters.lr.min", "number"),
    ("min above max", lr(min=2.0, max=1.0), "parameters.lr.min", "must not exceed max"),
    ("log from 0", lr(min=0.0, max=1.0, log=True), "parameters.lr.min", "must be greater than 0"),
    ("half a range", lr(min=0.0), "parameters.lr", "min requires max"),
    ("a range and values", lr(min=0.0, max=1.0, values=[1]), "parameters.lr", "exactly one of"),
    ("no metric", document(metric=None), "metric", "is required"),
    ("no parameters", document(parameters={}), "parameters", "at least one"),
    ("an unknown model", document(program={"model": "mpl", "data": {"name": "digits"}}), "program.model", "'mlp'"),
    ("an unknown data set", data(name="digit"), "program.data.name", "did you mean 'digits'?"),
    ("no folder of data", data(name="mnist"), "program.data.root", "folder"),
    ("a folder that is not there", data(name="mnist", root="/nowhere"), "program.data.root", "/nowhere"),
    ("a folder with NUL", data(name="mnist", root="/x\0y"), "program.data.root", "does not exist"),
    ("no such file", data(file="/nowhere.csv", target="y"), "program.data.file", "file /nowhere.csv does not exist"),
    ("a file with NUL", data(file="/x\0y.csv", target="y"), "program.data.file", "does not exist"),
    ("a file too long", data(file="/" + "y" * 5000, target="y"), "program.data.file", "cannot read"),
    ("a folder too long", data(name="mnist", root="/" + "y" * 5000), "program.data.root", "cannot read"),
    ("a setting that is none", document(parameters={"lrr": LR}), "parameters.lrr", "did you mean 'lr'?"),
    ("a learning rate below 0", lr(values=[-1.0]), "parameters.lr", "must be at least"),
    ("half a hidden unit", document(parameters={"hidden": {"min": 1.0, "max": 9.0}}), "parameters.hidden", "integer"),
    ("NaN", lr(values=[0.1, float("nan")]), "parameters.lr.values.1", "must be a finite number"),
    ("an infinite end", lr(min=0.1, max=float("inf")), "parameters.lr.max", "must be a finite number"),
    ("a huge end", lr(min=1, max=HUGE), "parameters.lr.max", "2**63"),
    ("a huge value", lr(value=HUGE), "parameters.lr.value", "2**63"),
    ("a seed too large", document(seed=2**63), "seed", "must be less than"),
    ("a step too small", document(parameters={"lr": {"min": 0.0, "max": 1.0, "step": 5e-324}}), "parameters.lr.step",
     "too small"),
    ("a grid too large", document(method="grid", parameters={f"p{n}": {"min": 1, "max": 10**9} for n in range(3)}),
     "parameters", "more than 1,000,000,000,000,000,000 points"),
    ("a sampler class that is not here", document(method={"sampler": "nowhere_to_be:Sampler"}), "method.sampler",
     "package 'nowhere_to_be' is not installed in the service's Python environment"),
    ("units beyond all memory", document(parameters={"hidden": {"min": 1, "max": 2**53}}), "parameters.hidden",
     "must be at most"),
    ("code that was not uploaded", document(program={"function": "train:objective"}, metric={"name": "x",
     "goal": "minimize"}), "program.bundle", "not uploaded"),
    ("a bundle that is not here", document(program={"function": "train:objective", "bundle": "ab" * 32},
     metric={"name": "x", "goal": "minimize"}), "program.bundle", "upload it first"),
    ("a script that was not uploaded", document(program={"command": ["python", "train.py"]}, metric={"name": "x",
     "goal": "minimize"}), "program.bundle", "not uploaded"),
    ("a script without parameters", document(program={"script": "train.py"}, parameters={}), "parameters",
     "at least one"),
    ("a lone surrogate", document(name="\ud800"), "name", "lone surrogate"),
    ("a lone surrogate as a setting", document(parameters={"\ud800": LR}), "parameters", "lone surrogate"),
    ("a lone surrogate as a value", lr(values=["\ud800"]), "parameters.lr.values.0", "lone surrogate"),
    ("a start without end", document(limits={"start_s": float("inf")}), "limits.start_s", "must be a finite number"),
    ("a huge step", lr(min=0.0, max=1.0, step=HUGE), "parameters.lr.step", "2**63"),
    ("a huge multiple", lr(distribution="q_normal", q=HUGE), "parameters.lr.q", "2**63"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "key", "words"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_invalid_sweep_is_422_with_its_key_and_a_hint(
    client: TestClient, service: ServiceRig, wrong: dict[str, Any], key: str, words: str
) -> None:
    body = assert_problem(client.post(URL, content=json.dumps(wrong), headers=JSON), 422)
    assert body["title"] == "Invalid sweep file"
    assert key in {".".join(error["location"]) for error in body["errors"]}
    assert any(words in error["message"] for error in body["errors"])
    with service.database.read() as connection:
        assert sweeps.page(connection) == []


def test_all_problems_are_reported_together(client: TestClient) -> None:
    answer = client.post(URL, json=document(methd="x", run_cap="many", seed=-1))
    assert len(assert_problem(answer, 422)["errors"]) == 3


RAW: list[tuple[str, bytes, int]] = [
    ("nothing", b"", 422),
    ("not JSON", b"name: small", 422),
    ("cut", b'{"name": "sm', 422),
    ("not UTF-8", b'{"name": "\xff\xfe"}', 400),
    ("a list", b"[]", 422),
    ("null", b"null", 422),
    ("a number", b"1", 422),
    ("deep lists", b"[" * 100_000, 400),
    ("deep objects", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 400),
    ("a number of 5,000 digits", b'{"seed": ' + b"9" * 5000 + b"}", 400),
    ("1 MB and a byte", b'{"name": "' + b"x" * MAX_JSON_BYTES + b'"}', 413),
    ("4 MB of spaces", b" " * (4 << 20), 413),
]


@pytest.mark.parametrize(("content", "status"), [r[1:] for r in RAW], ids=[r[0] for r in RAW])
def test_body_that_is_not_a_document_is_refused(client: TestClient, content: bytes, status: int) -> None:
    assert_problem(client.post(URL, content=content, headers=JSON), status)


def test_too_large_body_is_refused_while_it_arrives(client: TestClient) -> None:
    sent = 0

    def pieces() -> Any:
        nonlocal sent
        for _ in range(100):
            sent += 1
            yield b" " * (1 << 18)

    assert_problem(client.post(URL, content=pieces(), headers=JSON), 413, "1,048,576 bytes")


def test_body_of_another_content_type_is_refused(client: TestClient) -> None:
    answer = client.post(URL, content=json.dumps(document()), headers={"Content-Type": "text/plain"})
    assert_problem(answer, 422)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just(HUGE)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KEYS = ["name", "method", "seed", "metric", "parameters", "enqueue", "early_terminate", "run_cap", "program"]
paths = st.sampled_from(
    [(key,) for key in [*KEYS, "validation", "resources", "limits", "retries", "other"]]
    + [("parameters", "lr"), ("program", "data"), ("program", "model"), ("metric", "name"), ("metric", "goal")]
    + [("parameters", "lr", key) for key in ("min", "max", "log", "step", "values", "value", "when")]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=3 * settings().max_examples)
@given(paths, values)
def test_any_value_at_any_key_is_never_5xx(client: TestClient, path: tuple[str, ...], value: Any) -> None:
    body: Any = json.loads(json.dumps(document()))
    node = body
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    answer = client.post(URL, content=json.dumps(body), headers=JSON)
    assert answer.status_code in (201, 400, 422), answer.text
    if answer.status_code == 201:
        assert client.get(answer.headers["location"]).status_code == 200


def test_node_is_refused_in_an_existing_ray_cluster(service: ServiceRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        service, "settings", replace(service.settings, existing_cluster=ExistingCluster("10.0.0.9:6379"))
    )
    response = service.client().post(URL, json=document(resources={"node": "b"}))
    assert_problem(response, 422)
    assert "resources.node" in response.text and "whichever node has them free" in response.text
