"""Attempts on several devices: reservation, ranks, first cause, restarts, accounting."""

from __future__ import annotations

import pytest

from podium.sweep.scheduling.gang import LOST_WAIT_S
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import SweepState, TrialState
from tests.fakes import FakeSlot
from tests.rig import Rig

LOST = "RuntimeError: [gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:3145"


def _gang(rig: Rig, devices: int = 2, **changes: object) -> None:
    """Submit a sweep of one trial on several devices, and start all its ranks."""
    resources = {"devices": devices}
    rig.submit(**{"run_cap": 1, "resources": resources, **changes})
    if rig.pool.busy():
        rig.pool.open_store(rig.pool.busy()[0])
        rig.settle()


def _later(rig: Rig, seconds: float) -> None:
    rig.clock.advance(seconds)
    rig.scheduler.step([])
    rig.settle()


def test_ranks_start_when_the_store_is_open_and_rank_0_decides() -> None:
    rig = Rig(slots=3)
    rig.submit(run_cap=1, resources={"devices": 3})
    assert rig.pool.busy() == ["cpu-0"]
    rig.pool.open_store("cpu-0", 1234)
    rig.settle()
    places = [slot.running.gang for slot in rig.pool.slots.values() if slot.running and slot.running.gang]
    assert [(p.rank, p.size, p.local_rank, p.port) for p in places] == [(0, 3, 0, 0), (1, 3, 1, 1234), (2, 3, 2, 1234)]
    rig.pool.finish("cpu-1", 0.1)
    rig.pool.finish("cpu-0", 0.7)
    rig.settle()
    assert rig.states() == [TrialState.RUNNING]  # rank 2 has its grace period
    rig.pool.finish("cpu-2", 0.2)
    rig.settle()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.trials()[0].value == 0.7


def test_one_process_holds_all_devices() -> None:
    rig = Rig(slots=2)
    rig.submit(run_cap=1, resources={"devices": 2, "processes": "one"})
    rig.submit(run_cap=1)
    assert rig.pool.busy() == ["cpu-0"] and rig.states(2) == [TrialState.WAITING]
    rig.pool.finish("cpu-0")
    rig.settle()
    assert rig.states(1) == [TrialState.FINISHED] and rig.states(2) == [TrialState.RUNNING]


def test_lost_connection_is_the_cause_only_if_no_rank_fails_otherwise() -> None:
    rig = Rig(slots=2)
    _gang(rig)
    rig.pool.fail("cpu-0", message=LOST)
    rig.settle()
    rig.pool.fail("cpu-1", Cause.SIGNAL, "the process was terminated by SIGKILL")
    rig.settle()
    ended = rig.trials()[0].attempts[1]
    assert ended is not None and (ended.cause, ended.message) == (
        Cause.SIGNAL,
        "rank 1: the process was terminated by SIGKILL",
    )


def test_ranks_that_are_left_are_killed_after_a_lost_connection() -> None:
    rig = Rig(slots=2)
    _gang(rig)
    rig.pool.fail("cpu-0", message=LOST)
    rig.settle()
    assert rig.pool.busy() == ["cpu-1"]
    _later(rig, LOST_WAIT_S)
    assert rig.pool["cpu-1"].stops == [Cause.CANCELLED]
    ended = rig.trials()[0].attempts[1]
    assert ended is not None and "Connection closed by peer" in ended.message


def test_failure_kills_the_other_ranks_at_once() -> None:
    rig = Rig(slots=3)
    _gang(rig, 3)
    rig.pool.fail("cpu-2", message="ZeroDivisionError: as planned")
    rig.settle()
    assert rig.pool["cpu-0"].stops == rig.pool["cpu-1"].stops == [Cause.CANCELLED]
    ended = rig.trials()[0].attempts[1]
    assert ended is not None and ended.message == "rank 2: ZeroDivisionError: as planned"


