"""The devices of the head and of the nodes that have joined it: each has slots; scheduler."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from podium.sweep.lifecycle.slot_demand import SlotDemand
from podium.sweep.protocol.scheduler_slot_messages import SlotDescription
from podium.sweep.ray_cluster.ray_nodes_with_slots import ClusterNode, alive_nodes
from podium.sweep.ray_cluster.ray_slot_actor import SlotPlace
from podium.sweep.ray_cluster.slot_actors import CreatedSlots, SlotActor
from podium.sweep.runtime.service_settings import DevicePlan
from podium.sweep.values.errors import NoDeviceError


class OwnClusterDevices:
    """All devices of the nodes that have joined this service; see `DeviceSource` in `device_source`."""

    def __init__(self, plan: DevicePlan, actors: CreatedSlots, *, trials_per_device: int = 1) -> None:
        """Raises `NoDeviceError` if the head has none of the devices of the plan."""
        self._plan = plan
        self._slots = trials_per_device
        self._actors = actors
        head = next(node for node in self.nodes().values() if not node.name)
        self.count_here = len(self._places_of(head))
        if not self.count_here:
            raise NoDeviceError("this machine has no GPU; start with --devices auto or --devices cpu")

    @property
    def actors(self) -> CreatedSlots:
        """The slots of these devices."""
        return self._actors

    def nodes(self, known: Mapping[str, ClusterNode] | None = None) -> dict[str, ClusterNode]:
        """The head and the nodes that have joined it."""
        return alive_nodes(known)

    def wait_s(self, nodes_s: float) -> float:
        """Always `nodes_s`."""
        return nodes_s

    def adopt(self, actor_name: str, slot: SlotDescription) -> str:
        """Its device is one of these anyway, but the number of its slots may have changed."""
        other = f"it is one of {slot.slots} slots of its device, and the service now has {self._slots}"
        return "" if slot.slots == self._slots else other

    def places(self, nodes: Mapping[str, ClusterNode], open_names: Collection[str]) -> list[SlotPlace]:
        """All devices of these nodes."""
        return [place for node in nodes.values() for place in self._places_of(node)]

    def leaving(self, place: SlotPlace) -> str:
        """Such nodes leave by a command of the service."""
        return ""

    def create(self, place: SlotPlace) -> SlotActor:
        """Create a slot; the environment of its relay has the sockets of its node."""
        return self._actors.create(place)

    def lose(self, place: SlotPlace) -> bool:
        """A slot is opened again while its node is there."""
        return True

    def request(self, demand: SlotDemand) -> None:
        """All devices have slots anyway."""

    def close(self, open_names: Collection[str]) -> None:
        """The slots end with Ray."""

    def _places_of(self, node: ClusterNode) -> list[SlotPlace]:
        """On the head by the plan of the service, elsewhere GPUs before CPUs."""
        plan = DevicePlan() if node.name else self._plan
        gpus = plan.kind in ("gpu", "pretend-gpu") or (plan.kind == "auto" and node.gpus > 0)
        kind, count = ("gpu", node.gpus) if gpus else ("cpu", node.cpus if node.name else plan.cpu_slots)
        return [
            SlotPlace(kind, position, node.node_id, node.name, count, slot=slot, slots=self._slots)
            for position in range(count)
            for slot in range(self._slots)
        ]
