"""Predictions at the gateway: answers, status codes, and invalid requests."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import pickle
import random
import resource
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest
from fastapi import FastAPI, HTTPException, Request
from numpy.typing import NDArray
from starlette.testclient import TestClient

from podium.api.gateway import podium_format_prediction_routes
from podium.api.gateway.main import follow_database
from podium.api.http.authentication import Authenticator
from podium.api.http.request_body import IncomingBodies, read_body
from podium.api.http.request_limits import MAX_ROWS_WITH_MEMBERS, RequestLimits
from podium.db.access.tokens import Role
from podium.ensemble.serving import aggregator
from podium.ensemble.serving.aggregator_limits import AggregatorLimits
from podium.ensemble.serving.unix_socket_transport import SocketTransport
from podium.ensemble.worker.inference_server import WorkerServer
from tests.ensemble_fakes import FakeNetwork
from tests.service_rig import ServiceRig, assert_problem

FEATURES = 3
URL = "/api/v1/ensembles/1/predict"
NPY = {"Content-Type": "application/x-npy"}


@pytest.fixture
def networks(service: ServiceRig) -> Iterator[list[FakeNetwork]]:
    """The networks of ensemble 1: three members, two of them a quorum, each served in a thread of this process."""
    sweep_id = service.sweep()
    trials = [service.trial(sweep_id, number, 0.5) for number in range(3)]
    ensemble_id = service.ensemble(sweep_id, trials, deadline_ms=20_000)
    made = [FakeNetwork() for _ in trials]
    endpoints = [f"unix:{service.settings.runtime.replica_socket(number, 1)}" for number in range(3)]
    servers = [WorkerServer(endpoint, 1, network) for endpoint, network in zip(endpoints, made, strict=True)]
    for server in servers:
        server.start()
    service.ready(ensemble_id, endpoints)
    yield made
    for network, server in zip(made, servers, strict=True):
        network.gate.set()
        server.close()


@pytest.fixture
def gateway(service: ServiceRig, networks: list[FakeNetwork]) -> Iterator[TestClient]:
    """A client of the gateway, which follows the database in the background."""
    with service.client(app=service.gateway()) as client:
        yield client


def npy(array: NDArray[Any], **options: Any) -> bytes:
    content = io.BytesIO()
    np.save(content, array, **options)
    return content.getvalue()


def test_answer_has_all_fields(gateway: TestClient) -> None:
    answer = gateway.post(URL, json={"inputs": [[0.25, 0, 0], [1, 0, 0]], "deadline_ms": 10_000})
    assert answer.status_code == 200
    body = answer.json()
    assert body["outputs"] == [[0.25, 0.75], [1.0, 0.0]]
    assert body["labels"] == ["dog", "cat"]
    assert (body["ensemble"], body["version"], body["mode"]) == ("small-1", 1, "between_graph")
    assert (body["outcome"], body["degraded"]) == ("ok", False)
    assert (body["requested"], body["answered"], body["quorum"], body["deadline_ms"]) == (3, 3, 2, 10_000)
    assert body["weights"] == pytest.approx([1 / 3] * 3)
    assert [m["status"] for m in body["members"]] == ["ok"] * 3
    assert set(body["members"][0]) == {
        "member_id", "trial_id", "trial_number", "sweep_id", "epoch", "status", "queue_ms", "compute_ms", "message",
    }  # fmt: skip
    assert body["entropy"] == pytest.approx([0.562335, 0], abs=1e-5)
    assert body["mutual_information"] == pytest.approx([0, 0], abs=1e-5)
    assert "member_outputs" not in body


@pytest.mark.parametrize("kind", ["<f4", ">f4", "<f2", "<f8", "u1", "<i8", ">u8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_in_npy_format_are_accepted(gateway: TestClient, kind: str, order: Any) -> None:
    rows = np.array([[1, 2, 3], [0, 5, 6]], kind, order=order)
    answer = gateway.post(URL, content=npy(rows), headers=NPY)
    assert answer.status_code == 200
    assert answer.json()["outputs"] == [[1, 0], [0, 1]]


def test_boolean_rows_are_0_and_1(gateway: TestClient) -> None:
    answer = gateway.post(URL, content=npy(np.array([[True, False, True]])), headers=NPY)
    assert answer.json()["outputs"] == [[1, 0]]


def test_integer_not_exact_in_float32_is_named(gateway: TestClient) -> None:
    answer = gateway.post(URL, content=npy(np.array([[1, 2, 3], [4, 2**24 + 1, 6]])), headers=NPY)
    assert_problem(
        answer, 422, "inputs: 16777217 in row 1, column 1 is not exact in FP32", "send floating-point numbers"
    )


def test_npy_format_may_be_requested(gateway: TestClient, networks: list[FakeNetwork]) -> None:
    body = {"inputs": [[0.25, 0, 0], [1, 0, 0]]}
    answer = gateway.post(URL, json=body, headers={"Accept": "application/x-npy"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-npy")
    found = np.load(io.BytesIO(answer.content), allow_pickle=False)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [[0.25, 0.75], [1, 0]])
    networks[1].fails = True
    answer = gateway.post(URL, json=body, headers={"Accept": "application/x-npy"})
    headers = [answer.headers[f"Podium-{name}"] for name in ("Outcome", "Version", "Answered", "Requested")]
    assert headers == ["degraded", "1", "2", "3"]
    networks[0].fails = True
    assert_problem(gateway.post(URL, json=body, headers={"Accept": "application/x-npy"}), 503)


@pytest.mark.parametrize(
    ("accept", "npy_is_sent"),
    [
        ("application/x-npy", True),
        ("Application/X-NPY; q=0.1", True),
        ("application/x-npy, */*", True),
        ("application/x-npy, application/json", True),
        ("application/json, application/x-npy", False),
        ("application/json;q=0.5, application/x-npy;q=0.9", True),
        ("application/x-npy;q=0.5, */*", False),
        ("application/x-npy;q=0", False),
        ("application/x-npy;q=much", False),
        ("application/x-npyz", False),
        ("*/*", False),
        ("text/html", False),
        ("", False),
    ],
)
def test_answer_has_the_preferred_format(gateway: TestClient, accept: str, npy_is_sent: bool) -> None:
    answer = gateway.post(URL, json={"inputs": [[0.5, 0, 0]]}, headers={"Accept": accept})
    assert answer.headers["content-type"] == ("application/x-npy" if npy_is_sent else "application/json")


@pytest.mark.parametrize("asked", ["members=true", "whole=true"])
def test_member_outputs_are_not_available_as_npy(gateway: TestClient, asked: str) -> None:
    headers = {"Accept": "application/x-npy"}
    answer = gateway.post(f"{URL}?{asked}", json={"inputs": [[0.5, 0, 0]]}, headers=headers)
    assert_problem(answer, 422, "members:", "accept application/json")


def test_ensemble_may_be_given_by_name(service: ServiceRig, gateway: TestClient) -> None:
    answer = gateway.post("/api/v1/ensembles/small-1/predict", json={"inputs": [[1, 2, 3]]})
    assert (answer.status_code, answer.json()["ensemble"]) == (200, "small-1")
    answer = gateway.post("/api/v1/ensembles/other/predict", json={"inputs": [[1, 2, 3]]})
    assert_problem(answer, 404, "there is no ensemble 'other'")
    service.client().post("/api/v1/ensembles/1/stop")
    with service.client(app=service.gateway()) as client:
        answer = client.post("/api/v1/ensembles/small-1/predict", json={"inputs": [[1, 2, 3]]})
        assert_problem(answer, 404, "ensemble 'small-1' is stopped")


def test_complete_answer_has_the_outputs_of_every_member(gateway: TestClient, networks: list[FakeNetwork]) -> None:
    body = gateway.post(f"{URL}?whole=true", json={"inputs": [[0.5, 0, 0]]}).json()
    assert body["member_outputs"] == [[[0.5, 0.5]]] * 3
    assert body["quorum"] == 3
    assert [network.batches for network in networks] == [[1], [1], [1]]


def test_member_outputs_are_available_to_viewers(gateway: TestClient, networks: list[FakeNetwork]) -> None:
    networks[1].fails = True
    viewer = {"Authorization": "Bearer token-of-viewer"}
    answer = gateway.post(f"{URL}?members=true", json={"inputs": [[0.5, 0, 0]]}, headers=viewer)
    assert (answer.status_code, answer.json()["degraded"]) == (200, True)
    assert answer.json()["member_outputs"] == [[[0.5, 0.5]], None, [[0.5, 0.5]]]
    too_many = {"inputs": [[0.5, 0, 0]] * (MAX_ROWS_WITH_MEMBERS + 1)}
    assert_problem(gateway.post(f"{URL}?members=true", json=too_many), 422, "at most 100 rows, not 101")


def test_complete_answer_is_refused_to_viewers(gateway: TestClient, networks: list[FakeNetwork]) -> None:
    viewer = {"Authorization": f"Bearer token-of-{Role.VIEWER.value}"}
    rows = {"inputs": [[0.5, 0, 0]]}
    assert_problem(gateway.post(f"{URL}?whole=true", json=rows, headers=viewer), 403, "submitter", "viewer")
    assert gateway.post(URL, json=rows, headers=viewer).status_code == 200
    submitter = {"Authorization": f"Bearer token-of-{Role.SUBMITTER.value}"}
    assert gateway.post(f"{URL}?whole=true", json=rows, headers=submitter).status_code == 200


def test_failed_member_degrades_the_answer(gateway: TestClient, networks: list[FakeNetwork]) -> None:
    networks[1].fails = True
    body = gateway.post(URL, json={"inputs": [[0.5, 0, 0]]}).json()
    assert (body["outcome"], body["degraded"], body["answered"]) == ("degraded", True, 2)
    assert [m["status"] for m in body["members"]] == ["ok", "error", "ok"]
    assert body["weights"] == [0.5, 0.5]


def test_answer_below_the_quorum_is_503_with_member_states(gateway: TestClient, networks: list[FakeNetwork]) -> None:
    networks[0].fails = networks[1].fails = True
    answer = gateway.post(URL, json={"inputs": [[0.5, 0, 0]]})
    body = assert_problem(answer, 503, "1 of 3 members answered, the quorum is 2", "ArithmeticError: poison")
    assert [m["status"] for m in body["members"]] == ["error", "error", "ok"]
    assert "outputs" not in body
    assert answer.headers["retry-after"] == "1"


def test_complete_answer_needs_all_members(gateway: TestClient, networks: list[FakeNetwork]) -> None:
    networks[2].fails = True
    assert_problem(gateway.post(f"{URL}?whole=true", json={"inputs": [[0.5, 0, 0]]}), 503, "2 of 3", "quorum is 3")


def test_no_reply_by_the_deadline_is_504(gateway: TestClient, networks: list[FakeNetwork]) -> None:
    for network in networks:
        network.gate.clear()
    body = assert_problem(gateway.post(URL, json={"inputs": [[0.5, 0, 0]], "deadline_ms": 30}), 504, "0 of 3")
    assert (body["outcome"], {m["status"] for m in body["members"]}) == ("deadline", {"late"})
    assert assert_problem(gateway.post(f"{URL}?deadline_ms=31", json={"inputs": [[0.5, 0, 0]]}), 504)[
        "deadline_ms"
    ] == 31  # fmt: skip


def test_too_many_requests_in_flight_is_429(service: ServiceRig, networks: list[FakeNetwork]) -> None:
    with service.client(app=service.gateway(AggregatorLimits(requests=0))) as gateway:
        answer = gateway.post(URL, json={"inputs": [[0.5, 0, 0]]})
    assert_problem(answer, 429)
    assert answer.headers["retry-after"] == "1"


JSON_BODIES: list[tuple[str, bytes | str, int]] = [
    ("not JSON", "hello", 400),
    ("nothing", "", 400),
    ("a list", "[[1,2,3]]", 400),
    ("a word", '"inputs"', 400),
    ("null", "null", 400),
    ("no inputs", '{"input": [[1,2,3]]}', 400),
    ("NaN", '{"inputs": [[NaN,2,3]]}', 400),
    ("infinity", '{"inputs": [[Infinity,2,3]]}', 400),
    ("deep", "[" * 100_000, 400),
    ("deep inputs", '{"inputs": ' + "[" * 200 + "]" * 200 + "}", 422),
    ("not UTF-8", b'{"inputs": "\xff"}', 400),
    ("a lone surrogate", '{"inputs": "\\ud800"}', 400),
    ("a row, no rows", '{"inputs": [1,2,3]}', 422),
    ("no rows", '{"inputs": []}', 422),
    ("empty rows", '{"inputs": [[]]}', 422),
    ("too narrow", '{"inputs": [[1,2]]}', 422),
    ("too wide", '{"inputs": [[1,2,3,4]]}', 422),
    ("too deep", '{"inputs": [[[1,2,3]]]}', 422),
    ("ragged", '{"inputs": [[1,2,3],[1,2]]}', 422),
    ("half ragged", '{"inputs": [[1,2,3],4]}', 422),
    ("words", '{"inputs": [["1","2","3"]]}', 422),
    ("a hole", '{"inputs": [[1,null,3]]}', 422),
    ("truth", '{"inputs": [[true,false,true]]}', 422),
    ("an object", '{"inputs": {"0": [1,2,3]}}', 422),
    ("too large for float32", '{"inputs": [[1e39,2,3]]}', 422),
    ("too large for any float", '{"inputs": [[' + "9" * 400 + ",2,3]]}", 400),
    ("a deadline of 0", '{"inputs": [[1,2,3]], "deadline_ms": 0}', 422),
    ("a boolean deadline", '{"inputs": [[1,2,3]], "deadline_ms": true}', 422),
    ("a deadline in words", '{"inputs": [[1,2,3]], "deadline_ms": "soon"}', 422),
    ("a deadline next year", '{"inputs": [[1,2,3]], "deadline_ms": 1e10}', 422),
]


@pytest.mark.parametrize(("content", "status"), [b[1:] for b in JSON_BODIES], ids=[b[0] for b in JSON_BODIES])
def test_invalid_rows_are_refused(
    gateway: TestClient, networks: list[FakeNetwork], content: bytes | str, status: int
) -> None:
    assert_problem(gateway.post(URL, content=content, headers={"Content-Type": "application/json"}), status)
    assert networks[0].batches == []


@pytest.mark.parametrize("value", ["0", "nan", "inf", "-1", "600001", "soon"])
def test_invalid_deadline_is_422(gateway: TestClient, value: str) -> None:
    assert_problem(gateway.post(f"{URL}?deadline_ms={value}", json={"inputs": [[1, 2, 3]]}), 422, "deadline_ms")


class Evil:
    """Fails the test when it is unpickled."""

    woken = False

    def __reduce__(self) -> Any:
        return (setattr, (Evil, "woken", True))


def claims(text: str, data: bytes = b"") -> bytes:
    """An array in numpy's format with this header."""
    header = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