def test_failure_of_another_rank_after_rank_0_has_ended_is_a_remark() -> None:
    rig = Rig(slots=2)
    _gang(rig)
    rig.pool.finish("cpu-0", 0.5)
    rig.pool.fail("cpu-1", message="OSError: too late")
    rig.settle()
    ended = rig.trials()[0].attempts[1]
    assert ended is not None and ended.state is TrialState.FINISHED
    assert ended.message == "as played; rank 1 failed after rank 0 had ended: OSError: too late"


def test_ranks_that_outlive_rank_0_are_killed_after_the_grace_period() -> None:
    rig = Rig(slots=2)
    _gang(rig, limits={"grace_s": 5.0})
    rig.pool.finish("cpu-0", 0.5)
    rig.settle()
    assert rig.pool.busy() == ["cpu-1"]
    _later(rig, 5.0)
    assert rig.pool.busy() == [] and rig.states() == [TrialState.FINISHED]


def test_gang_stalls_when_all_ranks_are_idle() -> None:
    rig = Rig(slots=2)
    _gang(rig)
    for device_id, idle in (("cpu-1", True), ("cpu-1", False), ("cpu-0", True), ("cpu-0", False), ("cpu-1", True)):
        rig.pool.idle(device_id, idle=idle)
        rig.settle()
    assert rig.states() == [TrialState.RUNNING]
    rig.pool.idle("cpu-0")
    rig.settle()
    ended = rig.trials()[0].attempts[1]
    assert ended is not None and ended.cause is Cause.STALLED and "limits.stall_s (300 s)" in ended.message


def test_restarted_scheduler_holds_a_drained_device_of_a_gang() -> None:
    rig = Rig(slots=2)
    rig.submit(run_cap=1, resources={"devices": 2, "processes": "one"})
    rig.recorder.drained["cpu-1"] = "drained on request"
    rig.restart()
    rig.recorder.drained.clear()
    rig.submit(run_cap=1)
    assert rig.pool.busy() == ["cpu-0"] and rig.states(2) == [TrialState.WAITING]
    rig.pool.finish("cpu-0")
    rig.settle()
    assert rig.states(2) == [TrialState.RUNNING]


@pytest.mark.parametrize("lost", ["cpu-0", "cpu-1"])
def test_lost_slot_ends_the_gang_and_the_trial_is_repeated(lost: str) -> None:
    rig = Rig(slots=2)
    _gang(rig)
    rig.pool.lose(lost)
    rig.settle()
    trial = rig.trials()[0]
    assert (trial.attempt, trial.state) == (2, TrialState.RUNNING)
    ended = trial.attempts[1]
    assert ended is not None and ended.cause is Cause.INFRASTRUCTURE and "worker lost" in ended.message
    assert [folder.name.split("-")[0] for folder in rig.cleaned_up] == ["1"]


def test_stop_of_a_trial_stops_all_ranks() -> None:
    rig = Rig(slots=2)
    _gang(rig)
    rig.cancel(1)
    assert rig.pool["cpu-0"].stops == [Cause.CANCELLED] and rig.pool["cpu-1"].stops == [Cause.CANCELLED]
    rig.submit(run_cap=1)
    assert rig.states(2) == [TrialState.WAITING]  # both devices are still busy
    for device_id in ("cpu-0", "cpu-1"):
        rig.pool.end(device_id, TrialState.CANCELLED, cause=Cause.CANCELLED)
    rig.settle()
    assert rig.states(2) == [TrialState.RUNNING]


# Restarts of the scheduler.


def test_restarted_scheduler_adopts_running_gang() -> None:
    rig = Rig(slots=3)
    _gang(rig, 2)
    rig.restart()
    rig.submit(run_cap=2)
    assert rig.states(1) == [TrialState.RUNNING]
    assert rig.pool.busy() == ["cpu-0", "cpu-1", "cpu-2"]
    rig.pool.finish("cpu-1")
    rig.pool.finish("cpu-0", 0.75)
    rig.settle()
    assert (rig.trials(1)[0].attempt, rig.trials(1)[0].value) == (1, 0.75)


