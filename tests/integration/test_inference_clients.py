"""Triton's public client, unchanged, with real gateway and api processes and real workers."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import numpy as np
import pytest
import tritonclient.http as triton
import tritonclient.http.aio as triton_aio
from numpy.typing import NDArray
from prometheus_client.parser import text_string_to_metric_families
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

from podium.api.serve.ports import free_port
from podium.db.stores import ensemble_reader, ensemble_writer, member_replicas
from podium.ensemble.values.ensemble_snapshot import Combination
from podium.ensemble.values.ensemble_spec import Rule, Task
from podium.ensemble.values.ensemble_states import EnsembleState, MemberState
from podium.ensemble.worker.inference_server import WorkerServer
from podium.sweep.runtime.service_settings import ServiceSettings
from tests.ensemble_fakes import FakeNetwork
from tests.running_service import wait_for
from tests.service_rig import AT, ServiceRig, new_version

TOKEN = "token-of-viewer"
ROWS = np.array([[0.25, 2, 3], [1, 5, 6]], np.float32)
OUTPUTS = ["PROBABILITIES", "LABEL", "ENTROPY", "MUTUAL_INFORMATION"]
ODD = "dög/ 100% ?#"  # a name that every path segment must support
REGRESSION = Combination(Task.REGRESSION, Rule.MEAN, (1 / 3,) * 3, noise_variance=(0.5, 0.5))


class Serving:
    """A gateway and an api process on a database with ensembles, whose workers are threads of this one."""

    def __init__(self, folder: Path, exits: ExitStack) -> None:
        self._exits = exits
        self.rig = ServiceRig(folder)
        exits.callback(self.rig.close)
        self.rig.data.admin_token.write_text("token-of-admin")
        sweep_id = self.rig.sweep()
        self._trials = [self.rig.trial(sweep_id, number, 0.5) for number in range(3)]
        self._sweep_id = sweep_id
        self.settings = replace(self.rig.settings, port=free_port(), gateway_port=free_port())

    def ensemble(self, name: str, *, canary: bool = False, **options: Any) -> list[FakeNetwork]:
        """An ensemble of three, ready, and a canary if there is to be one; returns the networks of the first."""
        ensemble_id = self.rig.ensemble(self._sweep_id, self._trials, name, deadline_ms=20_000.0, **options)
        if canary:
            with self.rig.database.write() as connection:
                ensemble_writer.add_version(
                    connection, ensemble_id, new_version(self._trials, deadline_ms=10_000.0), 1e-12, AT
                )
        with self.rig.database.read() as connection:
            row = ensemble_reader.get(connection, ensemble_id)
        members = [member for version in row.versions.values() for member in version.members]
        networks = [self._worker(member.replicas[0].id) for member in members]
        with self.rig.database.write() as connection:
            ensemble_writer.change(connection, ensemble_id, EnsembleState.READY, "", AT)
        return networks[:3]

    def _worker(self, replica_id: int) -> FakeNetwork:
        network = FakeNetwork()
        endpoint = f"unix:{self.settings.runtime.replica_socket(replica_id, 1)}"
        server = WorkerServer(endpoint, 1, network)
        server.start()
        self._exits.callback(server.close)
        self._exits.callback(network.gate.set)
        with self.rig.database.write() as connection:
            member_replicas.change(
                connection, replica_id, MemberState.READY, device_id="cpu-0", epoch=1, endpoint=endpoint
            )
        return network

    def start(self) -> None:
        for part in ("podium.api.gateway.main", "podium.api.rest.main"):
            self._exits.callback(_end, _process(part, self.settings))

    def port(self, door: str) -> int:
        return self.settings.gateway_port if door == "gateway" else self.settings.port


def _process(part: str, settings: ServiceSettings) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-P", "-m", part, str(settings.save())], stdin=subprocess.DEVNULL)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(30)


class Bearer(triton.InferenceServerClientPlugin):  # type: ignore[misc]
    """Sends the token with every call."""

    def __call__(self, request: triton.Request) -> None:
        request.headers["authorization"] = f"Bearer {TOKEN}"


@pytest.fixture(scope="module")
def slow() -> list[FakeNetwork]:
    """The networks of ensemble `slow`; filled by `serving`."""
    return []


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory, slow: list[FakeNetwork]) -> Iterator[Serving]:
    """Four ensembles, one of them with a canary, one of values."""
    with ExitStack() as exits:
        opened = Serving(tmp_path_factory.mktemp("oip"), exits)
        opened.ensemble("digits-1", canary=True)
        opened.ensemble(ODD)
        opened.ensemble("house", combination=REGRESSION, classes=("price", "size"))
        slow += opened.ensemble("slow")
        opened.start()
        yield opened


@pytest.fixture(params=["gateway", "api"])
def client(serving: Serving, request: pytest.FixtureRequest) -> Iterator[triton.InferenceServerClient]:
    """Triton's client on the gateway's port and on the api's, with all workers connected."""
    with triton.InferenceServerClient(f"127.0.0.1:{serving.port(request.param)}", concurrency=4) as opened:
        opened.register_plugin(Bearer())
        wait_for("the service answers", lambda: _is_up(opened))
        yield opened


