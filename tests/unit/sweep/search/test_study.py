"""A trial reads its study, and stops it: the way through the scheduler."""

from __future__ import annotations

import queue
from collections.abc import Callable

from podium.sweep.lifecycle.scheduler_messages import Inbox, StudyRead
from podium.sweep.scheduling.study_queries import StudyThread
from podium.sweep.values.errors import DatabaseError
from podium.sweep.values.trial import AttemptKey, StudyAsked, SweepState, TrialState
from tests.rig import Rig

MakeRig = Callable[..., Rig]


def test_a_trial_is_answered_what_it_asks_of_its_own_sweep(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(name="first")
    rig.pool.finish("cpu-0")
    rig.settle()
    rig.pool.ask_study("cpu-0", "trials")
    rig.settle()
    (answer,) = rig.pool["cpu-0"].study
    assert answer["trials"][0] == [0, "finished"]
    assert rig.pool["cpu-1"].study == []


def test_an_attempt_that_does_not_count_is_not_answered(rig: Rig) -> None:
    rig.submit()
    rig.cancel(1)
    rig.pool.ask_study("cpu-0", "trials")
    rig.settle()
    assert rig.pool["cpu-0"].study == []


def test_stop_lets_what_runs_finish_and_starts_no_more(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=20)
    rig.pool.ask_stop("cpu-1")
    rig.settle()
    assert (rig.sweep().state, rig.sweep().reason) == (SweepState.STOPPING, "trial 1 called study.stop()")
    assert len(rig.pool.busy()) == 2 and not any(rig.pool[device].stops for device in rig.pool.slots)
    rig.finish_all()
    rig.assert_over(SweepState.FINISHED)
    assert rig.counted() == 2
    assert rig.sweep().reason == "trial 1 called study.stop()"


def test_stop_outlives_the_scheduler(rig: Rig) -> None:
    rig.submit(run_cap=20)
    rig.pool.ask_stop("cpu-0")
    rig.settle()
    rig.restart()
    rig.finish_all()
    rig.assert_over(SweepState.FINISHED)
    assert (rig.counted(), rig.sweep().reason) == (1, "trial 0 called study.stop()")


def test_stop_just_before_the_end_of_the_trial_counts(rig: Rig) -> None:
    rig.submit(run_cap=20)
    rig.pool.ask_stop("cpu-0")
    rig.pool.end("cpu-0", TrialState.PRUNED)
    rig.settle()
    rig.finish_all()
    assert rig.counted() == 1 and not rig.pool.busy()


def test_a_stop_of_a_sweep_that_is_stopping_changes_nothing(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=20)
    rig.pool.ask_stop("cpu-0")
    rig.settle()
    rig.pool.ask_stop("cpu-1")
    rig.settle()
    assert rig.sweep().reason == "trial 0 called study.stop()"


def test_a_sweep_that_was_stopped_so_can_be_extended(rig: Rig) -> None:
    rig.submit(run_cap=3)
    rig.pool.ask_stop("cpu-0")
    rig.settle()
    rig.finish_all()
    rig.recorder.set_state(1, SweepState.QUEUED)
    rig.settle()
    rig.finish_all()
    rig.assert_over(SweepState.FINISHED)
    assert rig.counted() == 3


def test_the_thread_answers_and_says_why_it_cannot() -> None:
    inbox: Inbox = queue.SimpleQueue()

    def read(sweep_id: int, asked: StudyAsked) -> dict[str, int]:
        if asked.number:
            raise DatabaseError("the disk is full, as played")
        return {"sweep": sweep_id}

    thread = StudyThread(inbox, read)
    asked = [StudyAsked(AttemptKey(1, 1), number, "trials", number) for number in (1, 0)]
    for each in asked:
        thread.read(5, each)
    assert inbox.get(timeout=30) == StudyRead(asked[0], {}, "DatabaseError: the disk is full, as played")
    assert inbox.get(timeout=30) == StudyRead(asked[1], {"sweep": 5})
