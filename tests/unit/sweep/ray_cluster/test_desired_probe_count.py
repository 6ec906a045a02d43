"""How many probes a service creates and cancels: by backlog, slots and their limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.lifecycle.slot_demand import SlotDemand
from podium.sweep.ray_cluster.desired_probe_count import KINDS, SlotCounts, needed_by_kind, probe_changes

NUMBERS = st.integers(0, 50)
COUNTS = st.builds(SlotCounts, NUMBERS, NUMBERS, NUMBERS)


@pytest.mark.parametrize(("needed", "counts", "max_slots", "gpu", "cpu"), [
    ({}, {}, 8, 0, 0),
    ({"cpu": 3}, {}, 8, 0, 3),
    ({"cpu": 30}, {}, 8, 0, 8),
    ({"cpu": 30}, {"cpu": SlotCounts(open=5)}, 8, 0, 3),
    ({"cpu": 3}, {"cpu": SlotCounts(opening=2)}, 8, 0, 1),
    ({"cpu": 3}, {"cpu": SlotCounts(pending=3)}, 8, 0, 0),
    ({"cpu": 1}, {"cpu": SlotCounts(pending=3)}, 8, 0, -2),
    ({}, {"gpu": SlotCounts(open=1, pending=2)}, 8, -2, 0),
    ({"gpu": 3, "cpu": 3}, {}, 4, 3, 1),
    ({"gpu": 3, "cpu": 3}, {"cpu": SlotCounts(pending=3)}, 4, 3, -2),
    ({"cpu": 3}, {"gpu": SlotCounts(open=9)}, 8, 0, 0),
])  # fmt: skip
def test_probes_serve_what_slots_do_not(
    needed: dict[str, int], counts: dict[str, SlotCounts], max_slots: int, gpu: int, cpu: int
) -> None:
    assert probe_changes(needed, counts, max_slots) == {"gpu": gpu, "cpu": cpu}


@given(
    st.fixed_dictionaries(dict.fromkeys(KINDS, NUMBERS)), st.fixed_dictionaries(dict.fromkeys(KINDS, COUNTS)), NUMBERS
)
def test_limit_holds_and_no_probe_is_cancelled_twice(
    needed: dict[str, int], counts: dict[str, SlotCounts], max_slots: int
) -> None:
    changes = probe_changes(needed, counts, max_slots)
    probes = {kind: counts[kind].pending + changes[kind] for kind in KINDS}
    assert all(0 <= probes[kind] <= needed[kind] for kind in KINDS)
    slots = sum(counts[kind].open + counts[kind].opening for kind in KINDS)
    assert slots + sum(probes.values()) <= max(max_slots, slots)


@pytest.mark.parametrize(("plan", "has_gpus", "gpu", "cpu"), [
    ("auto", True, 5, 2), ("auto", False, 1, 6), ("gpu", False, 5, 0), ("cpu", True, 0, 6),
])  # fmt: skip
def test_sweeps_for_any_device_get_gpus_where_there_are_some(plan: str, has_gpus: bool, gpu: int, cpu: int) -> None:
    demand = SlotDemand(gpu=1, cpu=2, any=4)
    assert needed_by_kind(demand, plan, has_gpus=has_gpus) == {"gpu": gpu, "cpu": cpu}
