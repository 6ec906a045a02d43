"""Slots that come and go: what the sweeps request, and which slots are released."""

from __future__ import annotations

from podium.sweep.lifecycle.pending_commands import MemberDevices
from podium.sweep.lifecycle.scheduler_inbox_messages import SlotLeaving, SlotOpened
from podium.sweep.lifecycle.slot_demand import SlotDemand
from podium.sweep.values.states import SweepState
from tests.fakes import FakeElasticPool
from tests.rig import Rig

RELEASE_S = 60.0


def _rig(slots: int) -> tuple[Rig, FakeElasticPool]:
    pool = FakeElasticPool()
    return Rig(slots, elastic=pool, release_s=RELEASE_S), pool


def _wait(rig: Rig, seconds: float) -> None:
    rig.clock.advance(seconds)
    rig.settle()


def test_trials_without_a_slot_are_requested() -> None:
    rig, pool = _rig(0)
    assert pool.demand == SlotDemand()
    rig.submit(run_cap=5)
    rig.submit(run_cap=9, resources={"device": "cpu", "max_concurrent": 3})
    rig.submit(run_cap=2, resources={"device": "gpu"})
    assert pool.demand == SlotDemand(gpu=2, cpu=3, any=5)


def test_running_trials_and_free_slots_are_not_requested_again() -> None:
    rig, pool = _rig(2)
    rig.submit(run_cap=5)
    assert len(rig.pool.busy()) == 2 and pool.demand == SlotDemand(any=3)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert pool.demand == SlotDemand()


def test_slot_is_released_after_the_idle_time_and_gets_no_trial() -> None:
    rig, pool = _rig(2)
    rig.submit(run_cap=1)
    _wait(rig, RELEASE_S - 1.0)
    assert pool.released == []
    _wait(rig, 2.0)
    (busy,) = rig.pool.busy()
    assert pool.released == [device_id for device_id in rig.pool.slots if device_id != busy]
    rig.submit(run_cap=1)
    assert rig.pool.busy() == [busy]
    assert pool.demand == SlotDemand(any=1)


def test_released_slot_that_opens_again_gets_trials() -> None:
    rig, pool = _rig(1)
    _wait(rig, RELEASE_S)
    assert pool.released == ["cpu-0"]
    rig.submit(run_cap=1)
    rig.inbox.put(SlotOpened(rig.pool["cpu-0"].device))
    rig.settle()
    assert rig.pool.busy() == ["cpu-0"] and pool.demand == SlotDemand()


def test_idle_time_begins_again_after_a_trial() -> None:
    rig, pool = _rig(1)
    _wait(rig, RELEASE_S - 1.0)
    rig.submit(run_cap=1)
    rig.finish_all()
    _wait(rig, RELEASE_S - 1.0)
    assert pool.released == []
    _wait(rig, 2.0)
    assert pool.released == ["cpu-0"]


def test_slot_whose_device_holds_a_member_is_not_released() -> None:
    rig, pool = _rig(2)
    rig.recorder.members = MemberDevices(frozenset({"cpu-0"}))
    _wait(rig, 1.0)
    _wait(rig, RELEASE_S)
    assert pool.released == ["cpu-1"]
    rig.recorder.members = MemberDevices()
    _wait(rig, 1.0)
    _wait(rig, RELEASE_S)
    assert pool.released == ["cpu-1", "cpu-0"]


def test_a_slot_is_requested_for_members_without_a_device() -> None:
    rig, pool = _rig(0)
    rig.recorder.members = MemberDevices(wanted=True)
    _wait(rig, 1.0)
    assert pool.demand == SlotDemand(any=1)
    rig.submit(run_cap=3)
    _wait(rig, 1.0)
    assert pool.demand == SlotDemand(any=3), "members share the devices of trials"
    rig, pool = _rig(1)
    rig.recorder.members = MemberDevices(wanted=True)
    _wait(rig, 1.0)
    assert pool.demand == SlotDemand()


def test_slot_of_a_node_that_leaves_finishes_its_trial_and_is_released() -> None:
    rig, pool = _rig(1)
    rig.submit(run_cap=2)
    rig.inbox.put(SlotLeaving("cpu-0", "its node leaves the Ray cluster"))
    rig.settle()
    assert rig.pool.busy() == ["cpu-0"] and pool.released == []
    rig.pool.finish("cpu-0")
    rig.settle()
    _wait(rig, 1.0)
    assert rig.pool.busy() == [] and pool.released == ["cpu-0"]
    assert pool.demand == SlotDemand(any=1)


def test_demand_is_lower_as_soon_as_a_slot_has_opened() -> None:
    rig, pool = _rig(1)
    _wait(rig, RELEASE_S)
    rig.submit(run_cap=1)
    assert pool.demand == SlotDemand(any=1)
    rig.scheduler.step([SlotOpened(rig.pool["cpu-0"].device)])
    assert pool.demand == SlotDemand()
