"""The raylet of a node that joins the Ray of another machine, with workers forked from a template.

`python -P -m podium.sweep.ray_cluster.node_raylet FILE`, started by the guardian in `joined_node_guardian`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ray._private import utils
from ray._private.parameter import RayParams

from podium.sweep.ray_cluster.ray_head_process import OBJECT_STORE_BYTES, LeanNode, wait_until_exited
from podium.sweep.ray_cluster.ray_nodes_with_slots import NODE_LABEL
from podium.sweep.runtime.cuda_devices import publish_cuda_devices
from podium.sweep.runtime.joined_node_settings import NodeSettings


def parameters(settings: NodeSettings) -> RayParams:
    """Those of `ray start --address`, with the label by which the scheduler recognizes the node."""
    return RayParams(
        gcs_address=settings.head,
        node_ip_address=settings.address,
        node_name=settings.address,
        num_cpus=settings.cpus,
        num_gpus=settings.gpus,
        labels={NODE_LABEL: settings.name},
        object_store_memory=OBJECT_STORE_BYTES,
        temp_dir=str(settings.runtime.ray),
        include_log_monitor=False,
        no_monitor=True,
    )


def main() -> None:
    """Start the raylet, write the address of the head to its folder, and wait; exit when the raylet has exited."""
    settings = NodeSettings.load(Path(sys.argv[1]))
    publish_cuda_devices()
    node = LeanNode(parameters(settings), head=False, shutdown_at_exit=True, spawn_reaper=True)
    utils.write_ray_address(settings.head, str(settings.runtime.ray))
    sys.exit(wait_until_exited(node))


if __name__ == "__main__":
    main()
