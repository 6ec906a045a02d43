"""A probe: an actor that waits for a free device of a Ray cluster, and tells on which node it has got one; scheduler.

A pending probe is demand, which an autoscaler of the cluster sees. Probes are not detached, so that none outlives its
scheduler. The class is sent by value: it runs on nodes without Podium.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import ray

NODE_ID_LABEL = "ray.io/node-id"  # which Ray sets on each node


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """The node of a probe, and the versions there."""

    node_id: str
    versions: Mapping[str, str]


def create_probe(kind: str, cpus: int, avoided: Collection[str]) -> Any:
    """A probe for a GPU, or for CPUs; never on the nodes with an id in `avoided`."""
    resources: dict[str, Any] = {"num_gpus": 1, "num_cpus": 0} if kind == "gpu" else {"num_cpus": cpus}
    if avoided:
        resources["label_selector"] = {NODE_ID_LABEL: f"!in({','.join(sorted(avoided))})"}
    return ray.remote(_probe_class()).options(max_restarts=0, max_task_retries=0, **resources).remote()


def read_answer(answer: Any) -> ProbeAnswer:
    """What `find` of a probe has returned."""
    node_id, versions = answer
    return ProbeAnswer(str(node_id), dict(versions))


def _probe_class() -> type:
    """A class that is pickled by value, because no module has it; it uses the standard library and Ray."""

    class SlotProbe:
        def find(self) -> tuple[str, dict[str, str]]:
            import platform
            from importlib.metadata import PackageNotFoundError, version
            from importlib.util import find_spec

            import ray

            found = {"python": platform.python_version()}
            for package in ("podium", "ray"):
                try:
                    if find_spec(package) is not None:
                        found[package] = version(package)
                except (PackageNotFoundError, ValueError):
                    continue
            return ray.get_runtime_context().get_node_id(), found

    return SlotProbe