def _is_up(client: triton.InferenceServerClient) -> bool:
    with suppress(OSError, InferenceServerException):
        if not client.is_server_ready():
            return False
        names = {row["name"] for row in client.get_model_repository_index()}
        return all(client.infer(name, [given()]).get_response()["parameters"]["answered"] == 3 for name in names)
    return False


def given(rows: NDArray[np.float32] = ROWS, *, binary: bool = True) -> triton.InferInput:
    tensor = triton.InferInput("INPUT", rows.shape, "FP32")
    tensor.set_data_from_numpy(rows, binary_data=binary)
    return tensor


def wanted(*names: str, binary: bool = True) -> list[triton.InferRequestedOutput]:
    return [triton.InferRequestedOutput(name, binary_data=binary) for name in names]


def parameters(result: triton.InferResult) -> dict[str, Any]:
    found: dict[str, Any] = result.get_response()["parameters"]
    return found


# Servers and models.


def test_server_is_live_ready_and_named(client: triton.InferenceServerClient) -> None:
    assert client.is_server_live()
    assert client.is_server_ready()
    about = client.get_server_metadata()
    assert about["name"] == "podium"
    assert "binary_tensor_data" in about["extensions"]


def test_ensembles_and_versions_are_listed_as_models(client: triton.InferenceServerClient) -> None:
    index = {(row["name"], row["version"], row["state"]) for row in client.get_model_repository_index()}
    assert index == {("digits-1", "1", "READY"), ("digits-1", "2", "READY"), (ODD, "1", "READY"),
                     ("house", "1", "READY"), ("slow", "1", "READY")}  # fmt: skip
    about = client.get_model_metadata("digits-1")
    assert about["versions"] == ["1", "2"]
    assert about["inputs"] == [{"name": "INPUT", "datatype": "FP32", "shape": [-1, 3]}]
    assert [output["name"] for output in about["outputs"]] == OUTPUTS
    assert client.get_model_metadata("digits-1", "2") == about
    assert client.get_model_config("digits-1")["input"][0]["dims"] == [-1, 3]


def test_readiness_is_reported_by_model_and_version(client: triton.InferenceServerClient) -> None:
    assert client.is_model_ready("digits-1")
    assert client.is_model_ready("digits-1", "2")
    assert not client.is_model_ready("digits-1", "3")
    assert not client.is_model_ready("absent")


# Predictions.


@pytest.mark.parametrize("binary_out", [True, False])
@pytest.mark.parametrize("binary_in", [True, False])
def test_json_and_binary_tensors_are_supported(
    client: triton.InferenceServerClient, binary_in: bool, binary_out: bool
) -> None:
    result = client.infer(
        "digits-1", [given(binary=binary_in)], outputs=wanted(*OUTPUTS, binary=binary_out), request_id="42"
    )
    np.testing.assert_array_equal(result.as_numpy("PROBABILITIES"), np.array([[0.25, 0.75], [1, 0]], np.float32))
    labels = [label.decode() if isinstance(label, bytes) else label for label in result.as_numpy("LABEL")]
    assert labels == ["dog", "cat"]
    assert result.as_numpy("ENTROPY") == pytest.approx([0.562335, 0], abs=1e-5)
    assert result.as_numpy("MUTUAL_INFORMATION").shape == (2,)
    answer = result.get_response()
    assert (answer["model_name"], answer["model_version"], answer["id"]) == ("digits-1", "1", "42")