def test_restarted_scheduler_holds_devices_without_a_process() -> None:
    rig = Rig(slots=2)
    rig.submit(run_cap=1, resources={"devices": 2, "processes": "one"})
    rig.restart()
    rig.submit(run_cap=1)
    assert rig.states(2) == [TrialState.WAITING]
    rig.pool.finish("cpu-0")
    rig.settle()
    assert rig.states(1) == [TrialState.FINISHED] and rig.states(2) == [TrialState.RUNNING]


@pytest.mark.parametrize("ended", [["cpu-0"], ["cpu-1"], ["cpu-0", "cpu-1"]])
@pytest.mark.parametrize("settled", [True, False])
def test_ends_of_ranks_survive_a_restart(ended: list[str], *, settled: bool) -> None:
    rig = Rig(slots=2)
    _gang(rig)
    for device_id in ended:
        rig.pool.finish(device_id, 0.25 if device_id == "cpu-0" else 0.0)
    if settled and len(ended) < 2:
        rig.settle()
    rig.restart()
    for device_id in rig.pool.busy():
        rig.pool.finish(device_id, 0.25 if device_id == "cpu-0" else 0.0)
    rig.settle()
    assert (rig.trials()[0].attempt, rig.trials()[0].value) == (1, 0.25)


def test_failure_of_a_rank_survives_a_restart() -> None:
    rig = Rig(slots=2)
    _gang(rig)
    rig.pool.fail("cpu-1", message=LOST)
    rig.settle()
    rig.restart()
    _later(rig, 0.0)
    assert rig.pool["cpu-0"].stops == [Cause.CANCELLED] and rig.states()[0] is TrialState.FAILED


def test_gang_with_a_rank_lost_meanwhile_is_repeated() -> None:
    rig = Rig(slots=2)
    _gang(rig)
    rig.pool.slots["cpu-1"].running = None
    rig.restart()
    assert rig.trials()[0].attempt == 1 or rig.pool["cpu-0"].stops == [Cause.CANCELLED]
    rig.pool.end("cpu-0", TrialState.CANCELLED, cause=Cause.CANCELLED)
    rig.settle()
    assert (rig.trials()[0].attempt, rig.states()) == (2, [TrialState.RUNNING])


# Devices.


def test_gang_is_charged_for_all_its_devices() -> None:
    rig = Rig(slots=3)
    _gang(rig, 3)
    rig.clock.advance(10)
    for device_id in ("cpu-1", "cpu-2", "cpu-0"):
        rig.pool.finish(device_id)
    rig.settle()
    assert rig.sweep().device_s == pytest.approx(30.0)


def test_gang_on_one_node_does_not_combine_nodes() -> None:
    rig = Rig(nodes=["a", "a", "b"])
    _gang(rig, 3)
    assert rig.pool.busy() == []
    rig.clock.advance(10)
    _later(rig, 10)
    wait = rig.sweep().wait
    assert wait is not None and "it needs 3 devices of one node together, and there are at most 2" in wait.message
    rig.cancel(1)
    rig.submit(run_cap=1, resources={"devices": 3, "pack": "any"})
    rig.pool.open_store("cpu-0")
    rig.settle()
    gang = rig.pool["cpu-2"].running
    assert gang is not None and gang.gang is not None
    assert (gang.gang.rank, gang.gang.local_rank, gang.gang.node_rank, gang.gang.nodes) == (2, 0, 1, 2)