ROW = np.zeros((1, FEATURES), np.float32)
NPY_BODIES: dict[str, tuple[bytes, int]] = {
    "a pickled object": (npy(np.array([[Evil()] * FEATURES], dtype=object), allow_pickle=True), 400),
    "a pickle": (pickle.dumps(Evil()), 400),
    "a zip": (b"PK\3\4 and more", 400),
    "JSON": (b'{"inputs": [[1,2,3]]}', 400),
    "nothing": (b"", 400),
    "cut in the header": (npy(ROW)[:40], 400),
    "cut in the data": (npy(ROW)[:-1], 400),
    "more than it says": (npy(ROW) + b"\0", 400),
    "more rows than there are": (
        claims("{'descr': '<f4', 'fortran_order': False, 'shape': (10000000000000, 3), }"),
        400,
    ),
    "fewer than no rows": (claims("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -3), }", b"\0" * 12), 400),
    "code for a header": (claims("__import__('os').abort()"), 400),
    "a header without end": (claims("{'descr': '''"), 400),
    "brackets without end": (claims("(" * 110), 400),
    "an unknown version": (b"\x93NUMPY\x09\x00" + npy(ROW)[8:], 400),
    "an id that float32 changes": (npy(np.array([[1, 2**24 + 1, 3]])), 422),
    "words": (npy(np.array([["a", "b", "c"]])), 422),
    "times": (npy(np.zeros((1, FEATURES), "M8[s]")), 422),
    "complex numbers": (npy(np.zeros((1, FEATURES), np.complex64)), 422),
    "fields": (npy(np.zeros((1, FEATURES), [("x", "<f4")])), 422),
    "NaN": (npy(np.full((1, FEATURES), np.nan)), 422),
    "too large for float32": (npy(np.full((1, FEATURES), 1e300)), 422),
    "another width": (npy(np.zeros((1, 7))), 422),
    "no rows": (npy(np.zeros((0, FEATURES))), 422),
    "a number": (npy(np.array(1.0)), 422),
}


