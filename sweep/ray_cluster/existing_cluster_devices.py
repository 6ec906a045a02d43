"""The devices of an existing Ray cluster that this service has: found by probes; scheduler.

For each slot that is missing, a probe waits for a device. When it has got one, a supervisor starts what slots need on
that node, the probe ends, and a slot takes its device. A supervisor without slots ends, so that the node falls idle.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import ray
from ray.exceptions import RayError

from podium.sweep.lifecycle.slot_demand import SlotDemand
from podium.sweep.protocol.scheduler_slot_messages import SlotDescription
from podium.sweep.ray_cluster.completed_ray_calls import answered
from podium.sweep.ray_cluster.desired_probe_count import KINDS, SlotCounts, needed_by_kind, probe_changes
from podium.sweep.ray_cluster.existing_cluster_timings import DEFAULT_TIMINGS, ExistingClusterTimings
from podium.sweep.ray_cluster.free_device_probe import create_probe, read_answer
from podium.sweep.ray_cluster.node_services_actor_manager import HeadAccess, NodeSupervisors
from podium.sweep.ray_cluster.nodes_excluded_from_probes import ExcludedNodes
from podium.sweep.ray_cluster.ray_actor_kill import kill_actor, kill_named_actor
from podium.sweep.ray_cluster.ray_error_causes import first_line
from podium.sweep.ray_cluster.ray_nodes_with_slots import ClusterNode, draining_nodes, existing_cluster_nodes
from podium.sweep.ray_cluster.ray_slot_actor import ACTOR_PREFIX, SlotPlace, create_actor
from podium.sweep.ray_cluster.slot_actors import ActorPerSlot, OwnActor, SlotActor
from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.runtime.package_versions import version_problem, versions
from podium.sweep.values.device import node_name
from podium.sweep.values.errors import DatabaseError, FencedError
from podium.sweep.values.excluded_ray_node import RefusedNode

log = logging.getLogger("podium.slots")


@dataclass(slots=True)
class _Probe:
    kind: str
    actor: Any
    answer: Any  # a reference
    avoids: frozenset[str]  # ids of nodes, as long as it waits
    node_id: str = ""  # once it has got a device


@dataclass(slots=True)
class _Taken:
    place: SlotPlace
    since_s: float  # monotonic


class ExistingClusterDevices:
    """See `DeviceSource` in `device_source`. All methods but `request` and `lose` run in one thread."""

    count_here = 0

    def __init__(
        self,
        cluster: ExistingCluster,
        access: HeadAccess,
        *,
        kind: str,
        namespace: str,
        confirm: Callable[[], None],
        leaving: Callable[[], Collection[str]] = frozenset,
        show_refused: Callable[[Mapping[str, RefusedNode]], None] = lambda _: None,
        timings: ExistingClusterTimings = DEFAULT_TIMINGS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """The devices that a service takes.

        Args:
            cluster: The cluster. access: How nodes reach the head. kind: Of the plan of the service: auto, gpu or cpu.
            namespace: Of the service in Ray. confirm: Raises `FencedError` if another scheduler has taken over, which
            then owns the supervisors and slots,
                and `DatabaseError` if that is unknown.
            leaving: Returns the names of the nodes that were asked to leave the service. They are not used.
            show_refused: Called with the nodes of the cluster that cannot be used, by name, at first and when these
                change. Raises `DatabaseError` to be called again.
        """
        self._cluster = cluster
        self._kind = kind
        self._namespace = namespace
        self._confirm = confirm
        self._timings = timings
        self._clock = clock
        self._lock = threading.Lock()  # of the three below
        self._demand = SlotDemand()
        self._taken: dict[str, _Taken] = {}  # by the name of the slot's actor
        self._resting: dict[str, float] = {}  # names of slots that have ended, until when; monotonic
        self._probes: list[_Probe] = []
        self._probe_after_s = 0.0
        self._draining: Collection[str] = ()
        self._excluded = ExcludedNodes(leaving)
        self._refused: dict[str, RefusedNode] = {}  # by node id
        self._show_refused = show_refused
        self._shown: Mapping[str, RefusedNode] | None = None  # by name
        self._supervisors = NodeSupervisors(
            cluster, access, namespace=namespace, confirm=confirm, excluded=self._excluded, on_end=self._lose_all,
            timings=timings, clock=clock,
        )  # fmt: skip

    # In any thread.

    def request(self, demand: SlotDemand) -> None:
        """Set the demand of now."""
        with self._lock:
            self._demand = demand

    def lose(self, place: SlotPlace) -> bool:
        """A slot has ended: its device is free again. Returns whether to open it again, which only demand does."""
        with self._lock:
            taken = self._taken.get(place.actor_name)
            if taken is not None and taken.place == place:
                del self._taken[place.actor_name]
                self._resting[place.actor_name] = self._clock() + self._timings.resting_s
        return False

    # In the thread that follows the nodes.

    def wait_s(self, nodes_s: float) -> float:
        """Seconds until the next check; `nodes_s` if nothing is opening."""
        opening = self._probes or self._supervisors.are_starting
        return min(nodes_s, self._timings.check_interval_s) if opening else nodes_s

    def nodes(self, known: Mapping[str, ClusterNode] | None = None) -> dict[str, ClusterNode]:
        """All nodes with devices, and that of this process. Nodes with a supervisor keep their names."""
        self._draining = draining_nodes()
        return existing_cluster_nodes(known, self._supervisors.names)

    def adopt(self, actor_name: str, slot: SlotDescription) -> str:
        """A slot of an earlier scheduler works, and is used."""
        kind, _, position = actor_name.removeprefix(ACTOR_PREFIX).rpartition(":")[2].partition("-")
        name = node_name(actor_name.removeprefix(ACTOR_PREFIX))
        place = SlotPlace(kind, int(position), slot.node, name, cpus=self._cpus(kind))
        with self._lock:
            self._taken[actor_name] = _Taken(place, self._clock())
        return ""

    def places(self, nodes: Mapping[str, ClusterNode], open_names: Collection[str]) -> list[SlotPlace]:
        """The devices that have a slot or get one now.

        Args:
            nodes: Those that are alive.
            open_names: The names of the slots that work.

        Raises `FencedError` if another scheduler has taken over, and `DatabaseError` if a supervisor should end and the
        database cannot tell.
        """
        self._excluded.update(nodes, self._draining, self._clock())
        self._supervisors.follow(nodes)
        self._follow_probes(nodes)
        self._take_devices(nodes)
        self._expire(open_names)
        self._end_idle_supervisors()
        self._change_probes(nodes, open_names)
        self._report_refused(nodes)
        with self._lock:
            taken = [each.place for each in self._taken.values()]
        return [place for place in taken if place.node_id in nodes and place.node_id in self._supervisors]

    def leaving(self, place: SlotPlace) -> str:
        """Why a device gets no more trials, or ""."""
        return "its node leaves the Ray cluster" if place.node_id in self._draining else ""

    @property
    def actors(self) -> ActorPerSlot:
        """The slots of these devices."""
        return ActorPerSlot()

    def create(self, place: SlotPlace) -> SlotActor:
        """Create the actor of a slot. Raises `LookupError` if the supervisor of its node has ended."""
        supervised = self._supervisors.supervised(place.node_id)
        if supervised is None:
            raise LookupError("its node has no supervisor")
        return OwnActor(create_actor(place, supervised, namespace=self._namespace))

    def close(self, open_names: Collection[str]) -> None:
        """End everything on the cluster: the service stops. What may belong to the next scheduler is left to it."""
        for probe in self._probes:
            kill_actor(probe.actor)
        try:
            self._confirm()
        except DatabaseError as error:
            log.error("supervisors and slots are not ended: %s", error)
            return
        with self._lock:
            names = {*open_names, *self._taken}
        for name in names:
            kill_named_actor(name)
        self._supervisors.kill_all()

    # Probes.

    def _follow_probes(self, nodes: Mapping[str, ClusterNode]) -> None:
        waiting = [probe for probe in self._probes if not probe.node_id]
        for probe in answered(waiting, lambda probe: probe.answer):
            try:
                answer = read_answer(ray.get(probe.answer))
            except RayError as error:
                log.warning("a probe for a %s failed: %s", probe.kind, first_line(error))
                self._probe_after_s = self._clock() + self._timings.retry_s
                self._end_probe(probe)
                continue
            node = nodes.get(answer.node_id)
            if node is None or answer.node_id in self._excluded.ids:
                self._end_probe(probe)  # it has left, or is not used since the probe was created
            elif (problem := version_problem(versions(), answer.versions)) is not None:
                log.error("node %s is not used: %s", node.name, problem)
                self._excluded.avoid(answer.node_id, math.inf)
                self._refused[answer.node_id] = RefusedNode(
                    node.raylet[0], answer.versions, node.cpus, node.gpus, problem
                )
                self._end_probe(probe)
            else:
                probe.node_id = answer.node_id
                self._supervisors.supervise(node)

    def _report_refused(self, nodes: Mapping[str, ClusterNode]) -> None:
        self._refused = {node_id: each for node_id, each in self._refused.items() if node_id in nodes}
        refused = {nodes[node_id].name: each for node_id, each in self._refused.items()}
        if refused == self._shown:
            return
        try:
            self._show_refused(refused)
        except FencedError:
            raise
        except DatabaseError as error:
            log.warning("refused nodes are not shown yet: %s", error)
        else:
            self._shown = refused

    def _take_devices(self, nodes: Mapping[str, ClusterNode]) -> None:
        """Replace the probes on nodes with a supervisor by slots."""
        for probe in [probe for probe in self._probes if probe.node_id]:
            if probe.node_id not in self._supervisors or probe.node_id not in nodes:
                self._end_probe(probe)
            elif self._supervisors.supervised(probe.node_id) is not None:
                self._end_probe(probe)
                self._take(probe.kind, nodes[probe.node_id])

    def _take(self, kind: str, node: ClusterNode) -> None:
        now_s = self._clock()
        with self._lock:
            self._resting = {name: until_s for name, until_s in self._resting.items() if now_s < until_s}
            place = SlotPlace(kind, 0, node.node_id, node.name, max(1, node.gpus), self._cpus(kind))
            while place.actor_name in self._taken or place.actor_name in self._resting:
                place = replace(place, position=place.position + 1)
            self._taken[place.actor_name] = _Taken(place, now_s)

    def _cpus(self, kind: str) -> int:
        return self._cluster.cpus_per_slot if kind == "cpu" else 0

    def _expire(self, open_names: Collection[str]) -> None:
        """Stop waiting for slots that do not open: another service has taken their device."""
        now_s = self._clock()
        with self._lock:
            late = [
                each.place
                for name, each in self._taken.items()
                if name not in open_names and now_s - each.since_s > self._timings.opening_s
            ]
        for place in late:
            log.warning("%s did not open within %g s", place.actor_name, self._timings.opening_s)
            self.lose(place)

    def _change_probes(self, nodes: Mapping[str, ClusterNode], open_names: Collection[str]) -> None:
        usable = nodes.keys() - self._excluded.ids
        for probe in [each for each in self._probes if not each.node_id and each.avoids & usable]:
            self._end_probe(probe)  # another one may use a node that was not used before
        with self._lock:
            demand = self._demand
            taken = [(each.place.kind, name in open_names) for name, each in self._taken.items()]
        granted = Counter(probe.kind for probe in self._probes if probe.node_id)
        pending = Counter(probe.kind for probe in self._probes if not probe.node_id)
        counts = {
            kind: SlotCounts(taken.count((kind, True)), taken.count((kind, False)) + granted[kind], pending[kind])
            for kind in KINDS
        }
        has_gpus = any(node.gpus for node in nodes.values())
        needed = needed_by_kind(demand, self._kind, has_gpus=has_gpus)
        for kind, change in probe_changes(needed, counts, self._cluster.max_slots).items():
            for _ in range(change):
                self._add_probe(kind)
            if change < 0:
                for probe in [each for each in self._probes if each.kind == kind and not each.node_id][change:]:
                    self._end_probe(probe)

    def _add_probe(self, kind: str) -> None:
        if self._clock() < self._probe_after_s:
            return
        actor = create_probe(kind, self._cluster.cpus_per_slot, self._excluded.ids)
        self._probes.append(_Probe(kind, actor, actor.find.remote(), self._excluded.ids))

    def _end_probe(self, probe: _Probe) -> None:
        self._probes.remove(probe)
        kill_actor(probe.actor)

    # Supervisors.

    def _end_idle_supervisors(self) -> None:
        with self._lock:
            used = {each.place.node_id for each in self._taken.values()}
        self._supervisors.end_idle(used | {probe.node_id for probe in self._probes})

    def _lose_all(self, node_id: str) -> None:
        """The supervisor of a node has ended, and its slots with it."""
        with self._lock:
            on_it = [each.place for each in self._taken.values() if each.place.node_id == node_id]
        for place in on_it:
            self.lose(place)
