"""The Open Inference Protocol: answers as JSON and as binary tensors, and invalid requests."""

from __future__ import annotations

import gzip
import json
import random
import struct
import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast
from urllib.parse import quote

import numpy as np
import pytest
from fastapi import FastAPI
from httpx2 import Response
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from starlette.testclient import TestClient

from podium.api.gateway import inference_protocol_routes
from podium.api.gateway.inference_request import parse
from podium.api.gateway.output_tensors import Tensor
from podium.api.http.request_decompression import decompress
from podium.api.http.request_limits import RequestLimits
from podium.ensemble.scoring import combine
from podium.ensemble.values.ensemble_spec import Mode, Task
from podium.ensemble.values.ensemble_states import EnsembleState
from podium.ensemble.values.prediction import Outcome
from podium.sweep.values.errors import BadRequestError, TooLargeError
from tests.inference_fakes import FEATURES, TOKEN, ScriptedAggregator, serving, snapshot, traffic

OUTPUTS = ("PROBABILITIES", "LABEL", "ENTROPY", "MUTUAL_INFORMATION")
ROWS = np.array([[0.25, 2, 3], [1, 5, 6]], np.float32)
INFER = "/v2/models/digits-1/infer"
LENGTH = "Inference-Header-Content-Length"


@pytest.fixture
def aggregator() -> ScriptedAggregator:
    """Ensemble digits-1 with version 2 and canary 3; an in-graph ensemble; an ensemble in construction."""
    return ScriptedAggregator(
        traffic(snapshot(version=2), snapshot(version=3)),
        traffic(snapshot("a/b c?", 1, ensemble_id=2, mode=Mode.IN_GRAPH)),
        traffic(snapshot("house", 1, ensemble_id=3, task=Task.REGRESSION, classes=("price",))),
        traffic(snapshot("new", 1, ensemble_id=4, up=0), state=EnsembleState.BUILDING),
    )