@pytest.mark.parametrize(("content", "status"), NPY_BODIES.values(), ids=NPY_BODIES)
def test_invalid_array_is_refused(
    gateway: TestClient, networks: list[FakeNetwork], content: bytes, status: int
) -> None:
    assert_problem(gateway.post(URL, content=content, headers=NPY), status)
    assert networks[0].batches == []
    assert not Evil.woken


def test_array_with_changed_bytes_is_never_5xx(gateway: TestClient) -> None:
    chance = random.Random(2)
    sound = npy(np.ones((2, FEATURES), np.float32))
    for _ in range(300):
        content = bytearray(sound)
        for _ in range(chance.randint(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        answer = gateway.post(URL, content=bytes(content), headers=NPY)
        assert answer.status_code in (200, 400, 422), answer.text


def test_largest_finite_values_are_valid_rows(gateway: TestClient) -> None:
    top = float(np.finfo(np.float32).max)
    assert gateway.post(URL, content=json.dumps({"inputs": [[1.0, top, top]]})).status_code == 200


def test_rows_above_the_limit_are_413(gateway: TestClient, networks: list[FakeNetwork]) -> None:
    cast(FastAPI, gateway.app).state.request_limits = RequestLimits(rows=2)
    for sent in ({"content": npy(np.ones((3, FEATURES))), "headers": NPY}, {"json": {"inputs": [[1, 2, 3]] * 3}}):
        assert_problem(gateway.post(URL, **cast(Any, sent)), 413, "3 rows", "limit of 2", "batches")
    assert networks[0].batches == []


def test_large_rows_and_answers_are_processed_outside_the_event_loop(
    gateway: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []

    async def run_in_thread_if(large: bool, work: Any) -> Any:
        found.append(large)
        return work()

    monkeypatch.setattr(podium_format_prediction_routes, "run_in_thread_if", run_in_thread_if)
    for rows in (1, 8_192):
        body = {"inputs": [[1 / 3] * FEATURES] * rows}  # 16 digits each: 450 KB at most
        assert gateway.post(URL, json=body).status_code == 200
    assert found == [False, False, True, True]


def test_all_incoming_bodies_share_a_limit(gateway: TestClient) -> None:
    cast(FastAPI, gateway.app).state.incoming_bodies.max_bytes = 200
    small = {"inputs": [[0.5, 0, 0]]}
    answer = gateway.post(URL, json={"inputs": [[0.5, 0, 0]] * 30})
    assert_problem(answer, 429, "too many large request bodies")
    assert answer.headers["retry-after"] == "1"
    assert [gateway.post(URL, json=small).status_code for _ in range(10)] == [200] * 10  # the count returns to zero


def test_body_that_does_not_arrive_is_408() -> None:
    app = FastAPI()
    app.state.incoming_bodies = IncomingBodies(max_s=0.0)
    chunks = [{"type": "http.request", "body": b"[[0.", "more_body": True}]

    async def receive() -> dict[str, Any]:
        return chunks.pop() if chunks else await asyncio.Future()

    with pytest.raises(HTTPException, match="did not arrive") as refused:
        asyncio.run(read_body(Request({"type": "http", "app": app}, receive), 100))
    assert refused.value.status_code == 408
    assert app.state.incoming_bodies.received_bytes == 0


def test_unknown_ensemble_is_404(gateway: TestClient) -> None:
    assert_problem(gateway.post("/api/v1/ensembles/7/predict", json={"inputs": [[1, 2, 3]]}), 404, "no ensemble 7")
    for impossible in (0, 2**63, "9" * 5000):
        assert_problem(gateway.post(f"/api/v1/ensembles/{impossible}/predict", json={}), 404, "no ensemble")


def test_stopped_ensemble_is_404_with_the_reason(service: ServiceRig, networks: list[FakeNetwork]) -> None:
    service.client().post("/api/v1/ensembles/1/stop")
    with service.client(app=service.gateway()) as client:
        assert_problem(client.post(URL, json={"inputs": [[1, 2, 3]]}), 404, "ensemble 1 is stopped")


class FailsOnce:
    """An aggregator whose first update fails, and whose second one ends the loop."""

    def __init__(self) -> None:
        self.updates = 0

    def update(self, _: object) -> None:
        self.updates += 1
        if self.updates == 1:
            raise RuntimeError("no more sockets")
        raise asyncio.CancelledError


def test_update_is_retried_after_an_error(service: ServiceRig) -> None:
    fake, authenticator = FailsOnce(), Authenticator(service.database, "cookie")

    async def follow() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await follow_database(
                service.database, cast(aggregator.Aggregator, fake), asyncio.Event(), authenticator, refresh_s=0
            )

    asyncio.run(follow())
    assert fake.updates == 2


class IgnoringReceiver:
    """A receiver that ignores everything."""

    def on_message(self, frames: list[bytes]) -> None: ...

    def on_disconnect(self) -> None: ...

    def on_reconnect(self) -> None: ...


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 4096, reason="too few files may be open")
def test_hundreds_of_workers_have_a_connection_each(service: ServiceRig) -> None:
    async def open_all() -> None:
        transport = SocketTransport()
        try:
            wires = [
                transport.open(f"unix:{service.settings.runtime.replica_socket(n, 1)}", IgnoringReceiver())
                for n in range(350)
            ]
            for wire in wires:
                wire.close()
        finally:
            transport.close()

    asyncio.run(open_all())
