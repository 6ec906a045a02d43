"""Trials that share a device: slots by their share, reservation, accounting, restarts, devices of ensembles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.scheduling.slots_per_attempt import SlotsPerAttempt, slots_per_attempt
from podium.sweep.spec.resources import Resources
from podium.sweep.values.device import shared_id
from podium.sweep.values.states import TrialState
from tests.rig import Rig

WAITING, RUNNING = TrialState.WAITING, TrialState.RUNNING


@pytest.mark.parametrize(("share", "slots", "count"), [
    (None, 1, 1), (None, 4, 1), (0.25, 4, 1), (0.3, 4, 2), (0.5, 4, 2), (1.0, 4, 4), (0.25, 1, 1), (0.01, 4, 1),
    (0.2, 5, 1), (0.6, 5, 3), (1 / 3, 3, 1),
])  # fmt: skip
def test_share_is_rounded_up_to_slots(share: float | None, slots: int, count: int) -> None:
    wanted = Resources(share=share)
    assert slots_per_attempt(wanted, slots) == SlotsPerAttempt(wanted, count, count, "device")


def _later(rig: Rig, seconds: float) -> None:
    rig.clock.advance(seconds)
    rig.scheduler.step([])
    rig.settle()


def test_trials_without_a_share_get_a_slot_each() -> None:
    rig = Rig(slots=1, per_device=2)
    rig.submit(run_cap=3)
    assert rig.pool.busy() == ["cpu-0", "cpu-0.1"]
    assert rig.states(1)[:2] == [RUNNING, RUNNING]
    shares = {slot.running.share for slot in rig.pool.slots.values() if slot.running is not None}
    assert shares == {0.5}


def test_whole_device_has_one_process_and_no_neighbor() -> None:
    rig = Rig(slots=2, per_device=2)
    rig.submit(run_cap=2, resources={"share": 1.0})
    rig.submit(run_cap=1)
    assert rig.pool.busy() == ["cpu-0", "cpu-1"] and rig.states(2) == [WAITING]
    running = rig.pool["cpu-0"].running
    assert running is not None and (running.share, running.gang) == (1.0, None)
    rig.pool.finish("cpu-0")
    rig.settle()
    assert rig.states(2) == [RUNNING]


def test_slots_of_different_devices_are_not_combined() -> None:
    rig = Rig(slots=2, per_device=2)
    rig.submit(run_cap=3)
    rig.pool.finish("cpu-0")
    rig.settle()
    assert rig.pool.busy() == ["cpu-0.1", "cpu-1"]
    rig.submit(run_cap=1, resources={"share": 1.0})
    assert rig.states(2) == [WAITING]
    rig.pool.finish("cpu-1")
    rig.settle()
    assert rig.pool.busy() == ["cpu-0.1", "cpu-1"] and rig.states(2) == [RUNNING]


def test_wide_trial_is_not_starved_by_narrow_ones() -> None:
    rig = Rig(slots=1, per_device=2)
    rig.submit(run_cap=100)
    rig.submit(run_cap=1, resources={"share": 1.0})
    for _ in range(6):
        if rig.states(2) == [RUNNING]:
            break
        rig.clock.advance(1.0)
        rig.pool.finish(rig.pool.busy()[0])
        rig.settle()
    assert rig.states(2) == [RUNNING]


def test_waiting_trial_names_the_slots_that_it_needs() -> None:
    rig = Rig(slots=1, per_device=4)
    rig.submit(run_cap=10, resources={"max_concurrent": 3})
    rig.submit(run_cap=1, resources={"share": 0.5})
    _later(rig, 10)
    _later(rig, 10)
    wait = rig.sweep(2).wait
    assert wait is not None and "it needs 2 of the 4 slots of a device, and 1 are free now" in wait.message


def test_trial_of_several_devices_does_not_start_on_shared_ones() -> None:
    rig = Rig(slots=2, per_device=2)
    rig.submit(run_cap=1, resources={"devices": 2})
    _later(rig, 10)
    _later(rig, 10)
    wait = rig.sweep().wait
    assert rig.pool.busy() == [] and wait is not None
    assert "it needs 2 whole devices, and 2 trials share a device here" in wait.message


@pytest.mark.parametrize(("share", "device_s"), [(None, 2.5), (0.5, 5.0), (1.0, 10.0)])
def test_share_is_charged(share: float | None, device_s: float) -> None:
    rig = Rig(slots=1, per_device=4)
    rig.submit(run_cap=1, resources={"share": share})
    rig.clock.advance(10)
    rig.pool.finish(rig.pool.busy()[0])
    rig.settle()
    assert rig.sweep().device_s == pytest.approx(device_s)


@pytest.mark.parametrize(("share", "device_s"), [(None, 5.0), (0.5, 10.0)])
def test_share_survives_a_restart(share: float | None, device_s: float) -> None:
    rig = Rig(slots=1, per_device=4)
    rig.submit(run_cap=1, resources={"share": share})
    rig.clock.advance(10)
    rig.restart()
    rig.submit(run_cap=1, resources={"share": 1.0})
    assert rig.states(2) == [WAITING]
    rig.clock.advance(10)
    rig.pool.finish(rig.pool.busy()[0])
    rig.settle()
    assert rig.states(1) == [TrialState.FINISHED] and rig.states(2) == [RUNNING]
    assert rig.sweep(1).device_s == pytest.approx(device_s)


def test_device_of_an_ensemble_accepts_no_trial_in_any_slot() -> None:
    rig = Rig(slots=2, per_device=2)
    rig.recorder.dedicated["cpu-0"] = "dedicated to member 0 of ensemble digits"
    rig.submit(run_cap=4)
    assert rig.pool.busy() == ["cpu-1", "cpu-1.1"]


@given(st.lists(st.sampled_from([None, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=6), st.randoms())
def test_no_device_is_used_beyond_its_slots_and_every_trial_runs(shares: list[float | None], chance) -> None:  # type: ignore[no-untyped-def]
    rig = Rig(slots=2, per_device=4)
    for share in shares:
        rig.submit(run_cap=2, resources={"share": share})
    for _ in range(10 * len(shares)):
        used: dict[str, float] = {}
        for name in rig.pool.busy():
            running = rig.pool[name].running
            assert running is not None
            used[shared_id(name)] = used.get(shared_id(name), 0.0) + running.share
        assert all(total <= 1.0 for total in used.values()), used
        if not rig.pool.busy():
            break
        rig.clock.advance(1.0)
        rig.pool.finish(chance.choice(rig.pool.busy()))
        rig.settle()
    for number in range(len(shares)):
        assert rig.states(number + 1) == [TrialState.FINISHED] * 2