def test_response_lists_status_of_each_member(client: triton.InferenceServerClient) -> None:
    found = parameters(client.infer("digits-1", [given()]))
    assert (found["outcome"], found["requested"], found["answered"], found["quorum"]) == ("ok", 3, 3, 2)
    assert [member["status"] for member in json.loads(found["members"])] == ["ok"] * 3
    assert json.loads(found["weights"]) == pytest.approx([1 / 3] * 3)
    assert 0 < found["total_ms"] < found["deadline_ms"] == 20_000


def test_all_outputs_are_binary_without_output_list(client: triton.InferenceServerClient) -> None:
    result = client.infer("digits-1", [given()])
    assert [output["name"] for output in result.get_response()["outputs"]] == OUTPUTS
    assert all("binary_data_size" in output["parameters"] for output in result.get_response()["outputs"])
    assert result.as_numpy("LABEL").tolist() == [b"dog", b"cat"]


def test_only_requested_outputs_are_returned(client: triton.InferenceServerClient) -> None:
    outputs = [*wanted("LABEL", binary=False), *wanted("PROBABILITIES")]
    result = client.infer("digits-1", [given()], outputs=outputs)
    assert [output["name"] for output in result.get_response()["outputs"]] == ["LABEL", "PROBABILITIES"]
    assert result.as_numpy("LABEL").tolist() == ["dog", "cat"]
    assert result.as_numpy("PROBABILITIES")[1].tolist() == [1, 0]
    assert result.as_numpy("ENTROPY") is None


IN_JSON = ["BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "FP32", "FP64"]


@pytest.mark.parametrize(
    ("datatype", "binary"),
    [*((name, False) for name in IN_JSON), *((name, True) for name in [*IN_JSON, "FP16", "BF16"])],
)
def test_every_numeric_datatype_is_converted(client: triton.InferenceServerClient, datatype: str, binary: bool) -> None:
    rows = np.array([[1, 0, 1], [0, 1, 1]]).astype(triton_to_np_dtype(datatype))
    tensor = triton.InferInput("INPUT", rows.shape, datatype)
    tensor.set_data_from_numpy(rows, binary_data=binary)
    result = client.infer("digits-1", [tensor], outputs=wanted("PROBABILITIES"))
    assert result.as_numpy("PROBABILITIES").tolist() == [[1, 0], [0, 1]]


def test_ensemble_id_and_name_work_on_every_route(serving: Serving, client: triton.InferenceServerClient) -> None:
    assert client.infer("3", [given()]).get_response()["model_name"] == "house"
    assert client.get_model_metadata("3")["name"] == "house"
    assert client.is_model_ready("3")
    url = f"http://127.0.0.1:{client._parsed_url.port}/api/v1/ensembles"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    for named in ("2", quote(ODD, safe=""), quote(ODD)):
        answer = httpx2.post(f"{url}/{named}/predict", json={"inputs": ROWS.tolist()}, headers=headers, trust_env=False)
        assert (answer.status_code, answer.json()["ensemble"]) == (200, ODD)


def test_numpy_format_is_supported_in_both_directions(client: triton.InferenceServerClient) -> None:
    content = io.BytesIO()
    np.save(content, ROWS.astype(np.float64))
    answer = httpx2.post(
        f"http://127.0.0.1:{client._parsed_url.port}/api/v1/ensembles/digits-1/predict",
        content=content.getvalue(),
        headers={
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/x-npy",
            "Accept": "application/x-npy",
        },
        trust_env=False,
    )
    assert answer.headers["podium-outcome"] == "ok"
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.content)), np.array([[0.25, 0.75], [1, 0]], np.float32))


def test_regression_values_have_variance(client: triton.InferenceServerClient) -> None:
    result = client.infer("house", [given()])
    np.testing.assert_array_equal(result.as_numpy("VALUES"), np.array([[0.25, 0.75], [1, 0]], np.float32))
    assert result.as_numpy("VARIANCE") == pytest.approx(np.full((2, 2), 0.5))


