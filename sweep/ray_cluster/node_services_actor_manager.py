"""The node supervisors of an existing Ray cluster: started, followed and ended, one for each node; scheduler."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import ActorUnavailableError, RayError
from ray.util import list_named_actors
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from podium.sweep.ray_cluster.completed_ray_calls import answered
from podium.sweep.ray_cluster.existing_cluster_timings import ExistingClusterTimings
from podium.sweep.ray_cluster.node_services_actor import (
    NodeSupervisor,
    NodeSupervisorSettings,
    node_of_supervisor,
    supervisor_name,
)
from podium.sweep.ray_cluster.nodes_excluded_from_probes import ExcludedNodes
from podium.sweep.ray_cluster.ray_actor_kill import kill_actor
from podium.sweep.ray_cluster.ray_error_causes import fence_of, first_line
from podium.sweep.ray_cluster.ray_nodes_with_slots import ClusterNode
from podium.sweep.ray_cluster.ray_slot_actor import SupervisedNode
from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.values.errors import FencedError

log = logging.getLogger("podium.slots")


@dataclass(frozen=True, slots=True)
class HeadAccess:
    """How the agent of a node reaches the head."""

    url: str
    token: str
    certificate: str
    artifact_url: str = ""  # object store for the files of attempts; "": the head
    store_id: str = ""  # also recorded in that store
    epoch: int = 0  # of the scheduler


@dataclass(slots=True)
class _Supervisor:
    node: ClusterNode
    actor: Any
    call: Any  # a reference to the result of `start`, then of `watch`
    used_s: float  # when it had a slot last; monotonic
    supervised: SupervisedNode | None = None


class NodeSupervisors:
    """At most one supervisor for each node. All methods run in one thread."""

    def __init__(
        self,
        cluster: ExistingCluster,
        access: HeadAccess,
        *,
        namespace: str,
        confirm: Callable[[], None],
        excluded: ExcludedNodes,
        on_end: Callable[[str], None],
        timings: ExistingClusterTimings,
        clock: Callable[[], float],
    ) -> None:
        """Knows the supervisors of an earlier scheduler by their names; `follow` takes them over.

        Args:
            cluster: The cluster.
            access: How nodes reach the head.
            namespace: Of the service in Ray.
            confirm: As for `ExistingClusterDevices`.
            excluded: Gets the nodes whose supervisor has failed.
            on_end: Called with Ray's id of a node whose supervisor has ended, and its slots with it.
            timings: Waits and time limits.
            clock: Seconds, monotonic.
        """
        self._cluster = cluster
        self._access = access
        self._namespace = namespace
        self._confirm = confirm
        self._excluded = excluded
        self._on_end = on_end
        self._timings = timings
        self._clock = clock
        self._supervisors: dict[str, _Supervisor] = {}  # by node id
        self.names = {
            each[0]: each[1] for name in list_named_actors() if (each := node_of_supervisor(name)) is not None
        }

    def __contains__(self, node_id: str) -> bool:
        return node_id in self._supervisors

    @property
    def are_starting(self) -> bool:
        """Whether one is not ready yet."""
        return any(supervisor.supervised is None for supervisor in self._supervisors.values())

    def supervised(self, node_id: str) -> SupervisedNode | None:
        """What the supervisor of a node has started; None while it is starting. Raises `KeyError` without one."""
        return self._supervisors[node_id].supervised

    def supervise(self, node: ClusterNode) -> None:
        """Start the supervisor of a node unless it has one."""
        if node.node_id in self._supervisors:
            return
        name = supervisor_name(node.node_id, node.name)
        try:
            actor = ray.get_actor(name)
        except ValueError:
            actor = _create_supervisor(name, self._namespace, node.node_id)
        settings = NodeSupervisorSettings(
            self._namespace, node.name, node.raylet[0], node.gpus, self._cluster.node_data_dir, self._access.url,
            self._access.token, self._access.certificate, self._timings.abandoned_s, self._access.artifact_url,
            self._access.store_id, self._access.epoch,
        )  # fmt: skip
        self.names[node.node_id] = node.name
        self._supervisors[node.node_id] = _Supervisor(node, actor, actor.start.remote(settings), self._clock())

    def follow(self, nodes: Mapping[str, ClusterNode]) -> None:
        """Take over those of an earlier scheduler, end those of nodes that have left, and read the answers."""
        for node_id in self.names.keys() & nodes.keys() - self._supervisors.keys():
            self.supervise(nodes[node_id])  # of an earlier scheduler
        for node_id, supervisor in list(self._supervisors.items()):
            if node_id not in nodes:
                self._end(supervisor)
        for supervisor in answered(self._supervisors.values(), lambda supervisor: supervisor.call):
            self._on_answer(supervisor)

    def _on_answer(self, supervisor: _Supervisor) -> None:
        try:
            result = ray.get(supervisor.call)
        except ActorUnavailableError:
            result = supervisor.supervised  # its slots find out whether the node is lost
            if result is None:
                self._fail(supervisor, "it cannot be reached")
                return
        except (FencedError, RayError) as error:
            if (fence := fence_of(error)) is not None:
                self._forget(supervisor)
                raise fence from error
            self._fail(supervisor, first_line(error))
            return
        if isinstance(result, str):
            self._fail(supervisor, result)
            return
        supervisor.supervised = supervisor.supervised or result
        supervisor.call = supervisor.actor.watch.remote(self._timings.watch_s)

    def _fail(self, supervisor: _Supervisor, reason: str) -> None:
        self._end(supervisor)
        log.error("node %s is not used for %g s: %s", supervisor.node.name, self._timings.avoid_s, reason)
        self._excluded.avoid(supervisor.node.node_id, self._clock() + self._timings.avoid_s)

    def end_idle(self, used: Collection[str]) -> None:
        """End the supervisors that have had no slot for a while; `used`: the nodes that have one or expect one."""
        now_s = self._clock()
        for node_id, supervisor in list(self._supervisors.items()):
            if node_id in used:
                supervisor.used_s = now_s
            elif now_s - supervisor.used_s > self._timings.supervisor_idle_s:
                self._end(supervisor)

    def kill_all(self) -> None:
        """The service stops."""
        for supervisor in self._supervisors.values():
            kill_actor(supervisor.actor)

    def _end(self, supervisor: _Supervisor) -> None:
        """End one, and the slots on its node, unless they belong to the next scheduler: then nothing changes."""
        self._confirm()
        self._forget(supervisor)
        kill_actor(supervisor.actor)
        self._on_end(supervisor.node.node_id)

    def _forget(self, supervisor: _Supervisor) -> None:
        self._supervisors.pop(supervisor.node.node_id, None)
        self.names.pop(supervisor.node.node_id, None)


def _create_supervisor(name: str, namespace: str, node_id: str) -> Any:
    remote = ray.remote(NodeSupervisor).options(
        name=name,
        namespace=namespace,
        lifetime="detached",
        num_cpus=0,
        max_restarts=0,
        max_task_retries=0,
        max_concurrency=4,
        scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False),
    )
    return remote.remote()
