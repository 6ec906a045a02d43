"""The parameters of Ray's head: loopback, and the resources of the plan."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from ray._private.parameter import RayParams

from podium.sweep.ray_cluster import zero_resource_raylet
from podium.sweep.ray_cluster.ray_head_process import LeanNode, parameters
from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.runtime.service_settings import DevicePlan, ServiceSettings
from podium.sweep.values.errors import ServiceError


@pytest.mark.parametrize(("plan", "cpus", "gpus"), [
    (DevicePlan("cpu", 3), 3, 0),
    (DevicePlan("pretend-gpu", 3), 3, 3),
    (DevicePlan("pretend-gpu"), None, 2),
    (DevicePlan("gpu"), None, None),
    (DevicePlan("auto"), None, None),
])  # fmt: skip
def test_ray_has_the_resources_of_the_plan(
    tmp_path: Path, plan: DevicePlan, cpus: int | None, gpus: int | None
) -> None:
    found = parameters(ServiceSettings(str(tmp_path / "data"), str(tmp_path / "run"), devices=plan))
    assert (found.num_cpus, found.num_gpus) == (cpus or plan.cpu_slots, gpus)
    assert found.temp_dir == str(tmp_path / "run" / "ray")


def test_ray_listens_on_loopback_only_and_on_any_port(tmp_path: Path) -> None:
    found = parameters(ServiceSettings(str(tmp_path / "data"), str(tmp_path / "run"), host="192.0.2.1"))
    assert (found.node_ip_address, found.gcs_server_port) == ("127.0.0.1", 0)
    assert not (found.include_dashboard or found.include_log_monitor)
    assert found.no_monitor


def test_raylet_in_an_existing_cluster_offers_nothing(tmp_path: Path) -> None:
    cluster = ExistingCluster("10.0.0.9:6379")
    settings = ServiceSettings(
        str(tmp_path / "data"), str(tmp_path / "run"), cluster="10.0.0.5", existing_cluster=cluster
    )
    found = zero_resource_raylet.parameters(settings, cluster)
    assert (found.gcs_address, found.node_ip_address) == ("10.0.0.9:6379", "10.0.0.5")
    assert (found.num_cpus, found.num_gpus) == (0, 0)


def test_unreachable_cluster_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert zero_resource_raylet.unreachable(address) == ""
    assert zero_resource_raylet.unreachable(address, timeout_s=0.3) == "Connection refused"


def test_path_that_is_too_long_for_sockets_is_named(tmp_path: Path) -> None:
    folder = tmp_path / ("f" * 100)
    with pytest.raises(ServiceError, match=f"{folder} is too long for Unix sockets: set XDG_RUNTIME_DIR"):
        LeanNode(
            RayParams(temp_dir=str(folder), node_ip_address="127.0.0.1", gcs_server_port=0),
            head=True, shutdown_at_exit=False, spawn_reaper=False,
        )  # fmt: skip