def test_version_can_be_requested(client: triton.InferenceServerClient) -> None:
    assert client.infer("digits-1", [given()], model_version="2").get_response()["model_version"] == "2"


def test_ensemble_name_may_contain_any_characters(client: triton.InferenceServerClient) -> None:
    assert client.get_model_metadata(ODD)["name"] == ODD
    assert client.is_model_ready(ODD, "1")
    assert client.infer(ODD, [given()], model_version="1").get_response()["model_name"] == ODD


def test_row_order_is_preserved(client: triton.InferenceServerClient) -> None:
    rows = np.random.default_rng(1).random((8_192, 3), np.float32)
    result = client.infer("digits-1", [given(rows)], outputs=wanted("PROBABILITIES"))
    np.testing.assert_allclose(result.as_numpy("PROBABILITIES")[:, 0], rows[:, 0], rtol=1e-6)


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compressed_bodies_are_accepted(client: triton.InferenceServerClient, algorithm: str) -> None:
    result = client.infer(
        "digits-1", [given()], request_compression_algorithm=algorithm, response_compression_algorithm=algorithm
    )
    assert result.as_numpy("LABEL").tolist() == [b"dog", b"cat"]


def test_concurrent_requests_receive_their_own_responses(client: triton.InferenceServerClient) -> None:
    rows = np.random.default_rng(2).random((40, 1, 3), np.float32)
    waiting = [client.async_infer("digits-1", [given(one)], request_id=str(n)) for n, one in enumerate(rows)]
    for number, (one, each) in enumerate(zip(rows, waiting, strict=True)):
        result = each.get_result()
        assert result.get_response()["id"] == str(number)
        assert result.as_numpy("PROBABILITIES")[0, 0] == pytest.approx(one[0, 0])


def test_asyncio_client_is_supported(serving: Serving) -> None:
    async def main() -> None:
        async with triton_aio.InferenceServerClient(f"127.0.0.1:{serving.port('gateway')}") as client:
            client.register_plugin(Bearer())
            while not await client.is_model_ready("digits-1"):
                await asyncio.sleep(0.05)
            assert await client.is_server_live()
            result = await client.infer("digits-1", [given()])
            assert result.as_numpy("LABEL").tolist() == [b"dog", b"cat"]

    wait_for("the gateway listens", lambda: _listens(serving.port("gateway")))
    asyncio.run(main())


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


# Errors.


def refused(client: triton.InferenceServerClient, status: int, *words: str, **call: Any) -> None:
    with pytest.raises(InferenceServerException) as caught:
        client.infer(**{"model_name": "digits-1", "inputs": [given()], **call})
    assert caught.value.status() == str(status), caught.value
    for word in words:
        assert word in caught.value.message()


@contextmanager
def standing(networks: list[FakeNetwork]) -> Iterator[None]:
    """These networks compute nothing during the block."""
    for network in networks:
        network.gate.clear()
    try:
        yield
    finally:
        for network in networks:
            network.gate.set()


def test_invalid_input_is_400_and_names_tensor(client: triton.InferenceServerClient) -> None:
    refused(client, 400, "INPUT", "[rows, 3]", inputs=[given(np.ones((2, 4), np.float32))])
    refused(client, 400, "INPUT", "not finite", inputs=[given(np.full((1, 3), np.nan, np.float32))])
    refused(client, 400, "at least one row", inputs=[given(np.ones((0, 3), np.float32))])
    refused(client, 400, "one input", inputs=[given(), given()])
    ids = triton.InferInput("INPUT", [1, 3], "INT64")
    ids.set_data_from_numpy(np.array([[1, 2**24 + 1, 3]]))
    refused(client, 400, "INPUT", "16777217 in row 0, column 1 is not exact in FP32", inputs=[ids])
    words = triton.InferInput("INPUT", [2, 3], "BYTES")
    words.set_data_from_numpy(np.full((2, 3), b"word", object))
    refused(client, 400, "INPUT", "FP32", inputs=[words])
    named = triton.InferInput("input__0", [2, 3], "FP32")
    named.set_data_from_numpy(ROWS)
    refused(client, 400, "'INPUT'", inputs=[named])
    claimed = given()
    claimed.set_shape([10**9, 3])
    refused(client, 400, "12,000,000,000 bytes", inputs=[claimed])
    refused(client, 400, "PROBABILITIES, LABEL", outputs=wanted("SCORES"))


