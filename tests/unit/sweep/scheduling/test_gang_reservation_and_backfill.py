"""Which devices a trial of several devices gets, and who may pass one that waits."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.scheduling.gang_reservation_and_backfill import (
    DeviceOutlook,
    choose_devices,
    reserve,
    size_of_attempt,
)
from podium.sweep.scheduling.slots_per_attempt import SlotsPerAttempt, slots_per_attempt
from podium.sweep.spec.resources import Resources
from podium.sweep.values.device import Device


def _outlook(*devices: tuple[str, float], kind: str = "gpu") -> list[DeviceOutlook]:
    """Devices by their node and the time at which they are free."""
    return [
        DeviceOutlook(Device(f"{node}:{kind}-{position}", kind, position, node, "", None, 1), free_s)
        for position, (node, free_s) in enumerate(devices)
    ]


def _wanted(devices: Any, **changes: Any) -> SlotsPerAttempt:
    return slots_per_attempt(Resources.model_validate({"devices": devices, **changes}), slots_per_device=1)


def test_node_with_the_fewest_free_devices_is_chosen() -> None:
    outlook = _outlook(("a", 0), ("a", 0), ("a", 0), ("b", 0), ("b", 0))
    assert [device.node for device in choose_devices(outlook, _wanted(2), 0)] == ["b", "b"]
    assert choose_devices(outlook, _wanted(4), 0) == ()
    chosen = choose_devices(outlook, _wanted(4, pack="any"), 0)
    assert [(device.node, device.position) for device in chosen] == [("a", 0), ("a", 1), ("a", 2), ("b", 3)]


def test_devices_of_two_kinds_are_not_combined() -> None:
    outlook = [*_outlook(("a", 0)), *_outlook(("a", 0), kind="cpu")]
    assert choose_devices(outlook, _wanted(2), 0) == () and size_of_attempt(outlook, _wanted(2)) == 0


def test_reservation_starts_when_enough_devices_are_free_and_has_spare_ones() -> None:
    outlook = _outlook(("a", 0), ("a", 5), ("a", 9), ("a", 9))
    reservation = reserve(outlook, _wanted(3), 0)
    assert reservation is not None and (reservation.start_s, reservation.spare) == (9, 1)
    assert reservation.admits(["a:gpu-0"], math.inf)  # one is spare
    assert not reservation.admits(["a:gpu-0", "a:gpu-1"], math.inf)
    assert reservation.admits(["a:gpu-0", "a:gpu-1"], 9)


def test_nothing_passes_a_reservation_whose_start_is_unknown_on_its_devices() -> None:
    reservation = reserve(_outlook(("a", 0), ("a", math.inf), ("b", 0)), _wanted(2), 0)
    assert reservation is not None and reservation.start_s == math.inf
    assert not reservation.admits(["a:gpu-0"], 1) and reservation.admits(["b:gpu-2"], math.inf)


def test_fewer_devices_than_wanted_are_used_only_within_the_range() -> None:
    outlook = _outlook(("a", 0), ("a", 0), ("b", 0))
    assert size_of_attempt(outlook, _wanted({"min": 2, "max": 4})) == 2
    assert size_of_attempt(outlook, _wanted({"min": 3, "max": 4})) == 0
    assert reserve(outlook, _wanted({"min": 3, "max": 4}), 0) is None


NODES = st.sampled_from(["a", "b"])
TIMES = st.one_of(st.floats(0, 100), st.just(math.inf))


@given(
    devices=st.lists(st.tuples(NODES, TIMES), min_size=1, max_size=8),
    count=st.integers(2, 5),
    pack=st.sampled_from(["node", "any"]),
    taken=st.integers(0, 7),
    end_s=TIMES,
)
def test_admitted_trial_never_delays_the_reservation(
    devices: list[tuple[str, float]], count: int, pack: str, taken: int, end_s: float
) -> None:
    outlook, wanted = _outlook(*devices), _wanted(count, pack=pack)
    before = reserve(outlook, wanted, 0)
    free = [each for each in outlook if each.free_s == 0]
    if before is None or not free:
        return
    used = free[taken % len(free)]
    if before.admits([used.device_id], end_s):
        after = [DeviceOutlook(each.device, end_s) if each is used else each for each in outlook]
        later = reserve(after, wanted, 0)
        assert later is not None and later.start_s <= before.start_s
