"""The scheduler's loop on fakes: placement, the run cap, pruning, retries, targets, cancelling, fairness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from podium.sweep.lifecycle.scheduler_inbox_messages import SearchFailed, Wake
from podium.sweep.scheduling.read_pacing import TICK_S
from podium.sweep.values.attempt_assignment import AttemptKey, Limits
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import SweepState, TrialState
from tests.rig import DATA, Rig

MakeRig = Callable[..., Rig]
FINISHED, PRUNED, FAILED, CANCELLED = TrialState.FINISHED, TrialState.PRUNED, TrialState.FAILED, TrialState.CANCELLED


@pytest.mark.parametrize("slots", [1, 2, 5])
@pytest.mark.parametrize("run_cap", [1, 2, 7])
def test_exactly_run_cap_trials_run(make_rig: MakeRig, slots: int, run_cap: int) -> None:
    rig = make_rig(slots)
    rig.submit(run_cap=run_cap)
    assert len(rig.pool.busy()) == min(slots, run_cap)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.states() == [FINISHED] * run_cap
    assert len(rig.pool.placed) == run_cap


def test_every_slot_is_busy_while_trials_remain(make_rig: MakeRig) -> None:
    rig = make_rig(3)
    rig.submit(run_cap=9)
    for finished in range(6):
        assert len(rig.pool.busy()) == 3
        rig.pool.finish(rig.pool.busy()[finished % 3])
        rig.settle()
    assert len(rig.pool.busy()) == 3


def test_trial_has_the_threads_of_its_device_unless_its_sweep_says_otherwise(rig: Rig) -> None:
    rig.pool["cpu-0"].device = replace(rig.pool["cpu-0"].device, threads=5)
    rig.restart()
    rig.submit(run_cap=1)
    assert rig.pool["cpu-0"].running is not None and rig.pool["cpu-0"].running.threads == 5


def test_assignment_carries_trial_and_sweep_settings(rig: Rig) -> None:
    rig.submit(
        seed=5,
        resources={"threads": 3},
        limits={"trial_s": 9.0},
        early_terminate={"type": "asha"},
        program={"function": "train:objective", "bundle": "a" * 64},
    )
    assignment = rig.pool["cpu-0"].running
    assert assignment is not None
    assert assignment.params == rig.trials()[0].params
    assert (assignment.metric, assignment.threads, assignment.prunable) == ("score", 3, True)
    assert assignment.limits == Limits(trial_s=9.0)
    assert assignment.program["function"] == "train:objective"
    assert (assignment.code, assignment.data_cache) == (f"bundles/{'a' * 64}", "datasets")
    assert rig.scheduler.folders_in_use() == {DATA.root / assignment.directory}


def test_pruned_trials_count_and_failed_ones_do_not(rig: Rig) -> None:
    rig.submit(run_cap=3)
    for state, cause in [(FAILED, Cause.USER_ERROR), (PRUNED, None), (FAILED, Cause.SIGNAL), (FINISHED, None)]:
        rig.pool.end("cpu-0", state, value=0.5 if state is FINISHED else None, cause=cause)
        rig.settle()
    assert rig.sweep().state is SweepState.RUNNING
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.states() == [FAILED, PRUNED, FAILED, FINISHED, FINISHED]


def test_sweep_without_finished_trial_fails_with_reason(rig: Rig) -> None:
    rig.submit(run_cap=1)
    rig.pool.end("cpu-0", PRUNED)
    rig.settle()
    rig.assert_ended(SweepState.FAILED)
    assert "no trial finished" in rig.sweep().reason


def test_reports_are_written_and_answered(rig: Rig) -> None:
    rig.submit(run_cap=3, early_terminate={"type": "asha", "min_iter": 1, "eta": 2})
    for value in (0.9, 0.1):
        for step in (0, 1, 2):
            rig.pool.report("cpu-0", step, value)
            rig.settle()
        if value == 0.9:
            rig.pool.finish("cpu-0", value)
            rig.settle()
    answers = rig.pool["cpu-0"].answers
    assert [step for step, _ in answers] == [0, 1, 2] * 2
    assert not any(prune for _, prune in answers[:3])
    assert any(prune for _, prune in answers[3:])
    assert rig.trials()[1].reports == {0: 0.1, 1: 0.1, 2: 0.1}


def test_reports_are_not_answered_without_pruning_rule(rig: Rig) -> None:
    """No trial waits for the answer, which would cost a call of the slot."""
    rig.submit()
    rig.pool.report("cpu-0", 1, 0.1)
    rig.settle()
    rig.pool.report("cpu-0", 0, 0.2)  # repeated
    rig.settle()
    assert rig.pool["cpu-0"].answers == []
    assert rig.trials()[0].reports == {0: 0.2, 1: 0.1}


def test_event_delivered_twice_is_handled_once(rig: Rig) -> None:
    rig.submit(early_terminate={"type": "threshold", "lower": 0.0})
    rig.pool.report("cpu-0", 0, 0.1)
    rig.pool.report("cpu-0", 1, 0.2)  # the slot sends both, because the first was not acknowledged
    rig.settle()
    assert rig.pool["cpu-0"].answers == [(0, False), (1, False)]


def test_pruner_attributes_are_kept_when_trial_ends_before_its_answer(rig: Rig) -> None:
    """Without them, a rebuilt study would not contain the rung that the trial reached."""
    rig.submit(early_terminate={"type": "asha", "min_iter": 1})
    rig.pool.report("cpu-0", 1, 0.7)
    rig.pool.finish("cpu-0", 0.7)  # handled in the same step as the report
    rig.settle()
    assert 0.7 in rig.trials()[0].attributes.values()


# Retries.


@pytest.mark.parametrize("cause", [Cause.INFRASTRUCTURE, Cause.START_TIMEOUT])
def test_infrastructure_failure_is_retried_on_another_slot(make_rig: MakeRig, cause: Cause) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=2)
    rig.pool.fail("cpu-0", cause)
    rig.settle()
    assert rig.pool["cpu-0"].running is None
    rig.pool.finish("cpu-1")
    rig.settle()
    assert rig.pool.placed[-1] == ("cpu-1", AttemptKey(1, 2))
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.states() == [FINISHED, FINISHED]
    assert rig.trials()[0].devices == ["cpu-0", "cpu-1"]


def test_only_slot_retries_its_failed_trial(rig: Rig) -> None:
    rig.submit(run_cap=1)
    rig.pool.fail("cpu-0", Cause.INFRASTRUCTURE)
    rig.settle()
    assert rig.pool.placed[-1] == ("cpu-0", AttemptKey(1, 2))


def test_every_attempt_of_a_trial_has_same_seed_and_values(rig: Rig) -> None:
    rig.submit(run_cap=1)
    first = rig.pool["cpu-0"].running
    rig.pool.fail("cpu-0", Cause.INFRASTRUCTURE)
    rig.settle()
    second = rig.pool["cpu-0"].running
    assert first is not None and second is not None
    assert (first.seed, first.params) == (second.seed, second.params)
    assert first.directory != second.directory


def test_slot_that_a_trial_avoids_serves_another_sweep(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=1)
    rig.submit(run_cap=2)
    rig.pool.fail("cpu-0", Cause.INFRASTRUCTURE)
    rig.settle()
    assert [key.trial_id for _, key in rig.pool.placed].count(1) == 1
    assert rig.pool.busy() == ["cpu-0", "cpu-1"]


@pytest.mark.parametrize(
    ("cause", "retries", "attempts"),
    [
        (Cause.INFRASTRUCTURE, {"infrastructure": 2}, 3),
        (Cause.INFRASTRUCTURE, {"infrastructure": 0, "user": 5}, 1),
        (Cause.USER_ERROR, {}, 1),
        (Cause.USER_ERROR, {"user": 2}, 3),
        (Cause.TIMEOUT, {"infrastructure": 5}, 1),
        (Cause.NON_FINITE, {}, 1),
        (Cause.SIGNAL, {"user": 1, "infrastructure": 0}, 2),
    ],
)
def test_failure_is_retried_as_often_as_its_kind_allows(
    rig: Rig, cause: Cause, retries: dict[str, int], attempts: int
) -> None:
    rig.submit(retries=retries)
    for _ in range(attempts):
        rig.pool.fail("cpu-0", cause)
        rig.settle()
    assert rig.states()[0] is FAILED
    assert sorted(rig.trials()[0].attempts) == list(range(1, attempts + 1))


def test_known_steps_of_repeated_attempt_are_answered_without_search(rig: Rig) -> None:
    rig.submit(early_terminate={"type": "median"})
    rig.pool.report("cpu-0", 0, 0.4)
    rig.pool.fail("cpu-0", Cause.INFRASTRUCTURE)
    rig.settle()
    rig.pool.report("cpu-0", 0, 0.6)
    rig.settle()
    assert rig.pool["cpu-0"].answers[-1] == (0, False)
    assert rig.trials()[0].reports == {0: 0.4}


def test_consecutive_failures_above_limit_fail_sweep(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=20, retries={"max_consecutive_failures": 3})
    for failed in (True, True, False, True, True, True):
        if failed:
            rig.pool.fail("cpu-0")
        else:
            rig.pool.finish("cpu-0")
        rig.settle()
    assert rig.pool["cpu-1"].stops == [Cause.CANCELLED]
    rig.pool.end("cpu-1", CANCELLED, cause=Cause.CANCELLED)
    rig.settle()
    rig.assert_ended(SweepState.FAILED)
    assert "3 consecutive trials failed" in rig.sweep().reason and "user_error" in rig.sweep().reason
    assert rig.pool.busy() == []


def test_failing_search_fails_only_its_sweep(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit()
    rig.submit()
    rig.scheduler.step([SearchFailed(1, "ValueError: simulated", search_generation=1)])
    assert rig.sweep(1).state is SweepState.FAILED and "ValueError: simulated" in rig.sweep(1).reason
    rig.pool.end("cpu-0", CANCELLED, cause=Cause.CANCELLED)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED, 2)


# Ending early.


@pytest.mark.parametrize(("goal", "miss", "hit"), [("maximize", 0.8, 0.95), ("minimize", 0.95, 0.8)])
def test_reached_target_ends_sweep_and_lets_running_trials_finish(
    make_rig: MakeRig, goal: str, miss: float, hit: float
) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=50, metric={"name": "score", "goal": goal, "target": 0.9})
    rig.pool.finish("cpu-0", miss)
    rig.settle()
    assert rig.sweep().state is SweepState.RUNNING
    rig.pool.finish("cpu-0", hit)
    rig.settle()
    assert rig.sweep().state is SweepState.STOPPING
    assert rig.pool.busy() == ["cpu-1"]
    rig.pool.finish("cpu-1", miss)
    rig.settle()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.sweep().reason == f"target 0.9 reached by trial 2: {hit}"
    assert rig.counted() == 3


def test_exhausted_grid_ends_sweep(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(method="grid", parameters={"x": {"values": [1, 2, 3]}}, run_cap=60)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert sorted(trial.params["x"] for trial in rig.trials()) == [1, 2, 3]  # type: ignore[type-var]
    assert rig.sweep().reason == "the grid is exhausted"


def test_slot_of_cancelled_sweep_is_free_after_its_process_ended(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    rig.submit()
    rig.submit()
    rig.cancel(1)
    rig.assert_ended(SweepState.CANCELLED, 1)
    assert rig.pool["cpu-0"].stops == [Cause.CANCELLED]
    assert len(rig.pool.placed) == 1
    rig.pool.report("cpu-0", 3, 0.3)  # a late report of the ending process
    rig.settle()
    assert len(rig.pool.placed) == 1
    rig.pool.end("cpu-0", FINISHED, value=0.99)
    rig.settle()
    assert rig.trials(1)[0].state is CANCELLED and rig.trials(1)[0].value is None
    assert rig.trials(1)[0].reports == {}
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED, 2)


def test_events_of_superseded_attempt_are_dropped(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=2)
    stale = rig.pool.fail("cpu-0", Cause.INFRASTRUCTURE)
    rig.settle()
    rig.pool["cpu-0"].add(Ended(stale.key, FINISHED, 0.0, 1.0, value=0.99))
    rig.pool.finish("cpu-1", 0.2)
    rig.settle()
    rig.finish_all(0.1)
    rig.assert_ended(SweepState.FINISHED)
    assert [trial.value for trial in rig.trials()] == [0.1, 0.2]


# Sharing.


def test_two_sweeps_share_slots(make_rig: MakeRig) -> None:
    rig = make_rig(4)
    rig.submit(run_cap=40)
    rig.submit(run_cap=40)
    for turn in range(12):
        rig.pool.finish(rig.pool.busy()[turn % 4])
        rig.settle()
    running = [slot.running.sweep_id for slot in rig.pool.slots.values() if slot.running]
    assert sorted(running) == [1, 1, 2, 2]


def test_max_concurrent_is_enforced(make_rig: MakeRig) -> None:
    rig = make_rig(4)
    rig.submit(run_cap=6, resources={"max_concurrent": 2})
    while busy := rig.pool.busy():
        assert len(busy) <= 2
        rig.pool.finish(busy[0])
        rig.settle()
    rig.assert_ended(SweepState.FINISHED)


def test_gpu_sweep_gets_no_cpu_slot(rig: Rig) -> None:
    rig.submit(resources={"device": "gpu"})
    rig.submit(resources={"device": "cpu"})
    rig.finish_all()
    assert rig.sweep(1).state is SweepState.QUEUED
    rig.assert_ended(SweepState.FINISHED, 2)


def test_trial_is_pruned_by_configured_metric(rig: Rig) -> None:
    by_loss = {"type": "threshold", "upper": 2.0, "metric": "loss", "goal": "minimize"}
    rig.submit(run_cap=2, early_terminate=by_loss)
    assert rig.pool["cpu-0"].running is not None
    assert rig.pool["cpu-0"].running.metric == "loss"
    rig.pool.report("cpu-0", 0, 1.0)
    rig.settle()
    rig.pool.report("cpu-0", 1, 3.0)
    rig.settle()
    assert rig.pool["cpu-0"].answers == [(0, False), (1, True)]
    rig.restart()
    assert rig.trials()[0].reports == {0: 1.0, 1: 3.0}


def test_trials_of_several_objectives_are_pruned(rig: Rig) -> None:
    two = [{"name": "score", "goal": "maximize"}, {"name": "size", "goal": "minimize"}]
    rig.submit(run_cap=2, metric=None, metrics=two, early_terminate={"type": "threshold", "lower": 0.5})
    rig.pool.report("cpu-0", 1, 0.1)
    rig.settle()
    assert rig.pool["cpu-0"].answers == [(1, True)]


# When changes are written.


def _propose_next(rig: Rig) -> None:
    """Finish the only running trial, and let the search propose a trial for later."""
    rig.pool.finish("cpu-0")
    for _ in range(2):
        rig.scheduler.step(rig.receive())


def test_new_trial_is_written_with_its_placement(rig: Rig) -> None:
    rig.submit(run_cap=5)
    _propose_next(rig)
    assert len(rig.trials()) == 2 and rig.scheduler.unwritten == 1  # one that runs; the next one waits
    rig.pool.finish("cpu-0")
    rig.scheduler.step(rig.receive())
    assert rig.states() == [FINISHED, FINISHED, TrialState.RUNNING] and rig.scheduler.unwritten == 0


def test_new_trial_is_written_at_the_next_tick(rig: Rig) -> None:
    rig.submit(run_cap=5)
    _propose_next(rig)
    rig.clock.advance(TICK_S)
    rig.scheduler.step([])
    assert rig.states()[-1] is TrialState.WAITING and rig.scheduler.unwritten == 0


def test_new_trial_is_written_before_the_requests_of_clients_are_read(rig: Rig) -> None:
    rig.submit(run_cap=5)
    _propose_next(rig)
    rig.recorder.cancel(1)
    rig.scheduler.step([Wake()])
    assert rig.states()[-1] is CANCELLED


def test_new_trial_that_was_not_written_is_proposed_again(rig: Rig) -> None:
    rig.submit(run_cap=5)
    _propose_next(rig)
    assert rig.scheduler.unwritten == 1
    rig.restart()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert [trial.number for trial in rig.trials()] == [0, 1, 2, 3, 4]
