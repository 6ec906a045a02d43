"""Client commands on sweeps (pause, resume, stop, extend) and trials (stop, retry, clone), and wait reasons."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from podium.sweep.lifecycle.database_changes import Change, DeviceChanged
from podium.sweep.lifecycle.scheduler_inbox_messages import SearchFailed, SlotLost, TrialProposed
from podium.sweep.lifecycle.stored_sweeps import StoredSweep
from podium.sweep.scheduling.disk_space_gate import FULL_S
from podium.sweep.scheduling.live_trial import AVOID_S, MAX_INTERRUPTIONS
from podium.sweep.scheduling.read_pacing import TICK_S
from podium.sweep.scheduling.slot_watchdog import HEARTBEAT_TIMEOUT_S, MARGIN_S, REMOTE_TIMEOUT_S
from podium.sweep.scheduling.trial_placement import WAITS_S
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.errors import DatabaseError, FencedError
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.search_messages import TrialPlan
from podium.sweep.values.states import SweepState, TrialRequest, TrialState
from podium.sweep.values.sweep_wait_reason import Wait, WaitReason
from tests.rig import DATA, Rig
from tests.specs import spec

MakeRig = Callable[..., Rig]
WAITING, RUNNING, FINISHED = TrialState.WAITING, TrialState.RUNNING, TrialState.FINISHED
FAILED, CANCELLED = TrialState.FAILED, TrialState.CANCELLED


def steer(rig: Rig, state: SweepState, sweep_id: int = 1) -> None:
    """A client sets a state, and the scheduler reads it."""
    rig.recorder.set_state(sweep_id, state)
    rig.settle()


def ask(rig: Rig, trial_id: int, request: TrialRequest) -> None:
    """A client sends a request for a trial, and the scheduler reads it."""
    rig.recorder.request(trial_id, request)
    rig.settle()


def tick(rig: Rig, times: int = 1) -> None:
    """Advance the clock by one tick, and let the scheduler run."""
    for _ in range(times):
        rig.clock.advance(TICK_S)
        rig.settle()


# Sweeps.


def test_paused_sweep_starts_no_trial_and_running_ones_continue(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=6)
    steer(rig, SweepState.PAUSED)
    assert rig.pool["cpu-0"].stops == []
    rig.pool.finish("cpu-0")
    rig.settle()
    assert rig.pool.busy() == ["cpu-1"]
    assert rig.states()[0] is FINISHED
    rig.restart()
    assert rig.sweep().state is SweepState.PAUSED and rig.pool.busy() == ["cpu-1"]
    steer(rig, SweepState.RUNNING)
    assert rig.pool.busy() == ["cpu-0", "cpu-1"]
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)


def test_paused_sweep_finishes_when_its_last_trials_end(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=2)
    steer(rig, SweepState.PAUSED)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)


def test_stopped_sweep_finishes_its_trials_and_keeps_reason_over_restart(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=9)
    rig.recorder.set_state(1, SweepState.STOPPING, "stopped on request")
    rig.settle()
    assert len(rig.pool.busy()) == 2
    rig.restart()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.sweep().reason == "stopped on request"
    assert rig.states().count(FINISHED) == 2


def test_stopped_sweep_repeats_trial_that_lost_its_slot(rig: Rig) -> None:
    rig.submit(run_cap=9)
    steer(rig, SweepState.STOPPING)
    rig.pool.lose("cpu-0")
    rig.settle()
    assert rig.pool.placed[-1][1].attempt == 2
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.states()[0] is FINISHED


def test_stopped_sweep_without_started_trials_is_finished(rig: Rig) -> None:
    rig.recorder.accept(spec(), rig.clock.wall_s())
    rig.recorder.set_state(1, SweepState.STOPPING, "stopped on request")
    rig.settle()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.trials() == []


def test_extended_finished_sweep_continues_with_its_trials(rig: Rig) -> None:
    rig.submit(run_cap=2)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    rig.sweep().run_cap = 4
    steer(rig, SweepState.QUEUED)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert [trial.number for trial in rig.trials()] == [0, 1, 2, 3]
    assert rig.states() == [FINISHED] * 4


def test_sweep_extended_while_ending_continues(rig: Rig) -> None:
    rig.submit(run_cap=1)
    rig.pool.finish("cpu-0")
    rig.sweep().run_cap = 2
    rig.scheduler.step(rig.receive())
    rig.clock.advance(TICK_S)
    rig.finish_all()
    tick(rig)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.counted() == 2


def test_extended_running_sweep_runs_more_trials(rig: Rig) -> None:
    rig.submit(run_cap=2)
    rig.sweep().run_cap = 3
    rig.settle()
    rig.finish_all()
    assert rig.counted() == 3


def test_client_state_change_is_kept_when_scheduler_decides_simultaneously(rig: Rig) -> None:
    rig.submit(run_cap=1)
    rig.pool.finish("cpu-0")
    rig.recorder.set_state(1, SweepState.PAUSED)
    rig.scheduler.step(rig.receive())
    assert rig.sweep().state in (SweepState.PAUSED, SweepState.FINISHED)
    rig.settle()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.counted() == 1


def test_higher_priority_gets_larger_share_of_devices(make_rig: MakeRig) -> None:
    rig = make_rig(4)
    rig.submit(run_cap=1000, priority=1)
    rig.submit(run_cap=1000, priority=3)
    for turn in range(400):
        rig.clock.advance(0.25)
        rig.pool.finish(rig.pool.busy()[turn % 4])
        rig.settle()
    done = [rig.counted(1), rig.counted(2)]
    assert 0.70 <= done[1] / sum(done) <= 0.80


# Trials.


def test_stopped_trial_is_cancelled_and_not_repeated(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=4, retries={"infrastructure": 3})
    ask(rig, 1, TrialRequest.STOP)
    tick(rig, 3)
    assert rig.pool["cpu-0"].stops == [Cause.CANCELLED]
    rig.pool.end("cpu-0", CANCELLED, cause=Cause.CANCELLED)
    rig.settle()
    assert rig.states()[0] is CANCELLED
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.counted() == 4


def test_stopped_waiting_trial_never_starts(rig: Rig) -> None:
    rig.submit(run_cap=4)
    waiting = next(trial for trial in rig.trials() if trial.state is WAITING)
    ask(rig, waiting.trial_id, TrialRequest.STOP)
    assert waiting.trial_id not in {key.trial_id for _, key in rig.pool.placed}
    rig.finish_all()
    assert rig.recorder.trials[waiting.trial_id].state is CANCELLED
    assert rig.counted() == 4


def test_trial_stopped_during_scheduler_downtime_is_stopped_after_restart(rig: Rig) -> None:
    rig.submit(run_cap=2)
    rig.recorder.request(1, TrialRequest.STOP)
    rig.restart()
    assert rig.pool["cpu-0"].stops == [Cause.CANCELLED]
    rig.pool.end("cpu-0", CANCELLED, cause=Cause.CANCELLED)
    rig.settle()
    rig.finish_all()
    assert rig.states()[0] is CANCELLED and rig.counted() == 2


def test_late_stop_of_finished_trial_changes_nothing(rig: Rig) -> None:
    rig.submit(run_cap=2)
    rig.pool.finish("cpu-0")
    rig.recorder.request(1, TrialRequest.STOP)
    rig.settle()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.states() == [FINISHED] * 2
    assert all(trial.requested is None for trial in rig.trials())


@pytest.mark.parametrize("restarted", [False, True])
def test_retried_trial_runs_again_with_same_number_and_values(rig: Rig, restarted: bool) -> None:
    rig.submit(run_cap=2)
    params = rig.trials()[0].params
    rig.pool.fail("cpu-0")
    rig.settle()
    rig.recorder.request(1, TrialRequest.RETRY)
    if restarted:
        rig.restart()
    rig.settle()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    trial = rig.trials()[0]
    assert (trial.state, trial.attempt, trial.params) == (FINISHED, 2, params)


def test_retried_trial_starts_with_no_counted_failures(rig: Rig) -> None:
    rig.submit(run_cap=2, retries={"infrastructure": 0})
    rig.pool.fail("cpu-0", Cause.USER_ERROR)
    rig.settle()
    ask(rig, 1, TrialRequest.RETRY)
    assert rig.recorder.trials[1].forgiven == 1
    rig.finish_all()
    assert rig.states()[:2] == [FINISHED, FINISHED]


@pytest.mark.parametrize("over", [SweepState.FINISHED, SweepState.FAILED])
def test_retry_in_terminal_sweep_continues_it(rig: Rig, over: SweepState) -> None:
    rig.submit(run_cap=2, retries={"max_consecutive_failures": 2})
    rig.pool.fail("cpu-0")
    rig.settle()
    if over is SweepState.FAILED:
        rig.pool.fail("cpu-0")
        rig.settle()
    rig.finish_all()
    rig.assert_ended(over)
    rig.sweep().run_cap = 3
    ask(rig, 1, TrialRequest.RETRY)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.states()[0] is FINISHED


@pytest.mark.parametrize("method", ["random", "grid"])
def test_clone_has_given_values_and_search_continues(rig: Rig, method: str) -> None:
    rig.submit(run_cap=5, method=method, parameters={"x": {"values": [1, 2, 3, 4]}})
    rig.recorder.enqueue(1, {"x": 3})
    rig.settle()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    clones = [trial for trial in rig.trials() if trial.sampler == "clone"]
    assert [trial.params for trial in clones] == [{"x": 3}]
    others = [trial.params["x"] for trial in rig.trials() if trial.sampler != "clone" and trial.state is FINISHED]
    assert len(others) == 4
    if method == "grid":
        assert sorted(map(str, others)) == ["1", "2", "3", "4"]


def test_clone_is_planned_once_over_restarts(rig: Rig) -> None:
    rig.submit(run_cap=4)
    rig.recorder.enqueue(1, {"x": 0.125})
    rig.recorder.full = True
    rig.settle()
    rig.restart()
    rig.recorder.full = False
    tick(rig, 3)
    rig.finish_all()
    assert [trial.params for trial in rig.trials() if trial.sampler == "clone"] == [{"x": 0.125}]


# Devices.


def test_device_is_drained_after_three_consecutive_failures_until_returned(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=20)
    for _ in range(3):
        rig.pool.fail("cpu-1", Cause.INFRASTRUCTURE)
        rig.settle()
    assert "3 consecutive trials failed here" in rig.recorder.drained["cpu-1"]
    assert rig.recorder.devices["cpu-1"].state == "drained"
    assert rig.pool.busy() == ["cpu-0"]
    rig.restart()
    assert rig.pool.busy() == ["cpu-0"]
    rig.recorder.drained.clear()
    rig.settle()
    assert rig.pool.busy() == ["cpu-0", "cpu-1"]
    rig.pool.fail("cpu-1", Cause.INFRASTRUCTURE)
    rig.settle()
    assert rig.recorder.drained == {}, "it starts with no counted failures"


def test_trial_failures_are_not_counted_against_device(rig: Rig) -> None:
    rig.submit(run_cap=20, retries={"max_consecutive_failures": 100})
    infrastructure = Cause.INFRASTRUCTURE
    for cause in (
        infrastructure,
        infrastructure,
        Cause.USER_ERROR,
        infrastructure,
        Cause.SIGNAL,
        *[Cause.START_TIMEOUT] * 5,
    ):
        rig.pool.fail("cpu-0", cause)
        rig.settle()
    assert rig.recorder.drained == {}


def test_one_repeatedly_failing_trial_does_not_set_device_aside(rig: Rig) -> None:
    rig.submit(run_cap=20, retries={"infrastructure": 10})
    for _ in range(5):
        rig.pool.fail("cpu-0", Cause.INFRASTRUCTURE)
        rig.settle()
    assert rig.recorder.drained == {}


def test_memory_failures_have_own_retries_and_mark_values_infeasible(rig: Rig) -> None:
    rig.submit(run_cap=3, retries={"memory": 1, "user": 0, "infrastructure": 0})
    rig.pool.fail("cpu-0", Cause.DEVICE_MEMORY)
    rig.settle()
    assert rig.states()[0] is RUNNING
    rig.pool.fail("cpu-0", Cause.HOST_MEMORY)
    rig.settle()
    assert rig.states()[0] is FAILED
    assert rig.search().past_trial(0).infeasible
    rig.restart()
    assert rig.search().past_trial(0).infeasible


def test_unresponsive_slot_is_ended_and_its_trial_repeated(rig: Rig) -> None:
    rig.submit(run_cap=2)
    rig.pool.start("cpu-0")
    rig.settle()
    tick(rig, int(HEARTBEAT_TIMEOUT_S / TICK_S) + 2)
    assert rig.pool.killed == ["cpu-0"]
    assert rig.pool.placed[-1][1].attempt == 2


def test_replaced_scheduler_kills_no_slot(rig: Rig) -> None:
    """A slot that another scheduler has opened does not answer this one, which was suspended, or cut off."""
    rig.submit(run_cap=2)
    rig.pool.start("cpu-0")
    rig.settle()
    rig.recorder.unreachable = True
    tick(rig, int(HEARTBEAT_TIMEOUT_S / TICK_S) + 2)
    assert rig.pool.killed == []
    rig.recorder.unreachable, rig.recorder.fenced = False, True
    with pytest.raises(FencedError):
        tick(rig, 2 * int(HEARTBEAT_TIMEOUT_S / TICK_S))
    assert rig.pool.killed == []


def test_attempt_beyond_its_time_limit_ends_with_its_slot(rig: Rig) -> None:
    rig.submit(run_cap=2, limits={"trial_s": 5.0, "grace_s": 1.0})
    for _ in range(int(5 + 1 + MARGIN_S) + 2):
        rig.pool.stop_replying("cpu-0")
        tick(rig)
    assert rig.pool.killed == ["cpu-0"]


def test_attempt_on_another_machine_may_wait_for_its_files_beyond_its_time_limit(make_rig: MakeRig) -> None:
    """Its slot enforces the limit, and answers."""
    rig = _with_a_remote_slot(make_rig, "cpu-0")
    rig.submit(run_cap=1, limits={"trial_s": 5.0, "grace_s": 1.0})
    for _ in range(int(5 + 1 + MARGIN_S) + 10):
        rig.pool.start("b:cpu-0")
        rig.settle()
        tick(rig)
    assert rig.pool.killed == []


def test_device_of_another_machine_is_drained_when_its_disk_is_full(make_rig: MakeRig) -> None:
    rig = _with_a_remote_slot(make_rig, "cpu-0")
    rig.submit(run_cap=5, retries={"infrastructure": 0})
    for _ in range(3):
        rig.pool.fail("b:cpu-0", Cause.DISK_FULL, "no space left on the disk of this node")
        rig.settle()
    assert "no space left" in rig.recorder.drained["b:cpu-0"]


def test_slot_lost_with_its_node_has_cause_node_lost(rig: Rig) -> None:
    rig.submit(run_cap=2)
    rig.inbox.put(SlotLost("cpu-0", "its node has died", Cause.NODE_LOST))
    rig.settle()
    end = rig.trials()[0].attempts[1]
    assert end is not None and end.cause is Cause.NODE_LOST


def _with_a_remote_slot(make_rig: MakeRig, device_id: str, *, slots: int = 1) -> Rig:
    """One of the slots is on the node `b`."""
    rig = make_rig(slots)
    remote = rig.pool.slots["b:cpu-0"] = rig.pool.slots.pop(device_id)
    remote.device = replace(remote.device, device_id="b:cpu-0", node="b")
    rig.restart()
    return rig


def test_slot_of_another_machine_is_lost_after_a_shorter_silence(make_rig: MakeRig) -> None:
    rig = _with_a_remote_slot(make_rig, "cpu-1", slots=2)
    rig.submit(run_cap=2)
    for device_id in rig.pool.slots:
        rig.pool.start(device_id)
    rig.settle()
    tick(rig, int(REMOTE_TIMEOUT_S / TICK_S) + 2)
    assert rig.pool.killed == ["b:cpu-0"]


def test_slot_of_another_machine_may_take_as_long_as_a_local_one_to_start_an_attempt(make_rig: MakeRig) -> None:
    """It answers when its fork server has imported the packages of `program.preload`."""
    rig = _with_a_remote_slot(make_rig, "cpu-0")
    rig.pool.stop_replying("b:cpu-0")
    rig.submit(run_cap=1)
    tick(rig, int(REMOTE_TIMEOUT_S / TICK_S) + 2)
    assert rig.pool.killed == []
    tick(rig, int(HEARTBEAT_TIMEOUT_S / TICK_S))
    assert rig.pool.killed == ["b:cpu-0"]


def test_adopted_and_resent_attempts_keep_their_folders_after_a_restart(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=1)
    adopted = rig.scheduler.folders_in_use()
    rig.pool.drops_calls = True
    rig.submit(run_cap=1)
    rig.pool.drops_calls = False
    both = rig.scheduler.folders_in_use()
    assert len(both) == 2 and both > adopted
    rig.restart()
    assert rig.scheduler.folders_in_use() == both
    started = [slot.running.directory for slot in rig.pool.slots.values() if slot.running is not None]
    assert {DATA.root / directory for directory in started} == both


def test_attempt_placed_after_a_restored_backup_gets_another_folder(rig: Rig) -> None:
    rig.submit(run_cap=1)
    backup = copy.deepcopy(rig.recorder)
    rig.pool.lose("cpu-0")
    rig.settle()
    before = rig.pool["cpu-0"].running
    rig.recorder, rig.pool["cpu-0"].running = backup, None
    rig.restart()
    after = rig.pool["cpu-0"].running
    assert before is not None and after is not None
    assert before.key == after.key == AttemptKey(1, 2) and before.directory != after.directory


@pytest.mark.parametrize("has_ended", [False, True])
def test_slot_with_an_attempt_from_before_a_restored_backup_is_replaced(rig: Rig, has_ended: bool) -> None:
    rig.submit(run_cap=1)
    backup = copy.deepcopy(rig.recorder)
    rig.pool.lose("cpu-0")
    rig.settle()
    outlived = copy.deepcopy(rig.pool["cpu-0"])
    rig.recorder, rig.pool["cpu-0"].running = backup, None
    rig.pool["cpu-0"].folders.clear()  # of another slot, which has run nothing
    rig.restart()
    assert outlived.key == rig.pool["cpu-0"].key == AttemptKey(1, 2)
    rig.pool.slots["cpu-0"] = outlived
    if has_ended:
        rig.pool.finish("cpu-0", 0.1)
    rig.restart()
    assert rig.pool.killed == ["cpu-0"] and rig.trials()[0].value is None
    rig.finish_all(0.7)
    assert rig.trials()[0].value == 0.7


@pytest.mark.parametrize("has_ended", [False, True])
def test_slot_with_a_number_that_a_restored_database_has_not_assigned_is_replaced(
    make_rig: MakeRig, has_ended: bool
) -> None:
    """The number is assigned again, to an attempt on another device, which must not end with that of the old slot."""
    rig = make_rig(2)
    rig.submit(run_cap=1)
    backup = copy.deepcopy(rig.recorder)
    (first,) = rig.pool.busy()
    rig.pool.lose(first)
    rig.settle()
    (second,) = rig.pool.busy()
    assert second != first and rig.pool[second].key == AttemptKey(1, 2)
    if has_ended:
        rig.pool.finish(second, 0.1)
    rig.recorder = backup
    rig.restart()
    assert rig.pool.killed == [second]
    assert rig.trials()[0].state is TrialState.RUNNING and rig.trials()[0].value is None
    rig.finish_all(0.7)
    assert rig.trials()[0].value == 0.7


def test_event_of_a_slot_that_does_not_run_the_attempt_is_ignored(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=1)
    (busy,) = rig.pool.busy()
    (other,) = {"cpu-0", "cpu-1"} - {busy}
    rig.pool.slots[other].running = rig.pool[busy].running
    rig.pool.finish(other, 0.1)
    rig.settle()
    assert rig.trials()[0].state is TrialState.RUNNING
    rig.pool.finish(busy, 0.7)
    rig.settle()
    assert rig.trials()[0].value == 0.7


def test_attempt_on_another_machine_is_never_sent_again_after_a_restart(make_rig: MakeRig) -> None:
    """Whether it has started cannot be seen in the files of this machine."""
    rig = make_rig(1)
    remote = rig.pool.slots["b:cpu-0"] = rig.pool.slots.pop("cpu-0")
    remote.device = replace(remote.device, device_id="b:cpu-0", node="b")
    rig.restart()
    rig.pool.drops_calls = True
    rig.submit(run_cap=1)
    rig.pool.drops_calls = False
    rig.restart()
    assert rig.pool.placed == [("b:cpu-0", AttemptKey(1, 2))]


def test_lost_node_uses_a_budget_of_its_own_and_blames_no_device(rig: Rig) -> None:
    rig.submit(run_cap=1, retries={"infrastructure": 0, "node_lost": 4})
    for _ in range(4):
        rig.pool.lose("cpu-0", Cause.NODE_LOST)
        rig.settle()
    assert rig.trials()[0].state is TrialState.RUNNING
    assert rig.recorder.devices["cpu-0"].state == "ready"
    rig.pool.lose("cpu-0", Cause.NODE_LOST)
    rig.settle()
    assert rig.trials()[0].state is TrialState.FAILED
    assert [end.cause for end in rig.trials()[0].attempts.values() if end] == [Cause.NODE_LOST] * 5


def test_lost_node_does_not_clear_the_failures_of_a_device(rig: Rig) -> None:
    rig.submit(run_cap=9, retries={"infrastructure": 0, "node_lost": 0})
    for cause in (Cause.INFRASTRUCTURE, Cause.INFRASTRUCTURE, Cause.NODE_LOST, Cause.INFRASTRUCTURE):
        rig.pool.fail("cpu-0", cause)
        rig.settle()
    assert rig.recorder.devices["cpu-0"].state == "drained"


def test_trial_whose_node_was_lost_waits_for_another_node_for_limited_time(make_rig: MakeRig) -> None:
    rig = make_rig(3, nodes=["a", "a", "b"])
    rig.submit(run_cap=3)
    rig.pool.lose("cpu-0", Cause.NODE_LOST)
    rig.settle()
    assert rig.pool.busy() == ["cpu-1", "cpu-2"], "the other device of its node is free, too"
    rig.pool.finish("cpu-1")
    rig.settle()
    assert rig.pool.busy() == ["cpu-2"]
    rig.pool.finish("cpu-2")
    rig.settle()
    assert rig.pool.placed[-1] == ("cpu-2", AttemptKey(1, 2))


def test_trial_whose_node_was_lost_runs_there_again_if_it_is_the_only_one(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=2)
    rig.pool.lose("cpu-1", Cause.NODE_LOST)
    rig.pool.finish("cpu-0")
    rig.settle()
    assert rig.pool.placed[-1] == ("cpu-0", AttemptKey(2, 2))


def test_repeated_trial_waits_for_another_device_for_limited_time(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=2)
    rig.pool.fail("cpu-1", Cause.START_TIMEOUT)
    rig.settle()
    assert rig.pool.busy() == ["cpu-0"]
    for _ in range(int(AVOID_S / TICK_S)):
        rig.pool.stop_replying("cpu-0")
        rig.pool.stop_replying("cpu-1")
        tick(rig)
    assert rig.pool.busy() == ["cpu-0", "cpu-1"]


# Wait reasons.


def wait(rig: Rig, sweep_id: int = 1) -> Wait | None:
    tick(rig, 2)
    return rig.sweep(sweep_id).wait


def idle(rig: Rig, device_id: str) -> str:
    tick(rig, 2)
    return rig.recorder.devices[device_id].reason


def test_waiting_sweep_reports_reason(rig: Rig) -> None:
    rig.submit(run_cap=4, resources={"device": "gpu"})
    assert wait(rig) == Wait(WaitReason.NO_MATCHING_DEVICE, "it requires a gpu, and there is none")
    rig.submit(run_cap=4)
    assert wait(rig, 2) is None
    rig.submit(run_cap=4)
    assert wait(rig, 3) == Wait(WaitReason.DEVICES_BUSY, "every device is busy: sweep 2 runs")
    rig.recorder.drained["cpu-0"] = "drained on request"
    rig.settle()
    rig.pool.finish("cpu-0")
    rig.settle()
    closed = "no device is available for trials: cpu-0 is drained (drained on request)"
    assert wait(rig, 3) == Wait(WaitReason.DEVICES_CLOSED, closed)
    assert rig.sweep(3).reason == ""


def test_an_open_sweep_keeps_no_reason_of_an_earlier_state(rig: Rig) -> None:
    rig.submit(run_cap=4, resources={"device": "gpu"})
    steer(rig, SweepState.PAUSED)
    assert wait(rig) is None and rig.sweep().reason
    steer(rig, SweepState.QUEUED)
    assert wait(rig) == Wait(WaitReason.NO_MATCHING_DEVICE, "it requires a gpu, and there is none")
    assert rig.sweep().reason == ""


def test_stopping_sweep_reports_what_its_last_trials_wait_for(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=4)
    rig.recorder.drained |= {"cpu-0": "it is hot", "cpu-1": "it is loud"}
    steer(rig, SweepState.STOPPING)
    own = rig.sweep().reason
    rig.pool.finish("cpu-1")
    rig.pool.lose("cpu-0")
    rig.settle()
    rig.clock.advance(WAITS_S)
    left = "no device is available for trials: cpu-0 is drained (it is hot); cpu-1 is drained (it is loud)"
    assert wait(rig) == Wait(WaitReason.DEVICES_CLOSED, left)
    assert rig.sweep().reason == own
    del rig.recorder.drained["cpu-1"]
    tick(rig)
    assert rig.pool.busy() == ["cpu-1"]
    assert (rig.sweep().reason, rig.sweep().wait) == (own, None)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.sweep().reason == own


def test_idle_device_reports_reason(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    assert idle(rig, "cpu-0") == "no sweep is running"
    rig.submit(run_cap=9, resources={"max_concurrent": 1})
    assert idle(rig, "cpu-1") == "sweep 1 runs max_concurrent trials (1)"
    assert idle(rig, "cpu-0") == ""
    steer(rig, SweepState.PAUSED)
    assert idle(rig, "cpu-1") == "sweep 1 is paused"


def test_idle_reason_is_cleared_when_device_gets_a_trial(rig: Rig) -> None:
    assert idle(rig, "cpu-0") == "no sweep is running"
    rig.submit(run_cap=4)
    assert rig.recorder.devices["cpu-0"].reason == "", (
        "not cleared at once: a short trial would have ended by the next tick"
    )


def test_device_waiting_for_stopped_trial_reports_reason(rig: Rig) -> None:
    rig.submit(run_cap=4)
    rig.cancel(1)
    assert idle(rig, "cpu-0") == "a stopped trial is ending"
    rig.pool.end("cpu-0", TrialState.CANCELLED)
    rig.settle()
    assert idle(rig, "cpu-0") == "no sweep is running"


def test_idle_reason_is_rejected_writes_while_database_rejects_them(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.recorder.full = True
    rig.tick()
    rig.submit(run_cap=1)
    rejected_at = rig.clock.wall_s()
    rig.clock.advance(30)
    rig.recorder.full = False
    written: list[Change] = []
    commit = rig.recorder.commit

    def note(changes: Sequence[Change]) -> None:
        written.extend(changes)
        commit(changes)

    monkeypatch.setattr(rig.recorder, "commit", note)
    rig.settle()
    devices = [change for change in written if isinstance(change, DeviceChanged)]
    first = next(change for change in devices if change.reason.startswith("the database rejected writes: "))
    assert first.at == rejected_at
    assert devices[-1].reason == ""


def test_no_trial_starts_and_reason_is_reported_when_disk_is_full(rig: Rig) -> None:
    full = "the disk has 3 MB left"
    rig.disk_shortage = full
    rig.settle()
    rig.submit(run_cap=2)
    assert rig.pool.busy() == []
    assert (wait(rig), idle(rig, "cpu-0")) == (Wait(WaitReason.DISK_FULL, full), full)
    rig.disk_shortage = ""
    rig.settle()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)


def test_fenced_scheduler_ends(rig: Rig) -> None:
    rig.submit(run_cap=2)
    rig.recorder.fenced = True
    rig.pool.finish("cpu-0")
    with pytest.raises(FencedError):
        rig.settle()
    assert rig.states()[0] is RUNNING


# Unavailable scheduler or database.


def test_retry_between_two_reads_of_one_tick_is_not_lost(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.submit(run_cap=1, retries={"max_consecutive_failures": 1})
    rig.pool.fail("cpu-0")
    rig.settle()
    rig.assert_ended(SweepState.FAILED)
    found = rig.recorder.open_sweeps

    def read_before_client_writes(known: frozenset[int]) -> list[StoredSweep]:
        before = found(known)
        rig.recorder.set_state(1, SweepState.QUEUED)
        rig.recorder.request(1, TrialRequest.RETRY)
        return before

    with monkeypatch.context() as patch:
        patch.setattr(rig.recorder, "open_sweeps", read_before_client_writes)
        rig.clock.advance(TICK_S)
        rig.scheduler.step([])
    tick(rig)
    assert [key.trial_id for _, key in rig.pool.placed] == [1, 1]


def test_scheduler_that_cannot_read_at_start_does_nothing(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.submit(run_cap=4)

    def locked(known: frozenset[int]) -> list[StoredSweep]:
        raise DatabaseError("locked (simulated)")

    with monkeypatch.context() as patch:
        patch.setattr(rig.recorder, "open_sweeps", locked)
        rig.pool.finish("cpu-0")
        with pytest.raises(DatabaseError):
            rig.restart()
    rig.restart()
    assert rig.states()[0] is FINISHED


def test_unreadable_sweep_fails_and_others_continue(rig: Rig) -> None:
    rig.submit(run_cap=2)
    rig.sweep().spec = spec(name="x").model_copy(update={"name": ""})
    rig.submit(run_cap=2)
    rig.restart()
    rig.assert_ended(SweepState.FAILED)
    assert "the stored sweep cannot be read" in rig.sweep().reason
    for device_id in rig.pool.busy():
        rig.pool.end(device_id, CANCELLED, cause=Cause.CANCELLED)
    rig.settle()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED, 2)


def test_frozen_scheduler_handles_pending_events_before_killing_slots(rig: Rig) -> None:
    rig.submit(run_cap=2)
    rig.pool.stop_replying("cpu-0")
    rig.settle()
    rig.pool.stop_replying("cpu-0")
    rig.clock.advance(10 * HEARTBEAT_TIMEOUT_S)
    rig.scheduler.step([])
    tick(rig, 3)
    assert rig.pool.killed == []


def test_attempt_clock_starts_when_slot_receives_command(rig: Rig) -> None:
    rig.submit(run_cap=3, limits={"trial_s": 60})
    rig.recorder.full = True
    rig.pool.finish("cpu-0")
    for _ in range(200):
        rig.pool.stop_replying("cpu-0")
        tick(rig)
    assert rig.pool.busy() == []
    rig.recorder.full = False
    for _ in range(20):
        rig.pool.stop_replying("cpu-0")
        tick(rig)
    assert rig.pool.busy() == ["cpu-0"] and rig.pool.killed == []


def test_stopped_trial_is_cancelled_when_its_slot_dies(rig: Rig) -> None:
    rig.submit(run_cap=3)
    ask(rig, 1, TrialRequest.STOP)
    rig.pool.lose("cpu-0")
    rig.settle()
    assert rig.states()[0] is CANCELLED
    end = rig.trials()[0].attempts[1]
    assert end is not None and end.cause is Cause.INFRASTRUCTURE


def test_value_rejected_by_search_does_not_end_scheduler(rig: Rig) -> None:
    rig.submit(run_cap=3, parameters={"x": {"min": 0.0, "max": 1.0, "step": 0.25}})
    rig.trials()[0].params["x"] = 0.3
    rig.restart()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)


def test_messages_of_closed_search_are_ignored_by_its_successor(rig: Rig) -> None:
    rig.submit(run_cap=2, retries={"max_consecutive_failures": 1})
    late = TrialProposed(
        1, TrialPlan(1, {"x": 0.5}, "random", {}), 0.0, search_generation=rig.searchers.opened[1].search_generation
    )
    rig.pool.fail("cpu-0")
    rig.settle()
    rig.assert_ended(SweepState.FAILED)
    steer(rig, SweepState.QUEUED)
    planned = len(rig.trials())
    rig.scheduler.step([late, SearchFailed(1, "late", search_generation=late.search_generation)])
    assert len(rig.trials()) == planned
    assert len(rig.trials()) == len(rig.search()), "a late answer was counted as that of a pending ask"
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)


def test_infeasible_values_are_kept_when_failed_sweep_continues(rig: Rig) -> None:
    rig.submit(run_cap=2, retries={"memory": 0, "max_consecutive_failures": 1})
    rig.pool.fail("cpu-0", Cause.DEVICE_MEMORY)
    rig.settle()
    rig.assert_ended(SweepState.FAILED)
    steer(rig, SweepState.QUEUED)
    assert rig.search().past_trial(0).infeasible


def test_retried_trial_is_in_study_once(rig: Rig) -> None:
    rig.submit(run_cap=3, retries={"memory": 0})
    rig.pool.fail("cpu-0", Cause.DEVICE_MEMORY)
    rig.settle()
    ask(rig, 1, TrialRequest.RETRY)
    search = rig.search()
    assert len(search) == len(rig.trials())
    assert not search.past_trial(0).infeasible
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)


def test_service_stop_is_not_a_failure_up_to_limit(rig: Rig) -> None:
    rig.submit(run_cap=1, retries={"infrastructure": 0})
    for _ in range(MAX_INTERRUPTIONS):
        rig.pool.lose("cpu-0")
        rig.restart()
        assert rig.states()[0] is RUNNING
    rig.pool.lose("cpu-0")
    rig.restart()
    assert rig.states()[0] is FAILED


def test_stopped_sweep_does_not_start_trial_waiting_for_retry(rig: Rig) -> None:
    rig.submit(run_cap=4)
    rig.pool.fail("cpu-0")
    rig.settle()
    ask(rig, 1, TrialRequest.RETRY)
    steer(rig, SweepState.STOPPING)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.states()[0] is CANCELLED


def test_clones_run_in_order_before_proposed_trials(rig: Rig) -> None:
    rig.submit(run_cap=6)
    for x in (0.1, 0.2, 0.3):
        rig.recorder.enqueue(1, {"x": x})
    rig.settle()
    rig.finish_all()
    ran = [rig.recorder.trials[key.trial_id] for _, key in rig.pool.placed]
    assert [trial.params["x"] for trial in ran if trial.sampler == "clone"] == [0.1, 0.2, 0.3]


def test_full_data_disk_fails_no_trial_or_device_and_delays_placement(rig: Rig) -> None:
    rig.submit(run_cap=3, retries={"infrastructure": 0})
    for round_ in range(5):
        rig.pool.end("cpu-0", CANCELLED, cause=Cause.DISK_FULL)
        rig.settle()
        assert rig.pool.busy() == [] and rig.recorder.drained == {}
        if round_ == 3:
            rig.restart()  # the count of interruptions starts again
        tick(rig, int(FULL_S) + 1)
        assert rig.pool.busy() == ["cpu-0"]
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert FAILED not in rig.states()


def test_trial_fails_when_full_data_disk_interrupts_it_repeatedly(rig: Rig) -> None:
    rig.submit(run_cap=1, retries={"infrastructure": 0})
    for _ in range(MAX_INTERRUPTIONS + 1):
        rig.pool.end("cpu-0", CANCELLED, cause=Cause.DISK_FULL)
        tick(rig, int(FULL_S) + 1)
    last = rig.trials()[0].attempts[MAX_INTERRUPTIONS + 1]
    assert last is not None and (last.state, last.cause) == (FAILED, Cause.DISK_FULL)
    assert rig.states()[0] is FAILED


def test_full_trial_file_system_counts_as_failure_and_stops_no_other_sweep(rig: Rig) -> None:
    rig.submit(run_cap=1, retries={"infrastructure": 2, "max_consecutive_failures": 1})
    rig.pool.fail("cpu-0", Cause.DISK_FULL, "no space left on the file system of /dev/shm")
    rig.submit(run_cap=50)
    for _ in range(30):
        tick(rig, 1)
        (device,) = rig.pool.busy()
        running = rig.pool[device].running
        assert running is not None
        if running.sweep_id == 1:
            rig.pool.fail(device, Cause.DISK_FULL, "no space left on the file system of /dev/shm")
        else:
            rig.pool.finish(device)
        rig.settle()
        assert rig.pool.busy(), "placement stopped"
    assert rig.recorder.drained == {}
    assert rig.states(1) == [FAILED]
    assert len(rig.trials(1)[0].attempts) == 3
    assert "/dev/shm" in rig.sweep(1).reason
    assert rig.counted(2) > 20


def test_full_trial_file_system_pauses_placement_when_data_disk_is_short(rig: Rig) -> None:
    rig.submit(run_cap=2)
    rig.disk_shortage = "the disk has 3 MB left"
    rig.pool.fail("cpu-0", Cause.DISK_FULL)
    rig.settle()
    assert rig.pool.busy() == []
    rig.disk_shortage = ""
    tick(rig, 1)
    assert rig.pool.busy() == ["cpu-0"]


def test_device_is_drained_when_pinning_fails_for_three_trials(rig: Rig) -> None:
    rig.submit(run_cap=5, retries={"infrastructure": 0})
    for _ in range(3):
        rig.pool.fail("cpu-0", Cause.PINNING, "PinningError: pinning failed")
        rig.settle()
    assert "pinning failed" in rig.recorder.drained["cpu-0"]


def test_alternating_sweeps_do_not_write_wait_reason_per_turn(rig: Rig) -> None:
    rig.submit(run_cap=200)
    rig.submit(run_cap=200)
    tick(rig, 10)
    reasons = []
    for _ in range(60):
        rig.clock.advance(TICK_S)
        rig.pool.finish("cpu-0")
        rig.settle()
        reasons.append((rig.sweep(1).wait, rig.sweep(2).wait))
    assert sum(earlier != later for earlier, later in pairwise(reasons)) <= 2