@pytest.fixture
def client(aggregator: ScriptedAggregator) -> Iterator[TestClient]:
    """A client with the role viewer."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with TestClient(serving(aggregator), headers=headers, raise_server_exceptions=False) as opened:
        yield opened


def tensor(**changes: Any) -> dict[str, Any]:
    """INPUT as JSON; None omits a key."""
    whole = {"name": "INPUT", "shape": [2, FEATURES], "datatype": "FP32", "data": ROWS.ravel().tolist(), **changes}
    return {key: value for key, value in whole.items() if value is not None}


def body(*, inputs: Any = None, **more: Any) -> dict[str, Any]:
    return {"inputs": [tensor()] if inputs is None else inputs, **more}


def packed(head: object, raw: bytes = b"") -> tuple[bytes, dict[str, str]]:
    """A body with binary data after its JSON, and its headers."""
    text = json.dumps(head).encode()
    return text + raw, {LENGTH: str(len(text))}


def binary(rows: NDArray[Any] = ROWS, **changes: Any) -> tuple[bytes, dict[str, str]]:
    """A valid request with its rows as binary data."""
    raw = rows.astype("<f4").tobytes()
    given = tensor(shape=list(rows.shape), data=None, parameters={"binary_data_size": len(raw)})
    return packed(body(inputs=[given], **changes), raw)


def arrays(response: Response) -> dict[str, Any]:
    """The outputs of an answer, in JSON or binary form."""
    length = response.headers.get(LENGTH)
    head = json.loads(response.content if length is None else response.content[: int(length)])
    rest = b"" if length is None else response.content[int(length) :]
    found = {}
    for output in head["outputs"]:
        if "data" in output:
            values = np.array(output["data"])
        else:
            size = output["parameters"]["binary_data_size"]
            raw, rest = rest[:size], rest[size:]
            values = np.array(strings(raw)) if output["datatype"] == "BYTES" else np.frombuffer(raw, "<f4")
        found[output["name"]] = values.reshape(output["shape"])
    assert rest == b""
    return found


def strings(raw: bytes) -> list[str]:
    found = []
    while raw:
        (length,) = struct.unpack("<I", raw[:4])
        found.append(raw[4 : 4 + length].decode())
        raw = raw[4 + length :]
    return found


def assert_error(response: Response, status: int, *words: str) -> dict[str, Any]:
    """The answer is an error in the format of the protocol and in that of all other routes."""
    assert response.status_code == status, response.text
    found: dict[str, Any] = response.json()
    assert (found["status"], found["detail"]) == (status, found["error"])
    for word in words:
        assert word in found["error"]
    return found


# Answers.


def test_json_answer_has_every_output(client: TestClient) -> None:
    answer = client.post(INFER, json=body(id="42"))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert LENGTH not in answer.headers
    head = answer.json()
    assert (head["id"], head["model_name"], head["model_version"]) == ("42", "digits-1", "2")
    assert [(o["name"], o["datatype"], o["shape"]) for o in head["outputs"]] == [
        ("PROBABILITIES", "FP32", [2, 2]),
        ("LABEL", "BYTES", [2]),
        ("ENTROPY", "FP32", [2]),
        ("MUTUAL_INFORMATION", "FP32", [2]),
    ]
    assert head["outputs"][0]["data"] == [0.25, 0.75, 1.0, 0.0]
    assert head["outputs"][1]["data"] == ["dög", "cat"]
    assert head["outputs"][2]["data"] == pytest.approx([0.562335, 0], abs=1e-5)
    assert head["outputs"][3]["data"] == pytest.approx([0, 0], abs=1e-5)


def test_parameters_describe_the_answer(client: TestClient, aggregator: ScriptedAggregator) -> None:
    aggregator.outcome = Outcome.DEGRADED
    parameters = client.post(INFER, json=body(parameters={"timeout": 200_000})).json()["parameters"]
    assert all(isinstance(value, str | int | float | bool) for value in parameters.values())
    members = json.loads(parameters.pop("members"))
    assert [(each["status"], each["epoch"]) for each in members] == [("ok", 1), ("ok", 1), ("late", 1)]
    assert json.loads(parameters.pop("weights")) == [0.5, 0.5]
    assert parameters == {
        "ensemble": "digits-1", "version": 2, "mode": "between_graph", "outcome": "degraded", "requested": 3,
        "answered": 2, "quorum": 2, "degraded": True, "deadline_ms": 200.0, "total_ms": 1.5,
    }  # fmt: skip


def test_answer_has_no_id_when_the_request_has_none(client: TestClient) -> None:
    assert "id" not in client.post(INFER, json=body()).json()


def test_rows_may_be_nested_lists(client: TestClient, aggregator: ScriptedAggregator) -> None:
    assert client.post(INFER, json=body(inputs=[tensor(data=ROWS.tolist())])).status_code == 200
    np.testing.assert_array_equal(aggregator.asked[0].inputs, ROWS)


def test_null_keys_are_ignored(client: TestClient) -> None:
    request = body(id=None, outputs=None, parameters=None, inputs=[tensor() | {"parameters": None}])
    assert client.post(INFER, json=request).status_code == 200


def test_binary_tensors_in_both_directions(client: TestClient, aggregator: ScriptedAggregator) -> None:
    content, headers = binary(parameters={"binary_data_output": True})
    answer = client.post(INFER, content=content, headers=headers)
    assert answer.headers["content-type"] == "application/octet-stream"
    np.testing.assert_array_equal(aggregator.asked[0].inputs, ROWS)
    plain = client.post(INFER, json=body())
    for name, values in arrays(answer).items():
        np.testing.assert_array_equal(values, arrays(plain)[name].astype(values.dtype))


INTEGERS = [f"{sign}INT{size}" for sign in ("", "U") for size in (8, 16, 32, 64)]
WHOLE = np.array([[1, 2, 3], [0, 5, 6]])


@pytest.mark.parametrize("datatype", [*INTEGERS, "FP16", "FP32", "FP64"])
def test_every_numeric_datatype_is_converted(client: TestClient, aggregator: ScriptedAggregator, datatype: str) -> None:
    kind = datatype.lower().replace("fp", "float")
    content, headers = raw_bytes(datatype, WHOLE.astype(kind))
    assert client.post(INFER, content=content, headers=headers).status_code == 200
    if datatype != "FP16":
        request = body(inputs=[tensor(datatype=datatype, data=WHOLE.ravel().tolist())])
        assert client.post(INFER, json=request).status_code == 200
    for asked in aggregator.asked:
        assert asked.inputs.dtype == np.float32
        np.testing.assert_array_equal(asked.inputs, WHOLE)


def test_bool_is_0_and_1(client: TestClient, aggregator: ScriptedAggregator) -> None:
    truth = WHOLE > 2
    content, headers = raw_bytes("BOOL", truth)
    assert client.post(INFER, content=content, headers=headers).status_code == 200
    request = body(inputs=[tensor(datatype="BOOL", data=truth.tolist())])
    assert client.post(INFER, json=request).status_code == 200
    for asked in aggregator.asked:
        np.testing.assert_array_equal(asked.inputs, [[0, 0, 1], [0, 1, 1]])


def test_bf16_is_the_upper_half_of_fp32(client: TestClient, aggregator: ScriptedAggregator) -> None:
    rows = np.array([[0.5, -2, 3.140625], [1e30, 1, 0]], np.float32)
    halves = (rows.view(np.uint32) >> 16).astype("<u2")
    content, headers = raw_bytes("BF16", halves)
    assert client.post(INFER, content=content, headers=headers).status_code == 200
    np.testing.assert_array_equal(aggregator.asked[0].inputs, (halves.astype(np.uint32) << 16).view(np.float32))
    np.testing.assert_allclose(aggregator.asked[0].inputs, rows, rtol=2**-7)


@pytest.mark.parametrize("datatype", ["INT32", "INT64", "UINT32", "UINT64"])
def test_integers_exact_in_float32_are_valid_at_any_size(
    client: TestClient, aggregator: ScriptedAggregator, datatype: str
) -> None:
    limits = np.iinfo(datatype.lower())
    large = np.array([2**24, limits.max // 2 + 1, limits.min, 2**24 - 1, 0, 3 << 26], datatype.lower())
    content, headers = raw_bytes(datatype, large)
    assert client.post(INFER, content=content, headers=headers).status_code == 200
    assert [int(value) for value in aggregator.asked[0].inputs.ravel()] == large.tolist()


def test_error_is_json_as_expected_by_the_kserve_client(client: TestClient) -> None:
    answer = client.post(INFER, content=b"hello")
    assert_error(answer, 400, "not JSON")
    assert answer.headers["content-type"] == "application/json"


def test_model_may_be_given_by_id(client: TestClient, aggregator: ScriptedAggregator) -> None:
    answer = client.post("/v2/models/3/infer", json=body())
    assert (answer.status_code, answer.json()["model_name"]) == (200, "house")
    assert client.get("/v2/models/1/versions/3").json() == client.get("/v2/models/digits-1").json()
    assert client.get("/v2/models/1/ready").json() == {"name": "digits-1", "ready": True}
    assert_error(client.get("/v2/models/7"), 404, "'7'")
    assert_error(client.get("/v2/models/01"), 404, "'01'")
    assert_error(client.get(f"/v2/models/{'9' * 5000}"), 404)
    aggregator.update([traffic(snapshot(ensemble_id=2)), traffic(snapshot("2", ensemble_id=3))])
    assert client.post("/v2/models/2/infer", json=body()).json()["model_name"] == "2", "a name comes before an id"


def test_requested_outputs_are_returned_in_order_and_form(client: TestClient) -> None:
    wanted = [{"name": "LABEL", "parameters": {"binary_data": True}}, {"name": "ENTROPY"},
              {"name": "PROBABILITIES", "parameters": {"binary_data": False}}]  # fmt: skip
    answer = client.post(INFER, json=body(outputs=wanted))
    head = json.loads(answer.content[: int(answer.headers[LENGTH])])
    assert [o["name"] for o in head["outputs"]] == ["LABEL", "ENTROPY", "PROBABILITIES"]
    assert ["data" in o for o in head["outputs"]] == [False, True, True]
    assert arrays(answer)["LABEL"].tolist() == ["dög", "cat"]


def test_regression_answer_has_a_variance(client: TestClient) -> None:
    found = arrays(client.post("/v2/models/house/infer", json=body()))
    assert {name: values.shape for name, values in found.items()} == {"VALUES": (2, 1), "VARIANCE": (2, 1)}
    assert found["VALUES"].ravel().tolist() == [0.25, 1]
    assert found["VARIANCE"].ravel() == pytest.approx([0.5, 0.5])


def test_path_may_name_a_version(client: TestClient, aggregator: ScriptedAggregator) -> None:
    answer = client.post("/v2/models/digits-1/versions/3/infer", json=body())
    assert answer.json()["model_version"] == "3"
    assert aggregator.asked[0].snapshot.version == 3


def test_guarantee_14_version_is_read_when_the_rows_have_arrived(
    client: TestClient, aggregator: ScriptedAggregator, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slowly(*_: Any) -> bytes:
        aggregator.update([traffic(snapshot(version=9))])
        return json.dumps(body()).encode()

    monkeypatch.setattr(inference_protocol_routes, "read_body", slowly)
    assert client.post(INFER).json()["model_version"] == "9"


def test_timeout_is_a_deadline(client: TestClient, aggregator: ScriptedAggregator) -> None:
    for timeout in (1, 250_000, 0, None):
        client.post(INFER, json=body(parameters={"timeout": timeout}))
    assert [asked.deadline_ms for asked in aggregator.asked] == [0.001, 250, None, None]


@pytest.mark.parametrize(
    ("outcome", "status"), [(Outcome.SHED, 429), (Outcome.BELOW_QUORUM, 503), (Outcome.DEADLINE, 504)]
)
def test_failed_request_reports_the_reason_and_member_states(
    client: TestClient, aggregator: ScriptedAggregator, outcome: Outcome, status: int
) -> None:
    aggregator.outcome = outcome
    answer = client.post(INFER, json=body())
    found = assert_error(answer, status, "0 of 3 members answered, the quorum is 2", "trial 0 of sweep 3 late")
    assert found["parameters"]["outcome"] == outcome.value
    assert len(json.loads(found["parameters"]["members"])) == 3
    assert ("retry-after" in answer.headers) == (status in (429, 503))


# Models and servers.


def test_server_metadata(client: TestClient) -> None:
    about = client.get("/v2").json()
    assert about["name"] == "podium"
    assert about["version"]
    assert "binary_tensor_data" in about["extensions"]


def test_model_metadata_has_inputs_and_outputs(client: TestClient) -> None:
    about = client.get("/v2/models/digits-1").json()
    assert about == {
        "name": "digits-1",
        "versions": ["2", "3"],
        "platform": "podium_between_graph",
        "inputs": [{"name": "INPUT", "datatype": "FP32", "shape": [-1, 3]}],
        "outputs": [
            {"name": "PROBABILITIES", "datatype": "FP32", "shape": [-1, 2]},
            {"name": "LABEL", "datatype": "BYTES", "shape": [-1]},
            {"name": "ENTROPY", "datatype": "FP32", "shape": [-1]},
            {"name": "MUTUAL_INFORMATION", "datatype": "FP32", "shape": [-1]},
        ],
    }
    assert client.get("/v2/models/digits-1/versions/3").json() == about


def test_model_configuration_is_that_of_triton(client: TestClient) -> None:
    config = client.get("/v2/models/digits-1/config").json()
    assert config["input"] == [{"name": "INPUT", "data_type": "TYPE_FP32", "dims": [-1, 3]}]
    assert config["output"][1] == {"name": "LABEL", "data_type": "TYPE_STRING", "dims": [-1]}
    assert client.get("/v2/models/digits-1/versions/2/config").json() == config


def test_index_has_every_version(client: TestClient) -> None:
    rows = client.post("/v2/repository/index").json()
    found = [(r["name"], r["version"], r["state"]) for r in rows]
    ready = [("digits-1", "2", "READY"), ("digits-1", "3", "READY"), ("a/b c?", "1", "READY"),
             ("house", "1", "READY")]  # fmt: skip
    assert found == [*ready, ("new", "1", "UNAVAILABLE")]
    assert len(client.post("/v2/repository/index", json={"ready": True}).json()) == len(ready)
    assert_error(client.post("/v2/repository/index", json={"ready": 1}), 400, "ready")
    assert_error(client.post("/v2/repository/index", content=b"["), 400, "not JSON")


def test_any_name_can_be_addressed(client: TestClient) -> None:
    path = f"/v2/models/{quote('a/b c?')}"
    assert client.get(path).json()["name"] == "a/b c?"
    assert client.get(f"{path}/ready").status_code == 200
    assert client.get(f"{path}/versions/1/ready").status_code == 200
    assert client.post(f"{path}/infer", json=body()).json()["parameters"]["mode"] == "in_graph"
    assert client.get(f"/v2/models/{quote('a/b c?', safe='')}").json()["name"] == "a/b c?"


def test_model_is_ready_with_its_quorum(client: TestClient, aggregator: ScriptedAggregator) -> None:
    assert client.get("/v2/models/digits-1/versions/3/ready").status_code == 200
    assert client.get("/v2/models/digits-1/ready").json() == {"name": "digits-1", "ready": True}
    assert client.get("/v2/models/new/ready").status_code == 503
    assert client.get("/v2/models/new/ready").json() == {"name": "new", "ready": False}
    assert client.get("/v2/health/ready").status_code == 200, "what is being built keeps nothing from its work"
    aggregator.update([traffic(snapshot(up=2)), traffic(snapshot("other", ensemble_id=2, up=1))])
    assert client.get("/v2/models/digits-1/ready").status_code == 200
    assert client.get("/v2/models/other/ready").status_code == 503
    assert client.get("/v2/health/ready").status_code == 503
    assert client.get("/v2/health/ready").json() == {"ready": False}


def test_health_is_public_and_other_routes_are_not(aggregator: ScriptedAggregator) -> None:
    stranger = TestClient(serving(aggregator))
    for what in ("live", "ready"):
        answer = stranger.get(f"/v2/health/{what}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        assert answer.json() == {what: True}
    for path in ("/v2", "/v2/models/digits-1", "/v2/models/digits-1/ready", "/v2/models/digits-1/config", "/v2/x"):
        answer = stranger.get(path)
        assert_error(answer, 401, "Authorization")
        assert answer.headers["www-authenticate"] == "Bearer"
    assert_error(stranger.post(INFER, json=body()), 401)
    assert_error(stranger.post("/v2/repository/index"), 401)
    assert aggregator.asked == []


@pytest.mark.parametrize("version", ["4", "0", "v1", "-1", "1.0", "９", "9" * 5000])
def test_inactive_version_is_404(client: TestClient, version: str) -> None:
    for path in (f"/v2/models/digits-1/versions/{version}", f"/v2/models/digits-1/versions/{version}/ready"):
        assert_error(client.get(path), 404, "version", "digits-1")
    assert_error(client.post(f"/v2/models/digits-1/versions/{version}/infer", json=body()), 404, "digits-1")


def test_unknown_model_is_404(client: TestClient) -> None:
    assert_error(client.get("/v2/models/absent"), 404, "'absent'")
    assert_error(client.get("/v2/models/absent/ready"), 404, "'absent'")
    assert_error(client.post("/v2/models/absent/infer", json=body()), 404, "'absent'")


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v2/repository/models/digits-1/load"), ("GET", "/v2/trace/setting"), ("GET", "/v2/repository/index"),
     ("DELETE", "/v2/models/digits-1"), ("GET", INFER)],
)  # fmt: skip
def test_unsupported_route_names_the_supported_ones(client: TestClient, method: str, path: str) -> None:
    assert_error(client.request(method, path), 404)


# Invalid requests.

BILLION = 10**9
HUGE: list[tuple[str, Any]] = [
    ("a billion rows", [BILLION, FEATURES]),
    ("rows that overflow 64 bits of bytes", [2**62, FEATURES]),
    ("the largest number of JSON", [2**64 - 1, FEATURES]),
]
JSON_BODIES: list[tuple[str, Any, int, str]] = [
    ("no JSON", b"hello", 400, "not JSON"),
    ("nothing", b"", 400, "not JSON"),
    ("not UTF-8", b'{"inputs": "\xff"}', 400, "not JSON"),
    ("NaN", b'{"inputs": [{"name": "INPUT", "shape": [1, 3], "datatype": "FP32", "data": [NaN, 1, 1]}]}', 400, "JSON"),
    ("depth", b'{"inputs": ' + b"[" * 100_000, 400, "not JSON"),
    ("a list", [], 400, "the body"),
    ("no inputs", {}, 400, "inputs"),
    ("empty inputs", body(inputs=[]), 400, "'INPUT'"),
    ("inputs by name", {"inputs": {"INPUT": []}}, 400, "inputs"),
    ("two inputs", body(inputs=[tensor(), tensor()]), 400, "one input"),
    ("many inputs", body(inputs=[tensor()] * 1000), 400, "inputs"),
    ("another name", body(inputs=[tensor(name="input__0")]), 400, "'INPUT'"),
    ("no name", body(inputs=[tensor(name=None)]), 400, "name"),
    ("no shape", body(inputs=[tensor(shape=None)]), 400, "shape"),
    ("no datatype", body(inputs=[tensor(datatype=None)]), 400, "datatype"),
    ("no data", body(inputs=[tensor(data=None)]), 400, "data must be"),
    ("BYTES", body(inputs=[tensor(datatype="BYTES", data=["a"] * 6)]), 400, "must be one of BOOL, INT8"),
    ("an unknown datatype", body(inputs=[tensor(datatype="x" * 10_000)]), 400, "FP64, not 'xxx"),
    ("FP16 in JSON", body(inputs=[tensor(datatype="FP16")]), 400, "FP16 cannot be sent as JSON; send binary data"),
    ("BF16 in JSON", body(inputs=[tensor(datatype="BF16")]), 400, "BF16 cannot be sent as JSON"),
    ("fractions of INT64", body(inputs=[tensor(datatype="INT64")]), 400, "0.25; each element of INT64 must be an int"),
    ("truth of INT64", body(inputs=[tensor(datatype="INT64", data=[True] * 6)]), 400, "must be an integer"),
    ("numbers of BOOL", body(inputs=[tensor(datatype="BOOL", data=[0, 1] * 3)]), 400, "BOOL must be true or false"),
    ("too large for INT8", body(inputs=[tensor(datatype="INT8", data=[1, 2, 3, 4, 128, 6])]), 400,
     "128 in row 1, column 1 is out of range for INT8: -128 to 127"),
    ("below 0 for UINT64", body(inputs=[tensor(datatype="UINT64", data=[1, 2, -3, 4, 5, 6])]), 400, "for UINT64: 0 to"),
    ("an id that float32 changes", body(inputs=[tensor(datatype="INT64", data=[1, 2, 3, 2**24 + 1, 5, 6])]), 400,
     "16777217 in row 1, column 0 is not exact in FP32"),
    ("too large for FP32 in FP64", body(inputs=[tensor(datatype="FP64", data=[1, 2, 3, 4, 1e39, 6])]), 400, "1e+39 in"),
    ("a shape of words", body(inputs=[tensor(shape=["2", "3"])]), 400, "shape"),
    ("a shape of fractions", body(inputs=[tensor(shape=[2.0, 3.0])]), 400, "shape"),
    ("a shape of truth", body(inputs=[tensor(shape=[True, 3])]), 400, "shape"),
    ("a shape without end", body(inputs=[tensor(shape=[1] * 100_000)]), 400, "shape"),
    ("one dimension", body(inputs=[tensor(shape=[6])]), 400, "[rows, 3]"),
    ("three dimensions", body(inputs=[tensor(shape=[1, 2, 3])]), 400, "[rows, 3]"),
    ("no dimension", body(inputs=[tensor(shape=[])]), 400, "[rows, 3]"),
    ("another width", body(inputs=[tensor(shape=[3, 2])]), 400, "[rows, 3]"),
    ("no rows", body(inputs=[tensor(shape=[0, 3], data=[])]), 400, "at least one row"),
    ("fewer than no rows", body(inputs=[tensor(shape=[-2, -3])]), 400, "[rows, 3]"),
    ("fewer than no rows, alone", body(inputs=[tensor(shape=[-2, 3])]), 400, "[rows, 3]"),
    *((name, body(inputs=[tensor(shape=shape)]), 400, "elements") for name, shape in HUGE),
    ("too few elements", body(inputs=[tensor(data=[1, 2, 3])]), 400, "6 elements, data has 3"),
    ("too many elements", body(inputs=[tensor(data=[1.0] * 7)]), 400, "data has 7"),
    ("a ragged row", body(inputs=[tensor(data=[[1, 2, 3], [4, 5]])]), 400, "each row"),
    ("half rows", body(inputs=[tensor(data=[[1, 2, 3], 4])]), 400, "each row"),
    ("rows of rows", body(inputs=[tensor(data=[[[1], [2], [3]], [[4], [5], [6]]])]), 400, "must be a number"),
    ("words", body(inputs=[tensor(data=["1"] * 6)]), 400, "must be a number"),
    ("a long word", body(inputs=[tensor(data=["x" * 100_000, *"12345"])]), 400, "must be a number"),
    ("a hole", body(inputs=[tensor(data=[1, 2, 3, 4, 5, None])]), 400, "must be a number"),
    ("truth", body(inputs=[tensor(data=[True] * 6)]), 400, "must be a number"),
    ("objects", body(inputs=[tensor(data=[{}] * 6)]), 400, "must be a number"),
    ("data in words", body(inputs=[tensor(data="123456")]), 400, "data must be"),
    ("too large for FP32", body(inputs=[tensor(data=[1, 2, 3, 4, 1e39, 6])]), 400, "row 1, column 1 is not finite"),
    ("data and bytes", body(inputs=[tensor(parameters={"binary_data_size": 24})]), 400, "not both"),
    ("bytes that are not there", body(inputs=[tensor(data=None, parameters={"binary_data_size": 24})]), 400, "24, but"),
    ("shared memory", body(inputs=[tensor(data=None, parameters={"shared_memory_region": "r"})]), 400, "shared memory"),
    ("an unknown output", body(outputs=[{"name": "VALUES"}]), 400, "PROBABILITIES, LABEL, ENTROPY"),
    ("an output twice", body(outputs=[{"name": "LABEL"}, {"name": "LABEL"}]), 400, "distinct"),
    ("outputs by name", body(outputs=["LABEL"]), 400, "outputs.0"),
    ("many outputs", body(outputs=[{"name": "LABEL"}] * 1000), 400, "outputs"),
    ("shared memory out", body(outputs=[{"name": "LABEL", "parameters": {"shared_memory_region": "r"}}]), 400, "memo"),
    ("classification", body(outputs=[{"name": "LABEL", "parameters": {"classification": 3}}]), 400, "LABEL"),
    ("binary in words", body(outputs=[{"name": "LABEL", "parameters": {"binary_data": "yes"}}]), 400, "binary_data"),
    ("an id that is none", body(id=7), 400, "id"),
    ("a timeout in words", body(parameters={"timeout": "soon"}), 400, "parameters.timeout"),
    ("a timeout in the past", body(parameters={"timeout": -1}), 400, "parameters.timeout"),
    ("a timeout next year", body(parameters={"timeout": 10**15}), 400, "parameters.timeout"),
    ("a sequence", body(parameters={"sequence_id": 5}), 400, "sequence_id"),
    ("parameters in a list", body(parameters=[]), 400, "parameters"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "status", "words"), [case[1:] for case in JSON_BODIES], ids=[case[0] for case in JSON_BODIES]
)
def test_invalid_request_is_refused(
    client: TestClient, aggregator: ScriptedAggregator, content: Any, status: int, words: str
) -> None:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    found = assert_error(client.post(INFER, content=text), status, words)
    assert len(found["error"]) < 500
    assert aggregator.asked == []


def claims(size: object, shape: object = (2, FEATURES), raw: bytes = ROWS.tobytes()) -> tuple[bytes, dict[str, str]]:
    """Binary data with a claimed size and shape."""
    return packed(body(inputs=[tensor(shape=shape, data=None, parameters={"binary_data_size": size})]), raw)


def raw_bytes(datatype: str, array: NDArray[Any]) -> tuple[bytes, dict[str, str]]:
    """Six elements of a datatype as binary data."""
    raw = array.tobytes()
    given = tensor(datatype=datatype, data=None, parameters={"binary_data_size": len(raw)})
    return packed(body(inputs=[given]), raw)


HEAD = claims(24)[0][:-24]
BINARY_BODIES: list[tuple[str, tuple[bytes, dict[str, str]], str]] = [
    ("fewer bytes than it says", claims(24, raw=b"\0" * 23), "24, but 23 bytes follow"),
    ("more bytes than it says", claims(24, raw=b"\0" * 25), "24, but 25 bytes follow"),
    ("a size that is not the shape's", claims(20, raw=b"\0" * 20), "24 bytes, got 20"),
    ("no bytes", claims(0, raw=b""), "24 bytes, got 0"),
    ("a size below 0", claims(-24), "binary_data_size"),
    ("a size in words", claims("24"), "binary_data_size"),
    ("a fraction of a size", claims(24.0), "binary_data_size"),
    ("a billion rows", claims(24, [BILLION, FEATURES]), "12,000,000,000 bytes"),
    ("a billion bytes", claims(BILLION), "24 bytes follow"),
    ("a product that is 24 in 64 bits", claims(24, [2**62 + 2, FEATURES]), "bytes, got 24"),
    ("NaN", claims(24, raw=np.full(6, np.nan, "<f4").tobytes()), "row 0, column 0 is not finite"),
    ("infinity", claims(24, raw=np.array([1, 2, 3, 4, -np.inf, 6], "<f4").tobytes()), "row 1, column 1"),
    ("JSON that ends too late", (HEAD, {LENGTH: str(len(HEAD) + 1)}), "exceeds the body size of"),
    ("JSON that ends too early", (HEAD + ROWS.tobytes(), {LENGTH: str(len(HEAD) - 1)}), f"{LENGTH}: the first"),
    ("JSON that ends in the bytes", (HEAD + ROWS.tobytes(), {LENGTH: str(len(HEAD) + 4)}), f"{LENGTH}: the first"),
    ("a length of another JSON", (json.dumps(body()).encode(), {LENGTH: "20"}), "the first 20 of "),
    ("no length", (HEAD + b"\xff" * 24, {}), f"{LENGTH} must be the length of the JSON"),
    ("bytes that no length leads to", (HEAD, {}), f"without {LENGTH}, the whole body is JSON"),
    (
        "a BOOL of 7",
        raw_bytes("BOOL", np.array([0, 1, 1, 0, 7, 1], np.uint8)),
        "7 in row 1, column 1 is not a valid BOOL",
    ),
    ("FP64 in the bytes of FP32", raw_bytes("FP64", ROWS), "FP64 needs 48 bytes, got 24"),
    ("FP16 that is infinite", raw_bytes("FP16", np.full(6, np.inf, "<f2")), "row 0, column 0 is not finite"),
    ("FP64 above FP32", raw_bytes("FP64", np.array([1, 2, 3, 4, 5, -1e300])), "-1e+300 in row 1, column 2 is not fin"),
    ("an id that float32 changes", raw_bytes("UINT32", np.array([0, 0, 0, 0, 0, 2**32 - 1], "<u4")), "4294967295 in"),
    ("JSON without end", (HEAD, {LENGTH: "9" * 18}), "exceeds the body size of"),
    ("no JSON", (ROWS.tobytes(), {LENGTH: "0"}), "not JSON"),
    ("a length in words", (HEAD, {LENGTH: "all"}), "must be a number of bytes"),
    ("a length below 0", (HEAD, {LENGTH: "-1"}), "must be a number of bytes"),
    ("a length that is too long", (HEAD, {LENGTH: "1" * 4000}), "must be a number of bytes"),
    ("bytes after data in JSON", packed(body(), b"\0"), "0, but 1 bytes follow"),
]


@pytest.mark.parametrize(
    ("request_", "words"), [case[1:] for case in BINARY_BODIES], ids=[case[0] for case in BINARY_BODIES]
)
def test_inconsistent_binary_data_are_refused(
    client: TestClient, aggregator: ScriptedAggregator, request_: tuple[bytes, dict[str, str]], words: str
) -> None:
    content, headers = request_
    assert_error(client.post(INFER, content=content, headers=headers), 400, words)
    assert aggregator.asked == []


@pytest.mark.parametrize("shape", [shape for _, shape in HUGE], ids=[name for name, _ in HUGE])
def test_claimed_size_allocates_no_memory(shape: list[int]) -> None:
    requests = [claims(24, shape), packed(body(inputs=[tensor(shape=shape)]))]
    tracemalloc.start()
    for content, headers in requests:
        with pytest.raises(BadRequestError):
            parse(content, int(headers[LENGTH]), FEATURES, OUTPUTS)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def limit(client: TestClient, **limits: int) -> None:
    """Set limits of the app."""
    cast(FastAPI, client.app).state.request_limits = RequestLimits(**limits)


def test_body_above_the_limit_is_413(client: TestClient) -> None:
    limit(client, array_rows_bytes=50)
    assert_error(client.post(INFER, json=body()), 413, "exceeds 50 bytes")
    bomb = gzip.compress(b"0" * 51)
    assert_error(client.post(INFER, content=bomb, headers={"Content-Encoding": "gzip"}), 413, "decompressed")


def test_rows_above_the_limit_are_413(client: TestClient) -> None:
    limit(client, rows=1)
    assert_error(client.post(INFER, json=body()), 413, "2 rows", "batches")


def test_json_above_its_limit_is_413_and_suggests_binary_data(client: TestClient) -> None:
    content, headers = binary()
    limit(client, json_rows_bytes=int(headers[LENGTH]))
    assert_error(client.post(INFER, content=json.dumps(body(id="x" * 100))), 413, "binary")
    assert client.post(INFER, content=content, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)]
)
def test_compressed_body_is_accepted(client: TestClient, encoding: str, pack: Any) -> None:
    content, headers = binary()
    answer = client.post(INFER, content=pack(content), headers={**headers, "Content-Encoding": encoding})
    assert answer.status_code == 200


def test_unknown_compression_is_415(client: TestClient) -> None:
    assert_error(client.post(INFER, content=b"x", headers={"Content-Encoding": "br"}), 415, "gzip or deflate")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_damaged_compressed_body_is_400(client: TestClient, encoding: str) -> None:
    pack: Callable[[bytes], bytes] = gzip.compress if encoding == "gzip" else zlib.compress
    sound = pack(json.dumps(body()).encode())
    for content in (b"", b"hello", sound[:-1], sound + b"\0", sound + sound):
        assert_error(client.post(INFER, content=content, headers={"Content-Encoding": encoding}), 400, encoding)


def test_decompression_stops_at_the_limit() -> None:
    bomb = zlib.compress(b"\0" * (64 << 20))
    tracemalloc.start()
    with pytest.raises(TooLargeError):
        decompress(bomb, "deflate", 1 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20


def test_request_with_changed_bytes_is_never_5xx(client: TestClient) -> None:
    chance = random.Random(2)
    sound, headers = binary(outputs=[{"name": "LABEL", "parameters": {"binary_data": True}}])
    for _ in range(300):
        content = bytearray(sound)
        for _ in range(chance.randint(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        answer = client.post(INFER, content=bytes(content), headers=headers)
        assert answer.status_code in (200, 400), answer.text


# Properties of all rows.

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
MATRICES = st.lists(st.lists(FLOATS, min_size=FEATURES, max_size=FEATURES), min_size=1, max_size=8)


@given(MATRICES, st.booleans())
def test_same_rows_are_bitwise_equal_in_every_form(rows: list[list[float]], row_by_row: bool) -> None:
    array = np.array(rows, np.float32)
    content, headers = binary(array)
    data = array.tolist() if row_by_row else array.ravel().tolist()
    text = json.dumps(body(inputs=[tensor(shape=list(array.shape), data=data)])).encode()
    from_bytes = parse(content, int(headers[LENGTH]), FEATURES, OUTPUTS).inputs
    from_json = parse(text, None, FEATURES, OUTPUTS).inputs
    assert from_bytes.tobytes() == from_json.tobytes() == array.tobytes()
    assert from_bytes.flags.aligned
    assert from_bytes.dtype == from_json.dtype == np.float32


@given(st.lists(st.integers(-(2**63), 2**64 - 1), max_size=4), st.integers(-(2**63), 2**64 - 1))
def test_shape_is_accepted_only_with_matching_data(shape: list[int], size: int) -> None:
    content, headers = claims(size, shape)
    if (shape, size) != ([2, FEATURES], 24):
        with pytest.raises(BadRequestError):
            parse(content, int(headers[LENGTH]), FEATURES, OUTPUTS)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_strings_are_decoded_as_encoded(labels: list[str]) -> None:
    assert strings(Tensor("LABEL", (len(labels),), labels).as_bytes()) == labels


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | FLOATS | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(
                        ["id", "inputs", "outputs", "name", "shape", "datatype", "data", "parameters"]), inner),
                    max_leaves=20))  # fmt: skip
def test_any_json_is_a_request_or_a_clear_error(value: object) -> None:
    for whole in (value, body(inputs=value), body(inputs=[tensor(data=value)]), body(outputs=value)):
        try:
            parse(json.dumps(whole).encode(errors="replace"), None, FEATURES, OUTPUTS)
        except BadRequestError as error:
            assert 0 < len(str(error)) < 500


def test_unrequested_outputs_are_not_computed(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Sequence[Any]) -> None:
        raise AssertionError

    monkeypatch.setattr(combine, "uncertainty", never)
    answer = client.post(INFER, json=body(outputs=[{"name": "PROBABILITIES"}]))
    assert answer.status_code == 200


def test_name_that_ends_like_a_route_is_read_as_the_route(client: TestClient, aggregator: ScriptedAggregator) -> None:
    aggregator.update(
        [traffic(snapshot("x")), traffic(replace(snapshot("x/ready", ensemble_id=2), classes=("a",) * 9))]
    )
    assert client.get("/v2/models/x/ready").json() == {"name": "x", "ready": True}
    assert client.get("/v2/models/x/ready/versions/1").json()["outputs"][0]["shape"] == [-1, 9]