def test_retry_uses_fewer_devices_if_the_sweep_allows_it() -> None:
    rig = Rig(nodes=["a", "a", "a"])
    _gang(rig, resources={"devices": {"min": 2, "max": 3}}, retries={"user": 1})
    assert len(rig.pool.busy()) == 3
    rig.recorder.drained["cpu-2"] = "broken"
    rig.pool.fail("cpu-2", message="CUDA error: as played")
    rig.settle()
    rig.pool.open_store(rig.pool.busy()[0])
    rig.settle()
    assert sorted(rig.pool.busy()) == ["cpu-0", "cpu-1"]
    assert {slot.running.gang.size for slot in rig.pool.slots.values() if slot.running and slot.running.gang} == {2}


def test_idle_device_is_reserved_for_a_waiting_gang() -> None:
    rig = Rig(slots=2)
    rig.submit(run_cap=10, resources={"max_concurrent": 1})
    rig.submit(run_cap=1, resources={"devices": 2})
    assert rig.pool.busy() == ["cpu-0"]
    for _ in range(2):
        _later(rig, 2.0)
    assert "reserved for sweep 2, whose next trial needs 2 devices" in rig.recorder.devices["cpu-1"].reason
    rig.pool.finish("cpu-0")
    rig.settle()
    assert rig.states(2) == [TrialState.RUNNING]


def test_trial_with_a_time_limit_passes_a_reservation_that_it_cannot_delay() -> None:
    rig = Rig(slots=3)
    rig.submit(run_cap=1, limits={"trial_s": 100.0, "grace_s": 0.0})
    rig.submit(run_cap=1, resources={"devices": 3})
    rig.submit(run_cap=1)  # no limit: it might delay the gang
    rig.submit(run_cap=1, limits={"trial_s": 200.0, "grace_s": 0.0})
    rig.submit(run_cap=1, limits={"trial_s": 99.0, "grace_s": 0.0})
    assert [rig.states(sweep_id)[0] for sweep_id in (2, 3, 4, 5)] == [
        TrialState.WAITING,
        TrialState.WAITING,
        TrialState.WAITING,
        TrialState.RUNNING,
    ]


def test_trial_waits_for_the_end_of_its_old_ranks() -> None:
    rig = Rig(slots=4)
    _gang(rig)
    rig.pool.slots["cpu-1"] = FakeSlot(rig.pool["cpu-1"].device)  # its process dies while no scheduler runs
    rig.restart()
    _later(rig, 6.0)
    assert (rig.trials()[0].attempt, rig.states()) == (1, [TrialState.WAITING])
    assert rig.pool["cpu-0"].stops == [Cause.CANCELLED]
    wait = rig.sweep().wait
    assert wait is not None and wait.message == "the earlier attempt of its next trial is ending: cpu-0"
    rig.pool.end("cpu-0", TrialState.CANCELLED, cause=Cause.CANCELLED)
    rig.settle()
    assert (rig.trials()[0].attempt, rig.states()) == (2, [TrialState.RUNNING])


def test_killed_trial_frees_its_device_for_a_reservation_after_its_grace_period() -> None:
    rig = Rig(slots=2)
    rig.submit(run_cap=1, limits={"trial_s": 100.0, "grace_s": 7.0})
    rig.submit(run_cap=1, resources={"devices": 2})
    held = rig.scheduler.reservation
    assert held.reservation is not None and held.reservation.start_s == rig.clock.now_s + 107.0
    rig.cancel(1)
    assert held.reservation.start_s == rig.clock.now_s + 7.0


def test_trial_may_not_pass_a_gang_with_the_grace_periods_of_its_ranks() -> None:
    rig = Rig(slots=4)
    rig.submit(run_cap=1, limits={"trial_s": 20.0, "grace_s": 0.0})
    rig.submit(run_cap=1, resources={"devices": 4})
    rig.submit(run_cap=1, resources={"devices": 2}, limits={"trial_s": 10.0, "grace_s": 6.0})
    assert rig.states(3) == [TrialState.WAITING]  # its ranks may run for 22 s
    rig.submit(run_cap=1, resources={"devices": 2}, limits={"trial_s": 10.0, "grace_s": 5.0})
    assert rig.states(4) == [TrialState.RUNNING]
