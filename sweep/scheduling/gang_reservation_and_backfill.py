"""Decides which devices a trial of several devices gets, and which trials may pass one that waits. Pure; scheduler
process.

EASY backfill (Lifka 1995, "The ANL/IBM SP Scheduling System"). The trial that has waited longest holds a reservation:
the devices on which it can start earliest, by the time limits of the trials that run there. Another trial may
start if that cannot delay it: because its own time limit ends earlier, or because it leaves enough of those devices.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from podium.sweep.scheduling.slots_per_attempt import SlotsPerAttempt
from podium.sweep.values.device import Device

_Group = tuple[str, str]  # kind, and node unless devices of any nodes may be combined


@dataclass(frozen=True, slots=True)
class DeviceOutlook:
    """A device that accepts trials, and when it is free at the latest; monotonic."""

    device: Device
    free_s: float  # infinity: its trial has no time limit

    @property
    def device_id(self) -> str:
        return self.device.device_id


@dataclass(frozen=True, slots=True)
class Reservation:
    """The devices among which a waiting trial will start, and when it will at the latest."""

    devices: frozenset[str]
    count: int  # of these, how many it needs
    start_s: float  # infinity: unknown
    spare: int  # how many more of them are free by then
    unknown: int = 0  # how many of those that it needs have a trial without a time limit

    def admits(self, device_ids: Iterable[str], end_s: float) -> bool:
        """Whether a trial that ends by `end_s` may start on these devices without delaying the one that waits."""
        if end_s <= self.start_s < math.inf:
            return True
        return sum(device_id in self.devices for device_id in device_ids) <= self.spare


@dataclass(slots=True)
class ReservationHolder:
    """The sweep whose next trial holds the reservation. Only its own methods change it."""

    sweep_id: int | None = None
    reservation: Reservation | None = None

    def give(self, sweep_id: int) -> None:
        """The next trial of a sweep waits for several devices."""
        self.sweep_id, self.reservation = sweep_id, None

    def update(self, reservation: Reservation | None) -> bool:
        """Record the devices as of now; withdraws it if there are too few, and returns False."""
        self.reservation = reservation
        if reservation is None:
            self.withdraw()
        return reservation is not None

    def withdraw(self) -> None:
        """The trial has started, or can no longer start."""
        self.sweep_id = self.reservation = None


def choose_devices(outlook: Sequence[DeviceOutlook], wanted: SlotsPerAttempt, now_s: float) -> tuple[Device, ...]:
    """The devices on which a trial can start now, those of one node together; empty if there are not enough.

    Of the nodes with enough free devices, that with the fewest.
    """
    groups = _groups(outlook, wanted)
    size = _size(groups, wanted)
    free = [[each.device for each in group if each.free_s <= now_s] for group in groups]
    enough = [group for group in free if len(group) >= size > 0]
    if not enough:
        return ()
    best = min(enough, key=lambda group: (len(group), group[0].node))
    return tuple(_packed(best, size))


def reserve(outlook: Sequence[DeviceOutlook], wanted: SlotsPerAttempt, now_s: float) -> Reservation | None:
    """The reservation of a trial that cannot start now; None if there are too few devices that accept trials."""
    groups = _groups(outlook, wanted)
    size = _size(groups, wanted)
    candidates = [_reservation(group, size, now_s) for group in groups if len(group) >= size > 0]
    if not candidates:
        return None
    return min(candidates, key=lambda each: (each.start_s, each.unknown, -each.spare, sorted(each.devices)))


def size_of_attempt(outlook: Sequence[DeviceOutlook], wanted: SlotsPerAttempt) -> int:
    """The number of devices that an attempt gets; 0 if there are too few devices that accept trials."""
    return _size(_groups(outlook, wanted), wanted)


def _reservation(group: Sequence[DeviceOutlook], size: int, now_s: float) -> Reservation:
    times = sorted(max(each.free_s, now_s) for each in group)
    start_s = times[size - 1]
    unknown = sum(math.isinf(time_s) for time_s in times[:size])
    spare = 0 if unknown else sum(time_s <= start_s for time_s in times) - size  # else whatever becomes free is needed
    return Reservation(frozenset(each.device_id for each in group), size, start_s, spare, unknown)


def _groups(outlook: Sequence[DeviceOutlook], wanted: SlotsPerAttempt) -> list[list[DeviceOutlook]]:
    """The devices that may be combined."""
    groups: dict[_Group, list[DeviceOutlook]] = defaultdict(list)
    for each in outlook:
        if wanted.fits(each.device):
            groups[wanted.group(each.device)].append(each)
    return [groups[key] for key in sorted(groups)]


def _size(groups: Sequence[Sequence[DeviceOutlook]], wanted: SlotsPerAttempt) -> int:
    largest = max((len(group) for group in groups), default=0)
    size = min(wanted.most, largest)
    return size if size >= wanted.least else 0


def _packed(free: Sequence[Device], size: int) -> list[Device]:
    """`size` of the devices, on as few nodes as possible; those of a node by their position."""
    by_node: dict[str, list[Device]] = defaultdict(list)
    for device in free:
        by_node[device.node].append(device)
    chosen: list[Device] = []
    for node in sorted(by_node, key=lambda node: (-len(by_node[node]), node)):
        chosen += sorted(by_node[node], key=lambda device: device.position)[: size - len(chosen)]
    return chosen
