"""Sweeps whose trials train in intervals: what the scheduler decides, and what survives kills of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from podium.sweep.lifecycle.database_changes import AttemptPlaced, Change, IntervalStarted
from podium.sweep.scheduling.live_trial import MAX_INTERRUPTIONS
from podium.sweep.values.attempt_assignment import Assignment, Interval
from podium.sweep.values.errors import FencedError
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import SweepState, TrialRequest, TrialState
from tests.memory import MemoryTrial
from tests.rig import DATA, Rig

MakeRig = Callable[..., Rig]
STEPS = 5


def submit(rig: Rig, population: int = 4, **changes: Any) -> None:
    method = {"type": "pbt", "population": population, "interval": {"step": STEPS}, "resample": 0.0}
    rig.submit(run_cap=None, **{"method": method, **changes})


def running(rig: Rig, device_id: str) -> tuple[Assignment, Interval]:
    assignment = rig.pool[device_id].running
    assert assignment is not None and assignment.interval is not None
    return assignment, assignment.interval


def end_round(rig: Rig, values: list[float]) -> None:
    """Every trial ends its next interval; `values` by number."""
    for _ in values:
        device_id = rig.pool.busy()[0]
        rig.pool.end_interval(device_id, values[running(rig, device_id)[0].number])
        rig.settle()


def ended(trial: MemoryTrial) -> list[int]:
    return [each.number for each in trial.intervals if each.result is not None]


def lineage(trial: MemoryTrial) -> list[tuple[object, ...]]:
    """What the intervals of a trial started from, and whether they have ended; without the names of folders."""
    return [
        (each.number, each.params, each.donor_id, each.donor_interval, each.result is not None)
        for each in trial.intervals
    ]


def test_a_population_larger_than_the_devices_takes_turns(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    submit(rig)
    assert len(rig.trials()) == 4, "all trials are planned at once"
    end_round(rig, [0.1, 0.2, 0.3, 0.4])
    assert [ended(trial) for trial in rig.trials()] == [[1]] * 4
    end_round(rig, [0.1, 0.2, 0.3, 0.4])
    assert all(len(ended(trial)) == 2 for trial in rig.trials())


def test_the_worst_continues_the_best_with_changed_parameters(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    submit(rig)
    end_round(rig, [0.1, 0.2, 0.3, 0.4])
    run_until(rig, 0)
    assignment, interval = running(rig, "cpu-0")
    worst, best = rig.trials()[0], rig.trials()[3]
    started = worst.intervals[-1]
    assert started.donor_id == best.trial_id and started.result is None
    source = next(each for each in best.intervals if each.number == started.donor_interval)
    assert source.result is not None
    folder = DATA.attempt(1, best.number, source.result.attempt, source.result.nonce)
    assert interval.checkpoint == DATA.relative(folder)
    assert interval.after_step == source.result.step and interval.number == source.number + 1
    assert interval.end_after(source.result.step + 1) == source.result.step + STEPS
    assert assignment.params == worst.params == started.params
    ratio = float(str(worst.params["x"])) / float(str(source.params["x"]))
    assert ratio == pytest.approx(0.8) or ratio == pytest.approx(1.2) or worst.params["x"] == 1.0


def run_until(rig: Rig, number: int) -> None:
    """Trials end intervals until this one runs."""
    while running(rig, "cpu-0")[0].number != number:
        rig.pool.end_interval("cpu-0", 0.3)
        rig.settle()


def test_others_continue_their_own_checkpoint_with_their_parameters(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    submit(rig)
    planned = rig.trials()[1].params
    end_round(rig, [0.4, 0.3, 0.2, 0.1])
    run_until(rig, 1)
    trial, (assignment, interval) = rig.trials()[1], running(rig, "cpu-0")
    assert trial.intervals[-1].donor_id is None
    assert assignment.params == planned
    assert (interval.checkpoint, interval.first_attempt) == (DATA.relative(DATA.attempt(1, 1, 1, trial.nonces[0])), 2)


def test_a_decision_is_written_with_the_placement(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    written: list[list[type]] = []
    commit = rig.recorder.commit

    def record(changes: Sequence[Change]) -> None:
        written.append([type(change) for change in changes])
        commit(changes)

    rig.recorder.commit = record  # type: ignore[method-assign]
    submit(rig)
    end_round(rig, [0.1, 0.2, 0.3, 0.4])
    for kinds in written:
        assert kinds.count(IntervalStarted) == kinds.count(AttemptPlaced)


def before_an_exploit(rig: Rig) -> None:
    """The next trial that is placed is the worst one, 3."""
    submit(rig)
    end_round(rig, [0.4, 0.3, 0.2, 0.1])
    run_until(rig, 3)  # its decision
    assert rig.trials()[3].intervals[-1].donor_id is not None


@pytest.mark.parametrize("dies", ["before the commit", "before the call of the slot", "after it"])
def test_a_killed_scheduler_decides_an_interval_once(make_rig: MakeRig, dies: str) -> None:
    undisturbed, rig = make_rig(1), make_rig(1)
    before_an_exploit(undisturbed)
    submit(rig)
    end_round(rig, [0.4, 0.3, 0.2])  # the last one, 3, runs its first interval
    rig.pool.end_interval("cpu-0", 0.1)
    rig.recorder.fenced, rig.pool.drops_calls = dies == "before the commit", dies == "before the call of the slot"
    try:
        rig.settle()
    except FencedError:
        assert dies == "before the commit"
    rig.recorder.fenced = rig.pool.drops_calls = False
    rig.restart()
    run_until(rig, 3)
    assert [lineage(trial) for trial in rig.trials()] == [lineage(trial) for trial in undisturbed.trials()]


def test_a_lost_attempt_repeats_its_interval(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    submit(rig, retries={"infrastructure": 3})
    end_round(rig, [0.1, 0.2, 0.3, 0.4])
    assignment, interval = running(rig, "cpu-0")
    rig.pool.lose("cpu-0")
    rig.settle()
    again, same = running(rig, "cpu-0")
    assert (again.number, again.attempt, again.params) == (assignment.number, assignment.attempt + 1, assignment.params)
    assert same == interval, "with its own first attempt, so that its checkpoints continue"
    assert len(rig.trials()[assignment.number].intervals) == 2


def test_ended_intervals_are_no_failures_or_interruptions(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    submit(rig, population=2, retries={"infrastructure": 1})
    for turn in range(2 * (MAX_INTERRUPTIONS + 5)):
        if turn % 7 == 0:
            rig.pool.lose("cpu-0")
            rig.settle()
        if turn % 11 == 0:
            rig.restart()
        rig.pool.end_interval("cpu-0", 0.5)
        rig.settle()
    assert all(trial.state in (TrialState.RUNNING, TrialState.WAITING) for trial in rig.trials())


@pytest.mark.parametrize("fails", [False, True])
def test_finished_trials_stay_donors_and_failed_ones_do_not(make_rig: MakeRig, fails: bool) -> None:
    rig = make_rig(1)
    submit(rig, population=2, retries={"user": 0})
    end_round(rig, [0.1, 0.9])
    run_until(rig, 1)
    if fails:
        rig.pool.fail("cpu-0", Cause.USER_ERROR)
    else:
        rig.pool.finish("cpu-0", 0.9)
    rig.settle()
    run_until(rig, 0)
    assert rig.trials()[0].intervals[-1].donor_id == (None if fails else rig.trials()[1].trial_id)


def test_a_trial_that_is_stopped_at_the_end_of_an_interval_is_cancelled(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    submit(rig, population=2)
    trial_id = running(rig, "cpu-0")[0].trial_id
    rig.recorder.request(trial_id, TrialRequest.STOP)
    rig.settle()
    rig.pool.end_interval("cpu-0", 0.5)
    rig.settle()
    assert rig.recorder.trials[trial_id].state is TrialState.CANCELLED
    assert ended(rig.recorder.trials[trial_id]) == [1]


def test_a_stopping_sweep_finishes_each_trial_at_the_end_of_one_more_interval(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    submit(rig, population=2)
    end_round(rig, [0.1, 0.2])
    rig.recorder.set_state(1, SweepState.STOPPING)
    rig.settle()
    assert not running(rig, "cpu-0")[1].is_last, "it was placed before"
    rig.pool.end_interval("cpu-0", 0.3)
    rig.settle()
    while rig.pool.busy():
        assert running(rig, "cpu-0")[1].is_last
        rig.pool.finish("cpu-0", 0.4)
        rig.settle()
    rig.assert_ended(SweepState.FINISHED)


def test_a_paused_population_waits_between_two_intervals(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    submit(rig, population=2)
    rig.recorder.set_state(1, SweepState.PAUSED)
    rig.pool.end_interval("cpu-0", 0.3)
    rig.settle()
    assert rig.pool.busy() == []
    rig.restart()
    rig.recorder.set_state(1, SweepState.RUNNING)
    rig.settle()
    assert rig.pool.busy() == ["cpu-0"]


def test_a_replay_follows_its_schedule_and_finishes(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    schedule = [{"until": 4, "parameters": {"x": 0.5}}, {"until": 9, "parameters": {"x": 0.25}}]
    rig.submit(method={"type": "replay", "trial_seed": 77, "schedule": schedule}, run_cap=None)
    assignment, interval = running(rig, "cpu-0")
    assert (assignment.params, assignment.seed, interval.end_after(0)) == ({"x": 0.5}, 77, 4)
    rig.pool.end_interval("cpu-0", 0.5)
    rig.settle()
    assignment, interval = running(rig, "cpu-0")
    assert (assignment.params, interval.end_after(5), interval.is_last) == ({"x": 0.25}, 9, True)
    assert interval.checkpoint is not None and interval.checkpoint.endswith(rig.trials()[0].nonces[0])
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)


def test_an_ended_interval_has_retention_applied(make_rig: MakeRig) -> None:
    rig = make_rig(1)
    submit(rig, population=2)
    rig.pool.end_interval("cpu-0", 0.3)
    rig.settle()
    assert rig.retained == [1]
