"""Which devices of a Ray cluster get slots: the interface that own and existing clusters implement; scheduler."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from podium.sweep.lifecycle.slot_demand import SlotDemand
from podium.sweep.protocol.scheduler_slot_messages import SlotDescription
from podium.sweep.ray_cluster.ray_nodes_with_slots import ClusterNode
from podium.sweep.ray_cluster.ray_slot_actor import SlotPlace
from podium.sweep.ray_cluster.slot_actors import SlotActor, SlotActors


class DeviceSource(Protocol):
    """Which devices of a Ray cluster get slots. Only `lose` and `request` are called in any thread."""

    count_here: int  # the intended number of slots on the head

    @property
    def actors(self) -> SlotActors:
        """The slots of these devices."""

    def nodes(self, known: Mapping[str, ClusterNode] | None = None) -> dict[str, ClusterNode]:
        """The nodes that are alive, by Ray's id. Raises `LookupError` if Ray does not list the head."""

    def wait_s(self, nodes_s: float) -> float:
        """Seconds until the next check; `nodes_s` if nothing is expected."""

    def adopt(self, actor_name: str, slot: SlotDescription) -> str:
        """A slot of an earlier scheduler works; returns why it is not used, or ""."""

    def places(self, nodes: Mapping[str, ClusterNode], open_names: Collection[str]) -> list[SlotPlace]:
        """The devices that have a slot, or get one now; `open_names`: the actors of the slots that work."""

    def leaving(self, place: SlotPlace) -> str:
        """Why a device gets no more trials, or ""."""

    def create(self, place: SlotPlace) -> SlotActor:
        """Create a slot."""

    def lose(self, place: SlotPlace) -> bool:
        """A slot has ended; returns whether to open it again."""

    def request(self, demand: SlotDemand) -> None:
        """Set how many slots the sweeps need."""

    def close(self, open_names: Collection[str]) -> None:
        """The service stops."""
