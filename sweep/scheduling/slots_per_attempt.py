"""The slots that each attempt of a sweep needs: one, several of one device, or several devices. Pure; scheduler.

With `podium serve --trials-per-device N` a device has N slots. An attempt runs in the first of its slots, or has a rank
in each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from podium.sweep.spec.resources import Resources
from podium.sweep.values.device import Device

Together = Literal["device", "node", "any"]


@dataclass(frozen=True, slots=True)
class SlotsPerAttempt:
    """How many slots an attempt gets, all at once, and which may be combined."""

    wanted: Resources  # with the kind of the devices, and their node
    least: int = 1
    most: int = 1
    together: Together = "any"  # of one device, of one node, or any
    unshared: bool = False  # whether the device of each must have no other slot

    @property
    def several(self) -> bool:
        """Whether an attempt may have several slots."""
        return self.most > 1

    def fits(self, device: Device) -> bool:
        """Whether a device can be one of those of an attempt."""
        return self.wanted.fits(device.kind, device.device_id) and not (self.unshared and device.slots > 1)

    def group(self, device: Device) -> tuple[str, str]:
        """Devices with the same value may be combined."""
        places = {"device": device.shared_id, "node": device.node, "any": ""}
        return device.kind, places[self.together]


def slots_per_attempt(wanted: Resources, slots_per_device: int) -> SlotsPerAttempt:
    """What an attempt needs on a service with this number of slots on each device.

    Without `share`, it gets one of them.
    """
    if wanted.several:
        return SlotsPerAttempt(wanted, wanted.least, wanted.most, wanted.pack, unshared=True)
    count = wanted.slots(slots_per_device)
    return SlotsPerAttempt(wanted, count, count, "device")
