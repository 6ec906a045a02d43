"""Placement: each member goes to the device with the fewest members, so none shares while another is empty."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from podium.ensemble.host.member_placement import DeviceOccupancy, place_dedicated, place_shared, sharing_notes

loads = st.lists(st.integers(0, 5), min_size=1, max_size=8)
new_members = st.lists(st.integers(1, 1000), max_size=20, unique=True)


def places_of(loads: list[int], kind: str = "cpu") -> list[DeviceOccupancy]:
    """Devices, each with a number of members of other ensembles."""
    return [DeviceOccupancy(f"{kind}-{n}", kind, "node", "", tuple(range(-load, 0))) for n, load in enumerate(loads)]


def ids(places: list[DeviceOccupancy]) -> list[str]:
    return [place.device_id for place in places]


@given(loads, new_members)
def test_members_are_balanced_over_the_devices(loads: list[int], members: list[int]) -> None:
    places = places_of(loads)
    for choose in (place_shared, place_dedicated):
        chosen = Counter(ids(choose(places, members)))
        assert sum(chosen.values()) == len(members)
        after = {place.device_id: len(place.member_ids) + chosen[place.device_id] for place in places}
        for device_id in chosen:
            assert after[device_id] <= min(after.values()) + 1


@given(st.integers(1, 8), new_members)
def test_members_do_not_share_a_device_while_another_is_empty(devices: int, members: list[int]) -> None:
    chosen = Counter(ids(place_shared(places_of([0] * devices), members)))
    assert len(chosen) == min(devices, len(members))
    assert max(chosen.values(), default=0) - min(chosen.values(), default=0) <= 1


@given(st.integers(1, 6), st.integers(1, 10))
def test_replicas_of_a_member_share_a_device_only_when_every_device_has_one(devices: int, replicas: int) -> None:
    places = places_of([0] * devices)
    chosen: list[str] = []
    for _ in range(replicas):
        (place,) = place_shared(places, [7])
        chosen.append(place.device_id)
        places = [
            DeviceOccupancy(p.device_id, p.kind, p.node, p.visible, (7,) * chosen.count(p.device_id)) for p in places
        ]
    assert len(set(chosen)) == min(devices, replicas)


def test_ties_go_to_the_first_device_in_order() -> None:
    assert ids(place_shared(places_of([1, 0, 0], "gpu"), [1, 2, 3, 4])) == ["gpu-1", "gpu-2", "gpu-0", "gpu-1"]


def test_replica_avoids_the_device_of_its_member_even_for_a_fuller_one() -> None:
    places = [DeviceOccupancy("cpu-0", "cpu", "node", "", (7,)), DeviceOccupancy("cpu-1", "cpu", "node", "", (1, 2, 3))]
    assert ids(place_shared(places, [7])) == ["cpu-1"]


def test_gpus_are_preferred_to_cpus() -> None:
    assert ids(place_shared([*places_of([0, 0]), *places_of([3], "gpu")], [1, 2])) == ["gpu-0", "gpu-0"]


def test_members_of_one_process_are_on_one_node() -> None:
    places = [DeviceOccupancy(f"gpu-{n}", "gpu", node, str(n)) for n, node in enumerate(["a", "b", "b"])]
    assert ids(place_shared(places, [1, 2, 3])) == ["gpu-1", "gpu-2", "gpu-1"]
    assert ids(place_shared(places, [1])) == ["gpu-0"]


def test_no_device_means_no_placement() -> None:
    assert place_shared([], [1, 2]) == place_dedicated([], [1]) == []


def test_dedicated_member_prefers_idle_then_busy_then_dedicated_devices() -> None:
    taken = DeviceOccupancy("cpu-0", "cpu", "node", "", (9,), dedicated=True, reserved=True)
    busy = DeviceOccupancy("cpu-1", "cpu", "node", "", runs_trial=True)
    idle = DeviceOccupancy("cpu-2", "cpu", "node", "")
    assert ids(place_dedicated([taken, busy, idle], [1])) == ["cpu-2"]
    assert ids(place_dedicated([taken, busy], [1])) == ["cpu-1"]
    assert ids(place_dedicated([taken], [1])) == ["cpu-0"]


def test_shared_member_uses_a_dedicated_device_only_when_all_are_dedicated() -> None:
    taken = DeviceOccupancy("cpu-0", "cpu", "node", "", (9,), dedicated=True)
    full = DeviceOccupancy("cpu-1", "cpu", "node", "", (1, 2, 3))
    assert ids(place_shared([taken, full], [4])) == ["cpu-1"]
    assert ids(place_shared([taken], [4])) == ["cpu-0"]


def test_device_is_free_when_it_is_dedicated_and_its_last_trial_has_ended() -> None:
    for reserved in (False, True):
        for runs_trial in (False, True):
            place = DeviceOccupancy("cpu-0", "cpu", "node", "", reserved=reserved, runs_trial=runs_trial)
            assert place.free_of_trials == (reserved and not runs_trial)


def test_reason_names_the_number_of_members_on_a_shared_device() -> None:
    one, two = DeviceOccupancy("cpu-0", "cpu", "node", "", (1, 99)), DeviceOccupancy("cpu-1", "cpu", "node", "", (99,))
    assert sharing_notes([one, two], [1, 2, 3]) == ["shares cpu-0 with 1 other member of this ensemble", ""]
    assert sharing_notes([two, two, two], [1, 2, 3]) == ["shares cpu-1 with 2 other members of this ensemble"] * 3
