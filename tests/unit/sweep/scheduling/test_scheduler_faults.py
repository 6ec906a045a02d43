"""The scheduler under faults: lost slots, rejected writes, and restarts at any time."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from podium.sweep.lifecycle.scheduler_inbox_messages import Stop
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import SweepState, TrialState
from tests.rig import Rig

MakeRig = Callable[..., Rig]
FINISHED, CANCELLED, WAITING = TrialState.FINISHED, TrialState.CANCELLED, TrialState.WAITING


def test_trial_of_lost_slot_is_repeated_on_new_slot(rig: Rig) -> None:
    rig.submit(run_cap=1)
    rig.pool.lose("cpu-0")
    rig.settle()
    assert rig.pool.placed[-1] == ("cpu-0", AttemptKey(1, 2))
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)


def test_slot_lost_while_its_cancelled_trial_ends_is_free_again(rig: Rig) -> None:
    rig.submit()
    rig.submit(run_cap=1)
    rig.cancel(1)
    rig.pool.lose("cpu-0")
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED, 2)


# The database rejects writes.


def test_scheduler_waits_and_loses_nothing_while_database_rejects_writes(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=3)
    rig.recorder.full = True
    rig.pool.report("cpu-0", 0, 0.1)
    rig.pool.finish("cpu-0", 0.7)
    rig.settle()
    assert len(rig.pool.placed) == 2, "a trial started that the database does not know"
    assert len(rig.pool["cpu-0"].events) == 2, "an event was acknowledged that is not written"
    assert rig.trials()[0].state is TrialState.RUNNING
    rig.recorder.full = False
    rig.settle()
    assert rig.trials()[0].value == 0.7 and rig.trials()[0].reports == {0: 0.1}
    assert rig.pool["cpu-0"].events == []
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.states() == [FINISHED] * 3


def test_restart_while_database_rejects_writes_loses_nothing(rig: Rig) -> None:
    rig.submit(run_cap=2)
    rig.recorder.full = True
    rig.pool.finish("cpu-0", 0.7)
    rig.settle()
    rig.recorder.full = False
    rig.restart()
    assert rig.trials()[0].value == 0.7
    assert len(rig.trials()[0].attempts) == 1


# The scheduler restarts.


def test_running_attempts_continue_after_restart(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=2)
    rig.restart()
    rig.pool.report("cpu-0", 0, 0.2)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert len(rig.pool.placed) == 2
    assert rig.trials()[0].reports == {0: 0.2}


def test_trial_finished_during_scheduler_downtime_counts_once(rig: Rig) -> None:
    rig.submit(run_cap=2)
    rig.pool.finish("cpu-0", 0.8)
    rig.restart()  # the end was not yet handled
    rig.restart()
    assert rig.trials()[0].value == 0.8
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.states() == [FINISHED, FINISHED]


def test_unacknowledged_end_counts_once(rig: Rig) -> None:
    rig.submit(run_cap=3)
    ended = rig.pool.finish("cpu-0", 0.8)
    rig.settle()
    rig.pool["cpu-0"].events.insert(0, (1, ended))  # the acknowledgement never arrived
    rig.restart()
    assert rig.counted() == 1
    rig.finish_all()
    assert rig.states() == [FINISHED] * 3


def test_unacknowledged_failure_is_retried_once(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=2, retries={"infrastructure": 1})
    failed = rig.pool.fail("cpu-0", Cause.INFRASTRUCTURE)
    rig.settle()
    assert rig.states()[0] is WAITING
    rig.pool["cpu-0"].events.insert(0, (1, failed))
    rig.restart()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert sorted(rig.trials()[0].attempts) == [1, 2]


def test_attempt_unknown_to_all_slots_is_repeated_after_restart(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=2)
    rig.pool.lose("cpu-0")
    rig.restart()
    assert rig.trials()[0].attempt == 2
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)


def test_attempt_that_its_slot_did_not_receive_is_sent_after_a_restart(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.pool.drops_calls = True
    rig.submit(run_cap=2)
    assert rig.states() == [TrialState.RUNNING] * 2 and rig.pool.placed == []
    rig.pool.drops_calls = False
    rig.restart()
    assert [(device, key.attempt) for device, key in rig.pool.placed] == [("cpu-0", 1), ("cpu-1", 1)]
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert [sorted(trial.attempts) for trial in rig.trials()] == [[1], [1]]


def test_attempt_that_its_slot_did_not_receive_is_repeated_when_the_slot_is_gone(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.pool.drops_calls = True
    rig.submit(run_cap=2)
    rig.pool.drops_calls = False
    del rig.pool.slots["cpu-0"]
    rig.restart()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert [sorted(trial.attempts) for trial in rig.trials()] == [[1, 2], [1]]


def test_cancelled_attempt_that_its_slot_did_not_receive_is_not_sent(rig: Rig) -> None:
    rig.pool.drops_calls = True
    rig.submit(run_cap=1)
    rig.recorder.cancel(1)
    rig.pool.drops_calls = False
    rig.restart()
    rig.finish_all()
    rig.assert_ended(SweepState.CANCELLED)
    assert rig.pool.placed == []


def test_failures_before_restart_count_against_retries(rig: Rig) -> None:
    rig.submit(run_cap=1, retries={"infrastructure": 1, "max_consecutive_failures": 1})
    rig.pool.fail("cpu-0", Cause.INFRASTRUCTURE)
    rig.settle()
    rig.restart()
    rig.pool.fail("cpu-0", Cause.INFRASTRUCTURE)
    rig.settle()
    rig.assert_ended(SweepState.FAILED)
    assert sorted(rig.trials()[0].attempts) == [1, 2]


def test_sweep_that_fails_during_restart_leaves_nothing_running(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(retries={"max_consecutive_failures": 1})
    rig.pool.fail("cpu-0")
    rig.pool.lose("cpu-1")
    rig.restart()
    rig.assert_ended(SweepState.FAILED)


def test_sweep_cancelled_during_scheduler_downtime_is_killed(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit()
    rig.submit(run_cap=1)
    rig.recorder.cancel(1)
    rig.restart()
    rig.assert_ended(SweepState.CANCELLED, 1)
    assert rig.pool["cpu-0"].stops == [Cause.CANCELLED]
    rig.pool.end("cpu-0", CANCELLED, cause=Cause.CANCELLED)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED, 2)


# The service stops.


def test_stop_ends_running_attempts_and_next_start_continues(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=4, retries={"infrastructure": 0})
    rig.scheduler.step([Stop()])
    assert [rig.pool[device].stops for device in ("cpu-0", "cpu-1")] == [[Cause.CANCELLED]] * 2
    rig.pool.end("cpu-0", CANCELLED, cause=Cause.CANCELLED)
    rig.pool.finish("cpu-1", 0.9)  # it had just finished
    rig.scheduler.run()
    assert rig.sweep().state is SweepState.QUEUED
    assert rig.states()[:2] == [WAITING, FINISHED]
    stopped = rig.recorder.trials[1].attempts[1]
    assert stopped is not None and stopped.message == "the service stopped"
    rig.restart()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.states() == [FINISHED] * 4


def test_unanswered_stop_leaves_nothing_running_and_fails_no_trial(rig: Rig) -> None:
    rig.submit(run_cap=1, retries={"infrastructure": 0})
    rig.inbox.put(Stop())
    rig.scheduler.run(stop_within_s=-1)
    assert rig.states() == [WAITING]
    assert rig.sweep().state is SweepState.QUEUED


# Arbitrary sequences of faults.

_FAULTS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "finish",
                "prune",
                "crash",
                "lose",
                "finish_unhandled",
                "restart",
                "outage",
                "back",
                "report",
                "release",
                "arrive",
            ]
        ),
        st.integers(0, 2),
    ),
    max_size=25,
)


@settings(max_examples=40)
@given(faults=_FAULTS, run_cap=st.integers(1, 6))
def test_sweep_ends_with_exactly_run_cap_trials_after_any_faults(faults: list[tuple[str, int]], run_cap: int) -> None:
    """The fake slots fail the test if two attempts run on one device, or one trial on two devices."""
    rig = Rig(slots=3)
    rig.submit(run_cap=run_cap, retries={"infrastructure": 100, "max_consecutive_failures": 1000})
    for what, position in faults:
        _inject(rig, what, f"cpu-{position}")
        assert rig.counted() <= run_cap
    rig.recorder.full = False
    rig.settle()
    for device_id in rig.pool.sending():
        rig.pool.end_sending(device_id, value=0.5)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED if FINISHED in rig.states() else SweepState.FAILED)
    assert rig.counted() == run_cap


def _inject(rig: Rig, what: str, device_id: str) -> None:
    runs = rig.pool[device_id].running is not None
    if what == "finish" and runs:
        rig.pool.finish(device_id)
    elif what == "prune" and runs:
        rig.pool.end(device_id, TrialState.PRUNED)
    elif what == "crash" and runs:
        rig.pool.fail(device_id, Cause.INFRASTRUCTURE)
    elif what == "report" and runs:
        rig.pool.report(device_id, 0, 0.5)
    elif what == "release" and runs and not rig.pool[device_id].sending:
        rig.pool.release(device_id)
    elif what == "arrive" and rig.pool[device_id].sending:
        rig.pool.end_sending(device_id, value=0.5)
    elif what == "finish_unhandled" and runs:
        rig.pool.finish(device_id)
        rig.restart()
    elif what == "lose":
        rig.pool.lose(device_id)
    elif what == "restart":
        rig.restart()
    elif what in ("outage", "back"):
        rig.recorder.full = what == "outage"
    rig.settle()


def test_scheduler_waits_for_slots(make_rig: MakeRig) -> None:
    make_rig(3).scheduler.wait_for_slots(3)
