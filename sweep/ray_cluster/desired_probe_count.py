"""How many probes a service should have pending, from what its sweeps need and what it has. Pure; scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from podium.sweep.lifecycle.slot_demand import SlotDemand

KINDS = ("gpu", "cpu")  # in the order in which they are served when slots are few


@dataclass(frozen=True, slots=True)
class SlotCounts:
    """The slots of one kind."""

    open: int = 0  # that work
    opening: int = 0  # whose device was found
    pending: int = 0  # whose probe waits for a device


def probe_changes(needed: Mapping[str, int], counts: Mapping[str, SlotCounts], max_slots: int) -> dict[str, int]:
    """How many probes to create for each kind of device, or to cancel if the number is negative.

    Args:
        needed: By kind, how many more trials would start if there were slots. Slots that open serve some of them.
        counts: By kind, the slots and probes of now.
        max_slots: The limit of slots and probes together.
    """
    room = max_slots - sum(count.open + count.opening for count in counts.values())
    changes = {}
    for kind in KINDS:
        count = counts.get(kind, SlotCounts())
        wanted = max(0, min(needed.get(kind, 0) - count.opening, room))
        room -= wanted
        changes[kind] = wanted - count.pending
    return changes


def needed_by_kind(demand: SlotDemand, plan: str, *, has_gpus: bool) -> dict[str, int]:
    """The demand by kind of device. Where any device fits, a GPU if a node of the cluster has one.

    Args:
        demand: Of the sweeps.
        plan: auto, gpu or cpu: the devices that the service may use.
        has_gpus: Whether a node that is alive has GPUs.
    """
    if plan == "gpu":
        return {"gpu": demand.gpu + demand.any, "cpu": 0}
    if plan == "cpu":
        return {"gpu": 0, "cpu": demand.cpu + demand.any}
    on_gpus = demand.any if has_gpus else 0
    return {"gpu": demand.gpu + on_gpus, "cpu": demand.cpu + demand.any - on_gpus}
