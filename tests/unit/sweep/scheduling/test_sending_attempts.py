"""Attempts on nodes that have left their device, while their files are sent to the head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from podium.sweep.lifecycle.scheduler_inbox_messages import Stop
from podium.sweep.scheduling.read_pacing import TICK_S
from podium.sweep.scheduling.slot_watchdog import MARGIN_S, SENDING_S
from podium.sweep.spec.trial_limits import MAX_GRACE_S
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import SweepState, TrialRequest, TrialState
from tests.fakes import FakeElasticPool
from tests.rig import Rig

MakeRig = Callable[..., Rig]
RUNNING, FINISHED, CANCELLED = TrialState.RUNNING, TrialState.FINISHED, TrialState.CANCELLED


def release(rig: Rig, device_id: str = "cpu-0", *, after_s: float = 0.0) -> AttemptKey:
    rig.clock.advance(after_s)
    key = rig.pool.release(device_id)
    rig.settle()
    return key


def arrive(rig: Rig, device_id: str = "cpu-0", value: float = 0.5) -> None:
    rig.pool.end_sending(device_id, value=value)
    rig.settle()


def steer(rig: Rig, state: SweepState) -> None:
    rig.recorder.set_state(1, state)
    rig.settle()


def test_device_runs_the_next_trial_while_files_are_sent(rig: Rig) -> None:
    rig.submit(run_cap=2)
    release(rig)
    assert rig.states() == [RUNNING, RUNNING] and rig.pool.busy() == ["cpu-0"]
    arrive(rig, value=0.25)
    assert rig.states() == [FINISHED, RUNNING] and rig.trials()[0].value == 0.25
    release(rig)
    arrive(rig)
    rig.assert_ended(SweepState.FINISHED)
    assert rig.counted() == 2 and len(rig.pool.placed) == 2


def test_sending_attempts_count_against_run_cap(rig: Rig) -> None:
    rig.submit(run_cap=1)
    release(rig)
    assert rig.pool.busy() == [] and rig.sweep().state is SweepState.RUNNING
    arrive(rig)
    rig.assert_ended(SweepState.FINISHED)
    assert len(rig.pool.placed) == 1


def test_sending_attempts_count_against_max_concurrent(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=3, resources={"max_concurrent": 1})
    (busy,) = rig.pool.busy()
    release(rig, busy)
    assert rig.pool.busy() == []
    arrive(rig, busy)
    assert len(rig.pool.busy()) == 1


def test_device_time_ends_when_the_device_is_free(rig: Rig) -> None:
    """So does the share of a sweep: an attempt that sends holds nothing."""
    rig.submit(run_cap=1, budget={"device_s": 50})
    release(rig, after_s=30)
    rig.clock.advance(500)
    rig.settle()
    assert rig.sweep().state is SweepState.RUNNING, "the budget is not spent"
    arrive(rig)
    rig.assert_ended(SweepState.FINISHED)
    assert rig.sweep().device_s == 30


def test_device_time_is_charged_once_over_a_restart(rig: Rig) -> None:
    rig.submit(run_cap=2, budget={"device_s": 100})
    release(rig, after_s=60)
    rig.restart()
    rig.clock.advance(39)
    rig.settle()
    assert rig.sweep().state is SweepState.RUNNING
    arrive(rig)
    rig.clock.advance(1)
    rig.settle()
    assert rig.sweep().reason == "budget.device_s of 100 s is spent"
    release(rig)
    arrive(rig)
    assert rig.sweep().device_s == 100


def test_restarted_scheduler_adopts_both_attempts(rig: Rig) -> None:
    rig.submit(run_cap=2)
    release(rig)
    rig.restart()
    assert rig.states() == [RUNNING, RUNNING] and not rig.pool["cpu-0"].stops and not rig.pool["cpu-0"].cancelled
    arrive(rig)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert [trial.attempt for trial in rig.trials()] == [1, 1]


def test_release_during_scheduler_downtime_frees_the_device(rig: Rig) -> None:
    rig.submit(run_cap=2)
    rig.pool.release("cpu-0")
    rig.restart()
    assert rig.states() == [RUNNING, RUNNING] and rig.pool.busy() == ["cpu-0"]
    arrive(rig)
    assert rig.states() == [FINISHED, RUNNING]


def test_release_and_end_during_scheduler_downtime_count_once(rig: Rig) -> None:
    rig.submit(run_cap=1)
    rig.pool.release("cpu-0")
    rig.pool.end_sending("cpu-0", value=0.5)
    rig.restart()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.counted() == 1 and rig.trials()[0].attempt == 1


def test_stopped_trial_stops_its_transfer_and_not_the_next_trial(rig: Rig) -> None:
    rig.submit(run_cap=2)
    key = release(rig)
    rig.recorder.request(key.trial_id, TrialRequest.STOP)
    rig.settle()
    assert rig.pool["cpu-0"].cancelled == [key] and rig.pool["cpu-0"].stops == []
    rig.pool.end_sending("cpu-0", CANCELLED, cause=Cause.CANCELLED)
    rig.settle()
    assert rig.states()[:2] == [CANCELLED, RUNNING]


def test_cancelled_sweep_leaves_the_device_to_others(rig: Rig) -> None:
    rig.submit(run_cap=1)
    key = release(rig)
    rig.cancel(1)
    assert rig.states() == [CANCELLED] and rig.pool["cpu-0"].cancelled == [key]
    rig.submit(run_cap=1)
    assert rig.pool.busy() == ["cpu-0"], "it does not wait for the end of the transfer"
    rig.pool.end_sending("cpu-0", CANCELLED, cause=Cause.CANCELLED)
    rig.settle()
    assert rig.states(2) == [RUNNING]


def test_device_is_free_when_a_cancelled_attempt_has_just_left_it(rig: Rig) -> None:
    rig.submit(run_cap=1)
    rig.cancel(1)
    rig.submit(run_cap=1)
    assert rig.states(2) in ([], [TrialState.WAITING]), "its process holds the device"
    release(rig)
    assert rig.states(2) == [RUNNING]


def test_sweep_cancelled_during_scheduler_downtime_stops_its_transfers(rig: Rig) -> None:
    rig.submit(run_cap=1)
    key = release(rig)
    rig.recorder.cancel(1)
    rig.restart()
    assert rig.states() == [CANCELLED] and rig.pool["cpu-0"].cancelled == [key]
    rig.submit(run_cap=1)
    assert rig.states(2) == [RUNNING]


def test_paused_sweep_ends_when_the_files_have_arrived(rig: Rig) -> None:
    rig.submit(run_cap=1)
    release(rig)
    steer(rig, SweepState.PAUSED)
    arrive(rig)
    rig.assert_ended(SweepState.FINISHED)


def test_stopping_sweep_waits_for_the_files(rig: Rig) -> None:
    rig.submit(run_cap=9)
    release(rig)
    rig.pool.finish("cpu-0")
    steer(rig, SweepState.STOPPING)
    assert rig.sweep().state is SweepState.STOPPING and rig.pool.busy() == []
    arrive(rig)
    rig.assert_ended(SweepState.FINISHED)
    assert rig.counted() == 2


def test_both_attempts_are_lost_with_their_node_and_repeated(make_rig: MakeRig) -> None:
    rig = make_rig(2, nodes=["a", "b"])
    rig.submit(run_cap=3, retries={"infrastructure": 0, "user": 0})
    release(rig, "cpu-0")
    lost = {rig.pool["cpu-0"].key, AttemptKey(rig.pool["cpu-0"].sending.trial_id, 1)}  # type: ignore[union-attr]
    rig.pool.lose("cpu-0", Cause.NODE_LOST)
    rig.settle()
    ends = {AttemptKey(t.trial_id, n): end for t in rig.trials() for n, end in t.attempts.items() if end is not None}
    assert set(ends) == lost and {end.cause for end in ends.values()} == {Cause.NODE_LOST}
    rig.pool.finish("cpu-1")
    rig.settle()
    assert rig.pool.placed[-1][0] == "cpu-1" and rig.pool.placed[-1][1].attempt == 2, "on another node"
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.counted() == 3


def test_slot_lost_during_scheduler_downtime_repeats_both_attempts(rig: Rig) -> None:
    rig.submit(run_cap=2)
    release(rig)
    rig.pool.lose("cpu-0")
    rig.restart()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert [trial.attempt for trial in rig.trials()] == [2, 2]


def test_files_that_cannot_be_sent_fail_the_attempt_which_is_repeated(rig: Rig) -> None:
    rig.submit(run_cap=1)
    release(rig)
    rig.pool.end_sending("cpu-0", TrialState.FAILED, cause=Cause.INFRASTRUCTURE)
    rig.settle()
    assert rig.states() == [RUNNING] and rig.trials()[0].attempt == 2


def test_failed_transfers_do_not_drain_the_device(rig: Rig) -> None:
    """The device has nothing to do with them."""
    rig.submit(run_cap=1, retries={"infrastructure": 9})
    for _ in range(5):
        release(rig)
        rig.pool.end_sending("cpu-0", TrialState.FAILED, cause=Cause.INFRASTRUCTURE)
        rig.settle()
    assert rig.states() == [RUNNING] and rig.trials()[0].attempt == 6


def test_slot_may_end_a_dropped_attempt_after_the_files_of_an_earlier_one(rig: Rig) -> None:
    remote = rig.pool.slots["b:cpu-0"] = rig.pool.slots.pop("cpu-0")
    remote.device = replace(remote.device, device_id="b:cpu-0", node="b")
    rig.restart()
    rig.submit(run_cap=1)
    steer(rig, SweepState.CANCELLED)
    _pass(rig, MAX_GRACE_S + MARGIN_S + 2.0)
    assert rig.pool.killed == []
    _pass(rig, SENDING_S)
    assert rig.pool.killed == ["b:cpu-0"]


def _pass(rig: Rig, seconds: float) -> None:
    """The slot on the node answers, and reports nothing."""
    for _ in range(int(seconds / TICK_S)):
        rig.pool.stop_replying("b:cpu-0")
        rig.clock.advance(TICK_S)
        rig.settle()


def test_slot_that_does_not_end_a_transfer_is_killed(rig: Rig) -> None:
    rig.submit(run_cap=1)
    release(rig)
    for _ in range(int(SENDING_S + MARGIN_S) + 2):
        rig.pool.stop_replying("cpu-0")
        rig.clock.advance(TICK_S)
        rig.settle()
    assert rig.pool.killed == ["cpu-0"] and rig.trials()[0].attempt == 2


def test_stop_of_the_service_ends_both_attempts(rig: Rig) -> None:
    rig.submit(run_cap=2)
    key = release(rig)
    rig.scheduler.step([Stop()])
    assert rig.pool["cpu-0"].cancelled == [key] and rig.pool["cpu-0"].stops == [Cause.CANCELLED]
    rig.pool.end("cpu-0", CANCELLED, cause=Cause.CANCELLED)
    rig.pool.end_sending("cpu-0", value=0.5)  # they had just arrived
    rig.scheduler.run()
    assert rig.states() == [FINISHED, TrialState.WAITING]


def test_slot_that_sends_is_not_released() -> None:
    pool = FakeElasticPool()
    rig = Rig(1, elastic=pool, release_s=60.0)
    rig.submit(run_cap=1)
    release(rig)
    rig.clock.advance(120.0)
    rig.settle()
    assert pool.released == []
    arrive(rig)
    rig.clock.advance(59.0)
    rig.settle()
    assert pool.released == []
    rig.clock.advance(2.0)
    rig.settle()
    assert pool.released == ["cpu-0"]


def test_drained_device_finishes_its_transfer(rig: Rig) -> None:
    rig.submit(run_cap=2)
    release(rig)
    rig.recorder.drained["cpu-0"] = "drained on request"
    rig.settle()
    rig.pool.finish("cpu-0")
    arrive(rig)
    rig.assert_ended(SweepState.FINISHED)


def test_device_time_of_a_sending_attempt_is_kept_when_its_sweep_cannot_be_read(rig: Rig) -> None:
    rig.submit(run_cap=1)
    release(rig, after_s=30)
    rig.sweep().spec = rig.sweep().spec.model_copy(update={"name": ""})
    rig.restart()
    assert rig.sweep().state is SweepState.FAILED and rig.states() == [CANCELLED]
    assert rig.sweep().device_s == 30
