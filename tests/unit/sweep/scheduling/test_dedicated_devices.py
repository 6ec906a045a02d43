"""Devices dedicated to an ensemble get no new trial, interrupt none, and are named in wait reasons."""

from __future__ import annotations

from collections.abc import Callable

from podium.sweep.lifecycle.scheduler_inbox_messages import SlotLost
from podium.sweep.scheduling.trial_placement import WAITS_S
from podium.sweep.values.states import SweepState, TrialState
from podium.sweep.values.sweep_wait_reason import Wait, WaitReason
from tests.rig import Rig

MakeRig = Callable[..., Rig]
WHY = "dedicated to member 0 of ensemble digits-1"


def dedicate(rig: Rig, *device_ids: str) -> None:
    """The host has recorded that these devices are dedicated to an ensemble, and woken the scheduler."""
    rig.recorder.dedicated = dict.fromkeys(device_ids, WHY)
    rig.settle()
    rig.tick()


def shown(rig: Rig, device_id: str) -> tuple[str, str]:
    return rig.recorder.devices[device_id].state, rig.recorder.devices[device_id].reason


def test_dedicated_device_gets_no_trial_and_others_run_all(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    dedicate(rig, "cpu-1")
    assert shown(rig, "cpu-0") == ("ready", "no sweep is running")
    assert shown(rig, "cpu-1") == ("dedicated", WHY)
    rig.submit(run_cap=4)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert {device_id for device_id, _ in rig.pool.placed} == {"cpu-0"}


def test_running_trial_on_dedicated_device_finishes(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=4)
    assert rig.pool.busy() == ["cpu-0", "cpu-1"]
    dedicate(rig, "cpu-1")
    assert rig.pool["cpu-1"].stops == []
    rig.pool.finish("cpu-1")
    rig.settle()
    assert rig.pool.busy() == ["cpu-0"]
    rig.finish_all()
    assert rig.states() == [TrialState.FINISHED] * 4
    assert [device_id for device_id, _ in rig.pool.placed].count("cpu-1") == 1


def test_released_device_gets_trials_again(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    dedicate(rig, "cpu-1")
    rig.submit(run_cap=6)
    assert rig.pool.busy() == ["cpu-0"]
    dedicate(rig)
    assert shown(rig, "cpu-1") == ("ready", "")
    assert rig.pool.busy() == ["cpu-0", "cpu-1"]


def test_device_stays_dedicated_when_slot_or_scheduler_is_replaced(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    dedicate(rig, "cpu-1")
    rig.pool.lose("cpu-1")
    rig.settle()
    assert shown(rig, "cpu-1") == ("dedicated", WHY)
    rig.restart()
    rig.submit(run_cap=4)
    assert rig.pool.busy() == ["cpu-0"]


def test_lost_device_is_not_shown_as_dedicated(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.scheduler.step([SlotLost("cpu-1", "simulated")])
    dedicate(rig, "cpu-1")
    assert shown(rig, "cpu-1") == ("lost", "simulated"), "the pool reports the device when it returns"


def test_sweep_without_device_reports_reason_until_one_is_released(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    dedicate(rig, "cpu-0", "cpu-1")
    sweep = rig.submit(run_cap=2)
    rig.tick()
    assert rig.pool.busy() == []
    assert sweep.state is SweepState.QUEUED
    message = f"no device is available for trials: cpu-0 is {WHY}; cpu-1 is {WHY}"
    assert (sweep.reason, sweep.wait) == ("", Wait(WaitReason.DEVICES_CLOSED, message))
    dedicate(rig, "cpu-0")
    assert (rig.sweep().reason, rig.sweep().wait) == ("", None)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)


def test_running_sweep_reports_reason_after_its_last_trial_ended(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    rig.submit(run_cap=3)
    dedicate(rig, "cpu-0")
    assert rig.sweep().wait is None
    rig.pool.finish("cpu-0")
    rig.settle()
    rig.clock.advance(WAITS_S)
    rig.settle()
    assert (rig.sweep().state, rig.sweep().wait) == (
        SweepState.RUNNING,
        Wait(WaitReason.DEVICES_CLOSED, f"no device is available for trials: cpu-0 is {WHY}"),
    )
