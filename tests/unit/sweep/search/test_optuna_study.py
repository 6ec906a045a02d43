"""`trial.study` in the scheduler: queries and stops by a trial."""

from __future__ import annotations

import queue
from collections.abc import Callable

from podium.sweep.lifecycle.scheduler_inbox_messages import Inbox, StudyAnswered
from podium.sweep.scheduling.study_query_thread import StudyThread
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.errors import DatabaseError
from podium.sweep.values.slot_events import StudyRequested
from podium.sweep.values.states import SweepState, TrialState
from tests.rig import Rig

MakeRig = Callable[..., Rig]


def test_trial_reads_its_own_sweep(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(name="first")
    rig.pool.finish("cpu-0")
    rig.settle()
    rig.pool.request_study("cpu-0", "trials")
    rig.settle()
    (answer,) = rig.pool["cpu-0"].study
    assert answer["trials"][0] == [0, "finished"]
    assert rig.pool["cpu-1"].study == []


def test_query_of_cancelled_attempt_is_not_answered(rig: Rig) -> None:
    rig.submit()
    rig.cancel(1)
    rig.pool.request_study("cpu-0", "trials")
    rig.settle()
    assert rig.pool["cpu-0"].study == []


def test_stop_finishes_running_trials_and_starts_no_more(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=20)
    rig.pool.request_stop("cpu-1")
    rig.settle()
    assert (rig.sweep().state, rig.sweep().reason) == (SweepState.STOPPING, "trial 1 called study.stop()")
    assert len(rig.pool.busy()) == 2 and not any(rig.pool[device].stops for device in rig.pool.slots)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.counted() == 2
    assert rig.sweep().reason == "trial 1 called study.stop()"


def test_stop_survives_restart(rig: Rig) -> None:
    rig.submit(run_cap=20)
    rig.pool.request_stop("cpu-0")
    rig.settle()
    rig.restart()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert (rig.counted(), rig.sweep().reason) == (1, "trial 0 called study.stop()")


def test_stop_immediately_before_end_of_trial_counts(rig: Rig) -> None:
    rig.submit(run_cap=20)
    rig.pool.request_stop("cpu-0")
    rig.pool.end("cpu-0", TrialState.PRUNED)
    rig.settle()
    rig.finish_all()
    assert rig.counted() == 1 and not rig.pool.busy()


def test_stop_of_stopping_sweep_changes_nothing(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=20)
    rig.pool.request_stop("cpu-0")
    rig.settle()
    rig.pool.request_stop("cpu-1")
    rig.settle()
    assert rig.sweep().reason == "trial 0 called study.stop()"


def test_stopped_sweep_can_be_extended(rig: Rig) -> None:
    rig.submit(run_cap=3)
    rig.pool.request_stop("cpu-0")
    rig.settle()
    rig.finish_all()
    rig.recorder.set_state(1, SweepState.QUEUED)
    rig.settle()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.counted() == 3


def test_study_thread_answers_or_reports_error() -> None:
    inbox: Inbox = queue.SimpleQueue()

    def read(sweep_id: int, asked: StudyRequested) -> dict[str, int]:
        if asked.number:
            raise DatabaseError("the disk is full(simulated)")
        return {"sweep": sweep_id}

    thread = StudyThread(inbox, read)
    asked = [StudyRequested(AttemptKey(1, 1), number, "trials", number) for number in (1, 0)]
    for each in asked:
        thread.read(5, each)
    assert inbox.get(timeout=30) == StudyAnswered(asked[0], {}, "DatabaseError: the disk is full(simulated)")
    assert inbox.get(timeout=30) == StudyAnswered(asked[1], {"sweep": 5})
