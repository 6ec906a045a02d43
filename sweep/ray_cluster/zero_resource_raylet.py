"""The raylet by which a service joins an existing Ray cluster: without CPUs and GPUs, so that it gets no trials.

Ray has no option to keep everything from a node: actors of others that require no resources may be placed on it. To
let their workers fail would delay these actors, so users of the cluster are trusted with the user of the service.

`python -P -m podium.sweep.ray_cluster.zero_resource_raylet FILE`, started by the guardian in `ray_head_guardian`. The
scheduler connects to it, as it connects to Ray's head otherwise.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

from ray._private import utils
from ray._private.parameter import RayParams

from podium.sweep.ray_cluster import ray_cluster_id
from podium.sweep.ray_cluster.ray_head_process import OBJECT_STORE_BYTES, LeanNode, wait_until_exited
from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.runtime.service_settings import ServiceSettings

REACHABLE_S = 10.0  # Ray itself tries for minutes without a message


def parameters(settings: ServiceSettings, cluster: ExistingCluster) -> RayParams:
    """Those of `ray start --address --num-cpus 0 --num-gpus 0`."""
    return RayParams(
        gcs_address=cluster.address,
        node_ip_address=settings.cluster,
        node_name=f"podium-{settings.cluster}",
        num_cpus=0,
        num_gpus=0,
        object_store_memory=OBJECT_STORE_BYTES,
        temp_dir=str(settings.runtime.ray),
        include_log_monitor=False,
        no_monitor=True,
    )


def unreachable(address: str, timeout_s: float = REACHABLE_S) -> str:
    """Why no connection to `address`, HOST:PORT, could be opened within `timeout_s`; "" if one could."""
    host, _, port = address.rpartition(":")
    end_s = time.monotonic() + timeout_s
    while True:
        remaining_s = end_s - time.monotonic()
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=max(remaining_s, 0.1)).close()
        except OSError as error:
            if remaining_s <= 0:
                return error.strerror or str(error)
            time.sleep(0.2)
        else:
            return ""


def main() -> None:
    """Start the raylet, write the address of the cluster to its folder, and wait; exit when the raylet has exited."""
    settings = ServiceSettings.load(Path(sys.argv[1]))
    cluster = settings.existing_cluster
    assert cluster is not None
    if reason := unreachable(cluster.address):
        sys.exit(f"cannot join the Ray cluster at {cluster.address}: {reason}")
    try:
        node = LeanNode(parameters(settings, cluster), head=False, shutdown_at_exit=True, spawn_reaper=True)
    except Exception as error:  # noqa: BLE001 - whatever the error, its last line is shown to the user
        reason = " ".join(str(error).split()) or type(error).__name__
        sys.exit(f"cannot join the Ray cluster at {cluster.address}: {reason}")
    ray_cluster_id.record(settings.runtime, node.session_name)
    utils.write_ray_address(cluster.address, str(settings.runtime.ray))
    sys.exit(wait_until_exited(node))


if __name__ == "__main__":
    main()
