"""Devices that are drained: a GPU by its UUID, since its number may change when the machine starts; all processes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from podium.sweep.values.device import shared_id


@dataclass(frozen=True, slots=True)
class DeviceDrain:
    """A device that accepts no trials until it is returned."""

    device_id: str  # when it was drained
    uuid: str  # of a GPU; "" for another device, and if it was unknown
    reason: str


def drains_of(device_id: str, uuid: str | None, drains: Iterable[DeviceDrain]) -> list[DeviceDrain]:
    """Those of a device: of its GPU under whatever number, and of its name, unless another GPU had it."""
    return [each for each in drains if _matches(each, device_id, uuid)]


def _matches(drain: DeviceDrain, device_id: str, uuid: str | None) -> bool:
    if uuid and drain.uuid:
        return drain.uuid == uuid and _slot(drain.device_id) == _slot(device_id)
    return drain.device_id == device_id


def _slot(device_id: str) -> str:
    """What distinguishes the slots of one device."""
    return device_id.removeprefix(shared_id(device_id))
