"""Trials that are pinned to a node: `resources.node`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import TrialState
from podium.sweep.values.sweep_wait_reason import WaitReason
from tests.rig import Rig

WAITING, RUNNING = TrialState.WAITING, TrialState.RUNNING


def _cluster(*device_ids: str) -> Rig:
    """A scheduler with these devices, such as `b:cpu-0`."""
    rig = Rig(slots=len(device_ids))
    for old, new in zip(list(rig.pool.slots), device_ids, strict=True):
        slot = rig.pool.slots.pop(old)
        node = new.rpartition(":")[0] or "head"
        slot.device = replace(slot.device, device_id=new, node=node, position=int(new[-1]))
        rig.pool.slots[new] = slot
    rig.restart()
    return rig


@pytest.mark.parametrize(("node", "busy"), [("b", ["b:cpu-0", "b:cpu-1"]), ("head", ["cpu-0"])])
def test_trials_run_on_their_node_only(node: str, busy: list[str]) -> None:
    rig = _cluster("cpu-0", "b:cpu-0", "b:cpu-1", "c:cpu-0")
    rig.submit(run_cap=10, resources={"node": node})
    assert rig.pool.busy() == busy
    assert rig.states().count(WAITING) <= 2 * len(busy)  # proposed for these devices, not for all


def test_trials_wait_for_a_node_that_has_not_joined() -> None:
    rig = _cluster("cpu-0", "c:cpu-0")
    rig.submit(run_cap=1, resources={"node": "b"})
    _later(rig, 6.0)
    wait = rig.sweep().wait
    assert wait is not None and wait.reason is WaitReason.NO_MATCHING_DEVICE
    assert wait.message == "it requires a device of the node b, and there is none; there are devices of: c; head"
    rig.pool.slots["b:cpu-0"] = replace(
        rig.pool["c:cpu-0"], device=replace(rig.pool["c:cpu-0"].device, device_id="b:cpu-0", node="b")
    )
    rig.restart()
    assert rig.pool.busy() == ["b:cpu-0"]


@pytest.mark.parametrize("pack", ["node", "any"])
def test_gang_gets_devices_of_its_node(pack: str) -> None:
    rig = _cluster("cpu-0", "cpu-1", "cpu-2", "b:cpu-0", "b:cpu-1")
    rig.submit(run_cap=1, resources={"devices": 2, "node": "b", "pack": pack})
    rig.submit(run_cap=1, resources={"devices": 2, "node": "b", "pack": pack})
    assert [device.device_id for device in rig.trials(1)[0].gang] == ["b:cpu-0", "b:cpu-1"]
    assert rig.states(2) == [WAITING]  # two devices of the head are free


def test_gang_that_is_larger_than_its_node_waits_with_the_reason() -> None:
    rig = _cluster("cpu-0", "cpu-1", "b:cpu-0")
    rig.submit(run_cap=1, resources={"devices": 2, "node": "b", "pack": "any"})
    _later(rig, 6.0)
    wait = rig.sweep().wait
    assert wait is not None and wait.reason is WaitReason.NO_MATCHING_DEVICE
    assert "needs 2 devices together, and there are at most 1" in wait.message


def test_failed_trial_is_repeated_at_once_on_the_only_device_of_its_node() -> None:
    rig = _cluster("cpu-0", "b:cpu-0")
    rig.submit(run_cap=1, resources={"node": "b"}, retries={"infrastructure": 1})
    rig.pool.fail("b:cpu-0", Cause.INFRASTRUCTURE)
    rig.settle()
    assert rig.pool.busy() == ["b:cpu-0"] and rig.trials()[0].attempt == 2


def test_idle_device_of_another_node_says_why() -> None:
    rig = _cluster("cpu-0", "b:cpu-0")
    rig.submit(run_cap=2, resources={"node": "b"})
    _later(rig, 2.0)
    _later(rig, 2.0)
    assert rig.recorder.devices["cpu-0"].reason == "sweep 1 requires a device of the node b"


def _later(rig: Rig, seconds: float) -> None:
    rig.clock.advance(seconds)
    rig.scheduler.step([])
    rig.settle()
