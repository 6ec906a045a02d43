"""Placement: members go to the emptiest device, so none shares one while another is empty."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ensemble.placement import Place, spread

places_of = st.lists(st.integers(0, 5), min_size=1, max_size=8).map(
    lambda loads: [Place(f"cpu-{index}", "node", "", load) for index, load in enumerate(loads)]
)


@given(places_of, st.integers(0, 20))
def test_no_device_has_two_more_members_than_another_unless_it_had_before(places: list[Place], members: int) -> None:
    chosen = Counter(place.device_id for place in spread(places, members))
    assert sum(chosen.values()) == members
    after = {place.device_id: place.members + chosen[place.device_id] for place in places}
    for device_id in chosen:
        assert after[device_id] <= min(after.values()) + 1


@given(st.integers(1, 8), st.integers(0, 20))
def test_never_two_members_on_a_device_while_another_is_empty(devices: int, members: int) -> None:
    chosen = Counter(
        place.device_id for place in spread([Place(f"gpu-{n}", "n", str(n), 0) for n in range(devices)], members)
    )
    assert len(chosen) == min(devices, members)
    assert max(chosen.values(), default=0) - min(chosen.values(), default=0) <= 1


def test_the_first_in_ledger_order_wins_a_tie() -> None:
    places = [Place("gpu-0", "n", "0", 1), Place("gpu-1", "n", "1", 0), Place("gpu-2", "n", "2", 0)]
    assert [place.device_id for place in spread(places, 4)] == ["gpu-1", "gpu-2", "gpu-0", "gpu-1"]
