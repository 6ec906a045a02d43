"""Two gateways on one port: requests spread over both, one that dies takes nobody along, and the figures are sums."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
from collections.abc import Iterator

import httpx2
import numpy as np
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from podium.api.client.readiness_responses import ComponentInfo
from podium.api.client.trial_responses import TrialInfo
from podium.ensemble.protocol.gateway_http_client import NO_TLS
from podium.ensemble.serving.gateway_metrics import GatewayCounters, from_json
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.values.errors import ServiceError
from tests.running_service import AuditedService, RunningService, wait_for
from tests.specs import builtin_document

NAMES = ("gateway-1", "gateway-2")
ROWS = np.linspace(0, 1, 128, dtype=np.float32).reshape(2, 64).tolist()
MEMBERS = 3


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AuditedService]:
    with AuditedService(tmp_path_factory.mktemp("gateways") / "data", options=("--gateways", "2")) as running:
        yield running


@pytest.fixture(scope="module")
def trials(service: RunningService) -> list[TrialInfo]:
    parameters = {"lr": {"min": 1e-3, "max": 1e-2, "log": True}, "epochs": {"value": 1}}
    sweep = service.client.submit(builtin_document(run_cap=MEMBERS + 1, parameters=parameters))
    assert service.client.wait(sweep["id"], 120)["state"] == "finished"
    return list(service.client.trials(sweep["id"]))


@pytest.fixture(scope="module")
def ensemble(service: RunningService, trials: list[TrialInfo]) -> int:
    trial_ids = [trial["id"] for trial in trials[:MEMBERS]]
    built = service.client.build_ensemble(trial_ids=trial_ids, deadline_ms=5000.0, name="shared-port")
    service.client.wait_ensemble(built["id"], 120)
    return int(built["id"])


class Gateways:
    """The gateways of a service, together at their port and each through its own sockets."""

    def __init__(self, service: RunningService, ensemble: int) -> None:
        self._runtime = RuntimeDirectory.of(service.data)
        self._url: str = json.loads(service.data.service_file.read_text())["gateway_url"]
        self._headers = {"Authorization": f"Bearer {service.data.admin_token.read_text().strip()}"}
        self._path = f"/api/v1/ensembles/{ensemble}/predict"
        self._ensemble = ensemble

    def predict(self, count: int) -> list[int]:
        """The versions that answered `count` requests at the port, each on a connection of its own."""
        answers = [
            httpx2.post(f"{self._url}{self._path}", json={"inputs": ROWS}, headers=self._headers, timeout=30)
            for _ in range(count)
        ]
        assert {answer.status_code for answer in answers} == {200}
        assert {answer.json()["answered"] for answer in answers} == {MEMBERS}
        return [answer.json()["version"] for answer in answers]

    def predict_at(self, name: str) -> int:
        """The version that this gateway answers with."""
        transport = httpx2.HTTPTransport(uds=str(self._runtime.gateway_socket(name)), verify=NO_TLS)
        with httpx2.Client(transport=transport, base_url="http://gateway", timeout=30) as client:
            answer = client.post(self._path, json={"inputs": ROWS}, headers=self._headers)
        assert answer.status_code == 200, answer.text
        version: int = answer.json()["version"]
        return version

    def own_figures(self, name: str) -> GatewayCounters:
        """What this gateway tells the other one."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(self._runtime.figures_socket(name)))
            with connection.makefile("rb") as answer:
                return from_json(answer.read().partition(b"\n")[2])

    def own_admitted(self, name: str) -> int:
        return sum(each.admitted for each in self.own_figures(name).ensembles.values())

    def metrics(self) -> dict[str, float]:
        """`/metrics` at the port: the sum over all labels of each name, and `name{gateway}` of labeled processes."""
        text = httpx2.get(f"{self._url}/metrics", headers=self._headers, timeout=30).text
        found: dict[str, float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.labels.get("le", "+Inf") == "+Inf":
                    found[sample.name] = found.get(sample.name, 0.0) + sample.value
                if "gateway" in sample.labels:
                    found[f"{sample.name}{{{sample.labels['gateway']}}}"] = sample.value
        return found


@pytest.fixture
def gateways(service: RunningService, ensemble: int) -> Gateways:
    return Gateways(service, ensemble)


def test_requests_spread_over_both_and_figures_are_sums(service: RunningService, gateways: Gateways) -> None:
    before = gateways.metrics()["podium_ensemble_admitted_total"]
    gateways.predict(40)
    for name in NAMES:
        gateways.predict_at(name)
    shares = [gateways.own_admitted(name) for name in NAMES]
    assert min(shares) > 1, "the kernel gives each connection to one of them"
    for _ in range(4):  # whichever gateway is asked
        metrics = gateways.metrics()
        assert metrics["podium_ensemble_admitted_total"] == sum(shares) == before + 42
        assert metrics["podium_ensemble_request_duration_seconds_count"] == before + 42
        assert metrics["podium_member_sent_total"] == MEMBERS * (before + 42)
        assert metrics["podium_member_latency_seconds_bucket"] == MEMBERS * (before + 42)
        assert metrics["podium_gateway_up"] == 2
        assert metrics["process_cpu_seconds_total{gateway-1}"] > 0 < metrics["process_cpu_seconds_total{gateway-2}"]


def test_api_shows_latencies_of_both(service: RunningService, ensemble: int, gateways: Gateways) -> None:
    for name in NAMES:
        gateways.predict_at(name)
    shown = [member["replicas"][0] for member in service.client.ensemble(ensemble)["members"]]
    for replica in shown:
        times_ms = [
            time_ms for name in NAMES for time_ms in gateways.own_figures(name).latencies[replica["id"]].times_ms
        ]
        ranked = sorted(times_ms)
        assert replica["p50_ms"] == pytest.approx(ranked[int(0.5 * (len(ranked) - 1))])
        assert replica["p99_ms"] == pytest.approx(ranked[int(0.99 * (len(ranked) - 1))])


def test_other_gateway_serves_the_port_and_the_api_while_one_is_dead(
    service: RunningService, ensemble: int, gateways: Gateways
) -> None:
    gateways.predict(4)
    before = gateways.metrics()["podium_ensemble_admitted_total"]
    other, victim = service.pid("gateway-1"), psutil.Process(service.pid("gateway-2"))
    service.process.send_signal(signal.SIGSTOP)  # the supervisor, so that nothing is restarted
    try:
        os.kill(victim.pid, signal.SIGKILL)
        wait_for("it is dead", lambda: victim.status() == psutil.STATUS_ZOMBIE)
        gateways.predict(20)
        for _ in range(3):
            assert service.client.predict(ensemble, ROWS)["outcome"] == "ok"
        metrics = gateways.metrics()
        assert metrics["podium_ensemble_admitted_total"] == before + 23
        assert (metrics["podium_gateway_up{gateway-1}"], metrics["podium_gateway_up{gateway-2}"]) == (1, 0)
    finally:
        service.process.send_signal(signal.SIGCONT)
    wait_for("another is ready", lambda: service.client.ready()["ready"] and service.pid("gateway-2") != victim.pid)
    assert service.pid("gateway-1") == other
    assert service.component("gateway-2")["restarts"] == 1
    assert gateways.predict_at("gateway-2") == 1
    gateways.predict(10)
    metrics = gateways.metrics()
    assert metrics["podium_ensemble_admitted_total"] == before + 34
    assert metrics["podium_gateway_up"] == 2


def test_new_version_reaches_both(
    service: RunningService, ensemble: int, trials: list[TrialInfo], gateways: Gateways
) -> None:
    service.client.add_version(ensemble, trial_ids=[trial["id"] for trial in trials[1:]], deadline_ms=5000.0)
    wait_for("version 2 is active", lambda: service.client.ensemble(ensemble)["version"] == 2, 60)
    for name in NAMES:
        wait_for(f"{name} answers with it", lambda name=name: gateways.predict_at(name) == 2, 10)  # type: ignore[misc]
    assert set(gateways.predict(10)) == {2}


def test_evaluation_is_answered(service: RunningService, ensemble: int) -> None:
    evaluation = service.client.evaluate(ensemble)
    assert evaluation["result"] is not None and evaluation["result"]["rows"] > 0


@pytest.mark.slow
def test_stopped_components_are_replaced_and_nothing_else(service: RunningService) -> None:
    """See `test_hung_components`; here because of the two gateways."""
    before = {part["name"]: part for part in service.client.ready()["parts"]}
    stopped = ("api", "gateway-2", "host")
    for pid in [service.pid(name) for name in stopped]:
        os.kill(pid, signal.SIGSTOP)

    def components() -> dict[str, ComponentInfo]:
        with contextlib.suppress(ServiceError):
            return {part["name"]: part for part in service.client.ready()["parts"]}
        return before

    wait_for("all are back", lambda: all(components()[name]["pid"] != before[name]["pid"] for name in stopped))
    wait_for("the service is ready", lambda: service.client.ready()["ready"])
    after = components()
    assert {name for name in before if after[name] != before[name]} == set(stopped)
    assert [after[name]["restarts"] - before[name]["restarts"] for name in stopped] == [1, 1, 1]