def test_unknown_model_or_version_is_404(client: triton.InferenceServerClient) -> None:
    refused(client, 404, "'absent'", model_name="absent")
    refused(client, 404, "version 3", model_version="3")
    refused(client, 404, "'latest'", model_version="latest")
    asks: list[Callable[[], Any]] = [
        lambda: client.get_model_metadata("absent"),
        lambda: client.get_model_config("absent"),
        lambda: client.load_model("digits-1"),
    ]
    for ask in asks:
        with pytest.raises(InferenceServerException) as caught:
            ask()
        assert caught.value.status() == "404"


def test_only_health_is_available_without_token(serving: Serving, client: triton.InferenceServerClient) -> None:
    with triton.InferenceServerClient(f"127.0.0.1:{serving.port('gateway')}") as stranger:
        assert stranger.is_server_live()
        assert stranger.is_server_ready()
        assert not stranger.is_model_ready("digits-1")
        refused(stranger, 401, "Authorization: Bearer")
        headers = {"Authorization": f"Bearer {TOKEN}"}
        assert stranger.infer("digits-1", [given()], headers=headers).as_numpy("LABEL").tolist() == [b"dog", b"cat"]


def test_timeout_is_enforced_and_late_members_are_named(
    client: triton.InferenceServerClient, slow: list[FakeNetwork]
) -> None:
    with standing(slow[1:2]):
        found = parameters(client.infer("slow", [given()], timeout=1_000_000))
    assert (found["outcome"], found["degraded"], found["deadline_ms"]) == ("degraded", True, 1000)
    assert [member["status"] for member in json.loads(found["members"])] == ["ok", "late", "ok"]
    with standing(slow):
        refused(client, 504, "0 of 3 members answered", "late", model_name="slow", timeout=50_000)


def test_prediction_below_quorum_is_503(client: triton.InferenceServerClient, slow: list[FakeNetwork]) -> None:
    slow[0].fails = slow[1].fails = True
    refused(client, 503, "1 of 3 members answered, the quorum is 2", "error", model_name="slow")
    slow[0].fails = slow[1].fails = False


# Other clients.


def test_guarantee_15_metrics_are_valid_for_prometheus(serving: Serving, client: triton.InferenceServerClient) -> None:
    client.infer("digits-1", [given()])
    url = f"http://127.0.0.1:{serving.port('gateway')}/metrics"
    answer = httpx2.get(url, headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False)
    sums: dict[str, float] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            sums[sample.name] = sums.get(sample.name, 0) + sample.value
    assert sums["podium_ensemble_admitted_total"] > 0
    assert sums["podium_ensemble_admitted_total"] == (
        sums["podium_ensemble_requests_total"] + sums["podium_ensemble_requests_in_flight"]
    )
    assert sums["podium_member_sent_total"] == sums["podium_member_replies_total"] + sums["podium_member_pending"]
    assert sums["podium_ensemble_request_duration_seconds_count"] == sums["podium_ensemble_requests_total"]


def test_disconnected_client_frees_its_place(
    serving: Serving, client: triton.InferenceServerClient, slow: list[FakeNetwork]
) -> None:
    body = {"inputs": [{"name": "INPUT", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]}]}
    door = client._parsed_url.port
    with standing(slow):
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(
                f"http://127.0.0.1:{door}/v2/models/slow/infer", json=body, timeout=0.2, trust_env=False,
                headers={"Authorization": f"Bearer {TOKEN}"},
            )  # fmt: skip
        wait_for("its request has ended", lambda: _in_flight(serving) == 0, 10)


def _in_flight(serving: Serving) -> float:
    url = f"http://127.0.0.1:{serving.port('gateway')}/metrics"
    text = httpx2.get(url, headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False).text
    families = {family.name: family for family in text_string_to_metric_families(text)}
    return sum(sample.value for sample in families["podium_ensemble_requests_in_flight"].samples)
