"""Placement: members go to the emptiest device, so none shares one while another is empty."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from podium.ensemble.host.placement import DeviceOccupancy, dedicated, shared, sharing

loads = st.lists(st.integers(0, 5), min_size=1, max_size=8)
new_members = st.lists(st.integers(1, 1000), max_size=20, unique=True)


def places_of(loads: list[int], kind: str = "cpu") -> list[DeviceOccupancy]:
    """Devices with so many members of other ensembles on them."""
    return [DeviceOccupancy(f"{kind}-{n}", kind, "node", "", tuple(range(-load, 0))) for n, load in enumerate(loads)]


def ids(places: list[DeviceOccupancy]) -> list[str]:
    return [place.device_id for place in places]


@given(loads, new_members)
def test_no_device_has_two_more_members_than_another_unless_it_had_before(loads: list[int], members: list[int]) -> None:
    places = places_of(loads)
    for choose in (shared, dedicated):
        chosen = Counter(ids(choose(places, members)))
        assert sum(chosen.values()) == len(members)
        after = {place.device_id: len(place.member_ids) + chosen[place.device_id] for place in places}
        for device_id in chosen:
            assert after[device_id] <= min(after.values()) + 1


@given(st.integers(1, 8), new_members)
def test_never_two_members_on_a_device_while_another_is_empty(devices: int, members: list[int]) -> None:
    chosen = Counter(ids(shared(places_of([0] * devices), members)))
    assert len(chosen) == min(devices, len(members))
    assert max(chosen.values(), default=0) - min(chosen.values(), default=0) <= 1


@given(st.integers(1, 6), st.integers(1, 10))
def test_replicas_of_a_member_come_together_only_when_every_device_has_one(devices: int, replicas: int) -> None:
    places = places_of([0] * devices)
    chosen: list[str] = []
    for _ in range(replicas):
        (place,) = shared(places, [7])
        chosen.append(place.device_id)
        places = [
            DeviceOccupancy(p.device_id, p.kind, p.node, p.visible, (7,) * chosen.count(p.device_id)) for p in places
        ]
    assert len(set(chosen)) == min(devices, replicas)


def test_the_first_in_ledger_order_wins_a_tie() -> None:
    assert ids(shared(places_of([1, 0, 0], "gpu"), [1, 2, 3, 4])) == ["gpu-1", "gpu-2", "gpu-0", "gpu-1"]


def test_a_replica_avoids_its_members_device_even_for_a_fuller_one() -> None:
    places = [DeviceOccupancy("cpu-0", "cpu", "node", "", (7,)), DeviceOccupancy("cpu-1", "cpu", "node", "", (1, 2, 3))]
    assert ids(shared(places, [7])) == ["cpu-1"]


def test_gpus_before_cpus() -> None:
    assert ids(shared([*places_of([0, 0]), *places_of([3], "gpu")], [1, 2])) == ["gpu-0", "gpu-0"]


def test_the_members_of_one_process_are_on_one_node() -> None:
    places = [DeviceOccupancy(f"gpu-{n}", "gpu", node, str(n)) for n, node in enumerate(["a", "b", "b"])]
    assert ids(shared(places, [1, 2, 3])) == ["gpu-1", "gpu-2", "gpu-1"]
    assert ids(shared(places, [1])) == ["gpu-0"]


def test_without_a_device_there_is_no_place() -> None:
    assert shared([], [1, 2]) == dedicated([], [1]) == []


def test_a_dedicated_member_takes_an_idle_device_before_a_busy_one_and_a_busy_one_before_a_taken_one() -> None:
    taken = DeviceOccupancy("cpu-0", "cpu", "node", "", (9,), dedicated=True, reserved=True)
    busy = DeviceOccupancy("cpu-1", "cpu", "node", "", runs_trial=True)
    idle = DeviceOccupancy("cpu-2", "cpu", "node", "")
    assert ids(dedicated([taken, busy, idle], [1])) == ["cpu-2"]
    assert ids(dedicated([taken, busy], [1])) == ["cpu-1"]
    assert ids(dedicated([taken], [1])) == ["cpu-0"]


def test_a_shared_member_comes_to_a_dedicated_device_only_when_all_are() -> None:
    taken = DeviceOccupancy("cpu-0", "cpu", "node", "", (9,), dedicated=True)
    full = DeviceOccupancy("cpu-1", "cpu", "node", "", (1, 2, 3))
    assert ids(shared([taken, full], [4])) == ["cpu-1"]
    assert ids(shared([taken], [4])) == ["cpu-0"]


def test_a_device_is_free_for_a_dedicated_member_when_set_aside_and_its_last_trial_has_ended() -> None:
    for reserved in (False, True):
        for runs_trial in (False, True):
            place = DeviceOccupancy("cpu-0", "cpu", "node", "", reserved=reserved, runs_trial=runs_trial)
            assert place.free_of_trials == (reserved and not runs_trial)


def test_who_shares_a_device_is_told_with_how_many_of_its_own_ensemble() -> None:
    one, two = DeviceOccupancy("cpu-0", "cpu", "node", "", (1, 99)), DeviceOccupancy("cpu-1", "cpu", "node", "", (99,))
    assert sharing([one, two], [1, 2, 3]) == ["shares cpu-0 with 1 other member of this ensemble", ""]
    assert sharing([two, two, two], [1, 2, 3]) == ["shares cpu-1 with 2 other members of this ensemble"] * 3
