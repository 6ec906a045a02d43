"""The commands for devices over REST: drain and return."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from podium.db.access.tokens import Role
from podium.sweep.lifecycle.database_changes import DeviceChanged
from podium.sweep.values.device_state import DeviceState
from tests.service_rig import AT, ServiceRig, assert_problem
from tests.unit.api.rest.states import (
    V1,
    R,
    kinds,
    sweep_in,
)


def test_device_is_drained_and_returned(client: TestClient, service: ServiceRig) -> None:
    service.device()
    url = f"{V1}/devices/cpu-0"
    drained = [client.post(f"{url}/drain").json() for _ in range(2)]
    assert [(d["state"], d["reason"]) for d in drained] == [("drained", "drained on request")] * 2
    assert client.get(f"{V1}/devices").json() == [drained[0]]
    returned = [client.post(f"{url}/return").json() for _ in range(2)]
    assert [(d["state"], d["reason"]) for d in returned] == [("ready", "")] * 2
    assert [kind for kind in kinds(service) if kind in ("device.drained", "device.returned")] == [
        "device.drained", "device.returned",
    ]  # fmt: skip


def test_drain_keeps_its_first_reason(client: TestClient, service: ServiceRig) -> None:
    service.device()
    for reason in ("a new card comes", "another"):
        found = client.post(f"{V1}/devices/cpu-0/drain", json={"reason": reason}).json()
        assert (found["state"], found["reason"]) == ("drained", "a new card comes")
    assert_problem(client.post(f"{V1}/devices/cpu-0/drain", json={"reason": ""}), 422)


def test_busy_device_is_drained_while_its_trial_runs(client: TestClient, service: ServiceRig) -> None:
    service.device()
    trial_id = service.trial(sweep_in(service, R), 0, None)
    found = client.post(f"{V1}/devices/cpu-0/drain").json()
    assert (found["state"], found["trial_id"]) == ("drained", trial_id)
    service.commit(
        DeviceChanged("cpu-0", "cpu", 0, "node", "", None, 99, DeviceState.DRAINED, "drained on request", AT)
    )
    found = client.post(f"{V1}/devices/cpu-0/return").json()
    assert (found["state"], found["reason"]) == ("busy", "")


def test_reason_of_an_idle_or_lost_device_is_shown(client: TestClient, service: ServiceRig) -> None:
    for state, reason in (("ready", "no sweep has a trial for it"), ("lost", "its slot died"), ("dedicated", "for e")):
        service.commit(DeviceChanged("cpu-0", "cpu", 0, "node", "", None, 99, DeviceState(state), reason, AT))
        (found,) = client.get(f"{V1}/devices").json()
        assert (found["state"], found["reason"]) == (state, reason)


@pytest.mark.parametrize("command", ["drain", "return"])
def test_unknown_device_is_404_and_names_the_known_ones(client: TestClient, service: ServiceRig, command: str) -> None:
    assert_problem(client.post(f"{V1}/devices/gpu-9/{command}"), 404, "known: none yet")
    service.device()
    assert_problem(client.post(f"{V1}/devices/gpu-9/{command}"), 404, "no device 'gpu-9'; known: cpu-0")


@pytest.mark.parametrize("command", ["drain", "return"])
def test_devices_require_the_role_admin(service: ServiceRig, command: str) -> None:
    service.device()
    assert_problem(service.client(Role.SUBMITTER).post(f"{V1}/devices/cpu-0/{command}"), 403, "admin")
