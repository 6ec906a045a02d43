"""A full disk: new sweeps are refused, existing data can be read, and the service recovers by itself."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from tests.service_rig import ServiceRig
from tests.specs import builtin_document

GB = 1 << 30
Fill = Callable[[int], None]


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Fill:
    """Simulates a disk of 100 GB with the given number of free bytes."""

    def simulate(free_bytes: int) -> None:
        blocks = free_bytes // 4096
        found = os.statvfs_result((4096, 4096, 100 * GB // 4096, blocks, blocks, 0, 0, 0, 0, 255))
        monkeypatch.setattr(os, "statvfs", lambda _: found)

    return simulate


@pytest.mark.parametrize("path", ["/api/v1/sweeps", "/api/v1/bundles"])
def test_sweep_is_refused_on_a_full_disk(client: TestClient, free: Fill, path: str) -> None:
    free(0)
    answer = client.post(path, json=builtin_document())
    assert answer.status_code == 507
    assert int(answer.headers["Retry-After"]) > 0
    assert "0 MB are free" in answer.json()["detail"]
    assert "to resume automatically" in answer.json()["detail"]
    assert client.get("/api/v1/sweeps").json()["items"] == []


def test_sweep_is_accepted_when_space_is_free_again(client: TestClient, free: Fill) -> None:
    free(0)
    assert client.post("/api/v1/sweeps", json=builtin_document()).status_code == 507
    free(GB)
    assert client.post("/api/v1/sweeps", json=builtin_document()).status_code == 201


def test_existing_sweep_can_be_read_and_ended_on_a_full_disk(
    client: TestClient, service: ServiceRig, free: Fill
) -> None:
    sweep_id = service.sweep()
    free(0)
    assert client.get(f"/api/v1/sweeps/{sweep_id}").status_code == 200
    assert client.post(f"/api/v1/sweeps/{sweep_id}/cancel").status_code == 200


@pytest.mark.parametrize(("free_bytes", "enough"), [(0, False), (GB, True)])
def test_readiness_reports_a_full_disk(client: TestClient, free: Fill, free_bytes: int, enough: bool) -> None:
    free(free_bytes)
    assert client.get("/readyz").json()["storage"] == {"free_bytes": free_bytes, "enough": enough}


def test_unauthorized_client_does_not_learn_of_the_disk(service: ServiceRig, free: Fill) -> None:
    free(0)
    assert service.client(None).post("/api/v1/sweeps", json={}).status_code == 401


def test_bundle_that_fills_the_disk_is_507(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("podium.sweep.specfile.code_bundles.unpack", full)
    assert client.post("/api/v1/bundles", content=b"a zip").status_code == 507
