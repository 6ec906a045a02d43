"""Sweeps whose budget is spent start no more trials, finish the running ones, and report which limit was reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import SweepState, TrialRequest, TrialState
from tests.rig import Rig

MakeRig = Callable[..., Rig]


def finish(rig: Rig, device_id: str = "cpu-0", value: float = 0.5, *, after_s: float = 0.0) -> None:
    rig.clock.advance(after_s)
    rig.pool.finish(device_id, value)
    rig.settle()


def metric(**fields: Any) -> dict[str, Any]:
    return {"name": "score", "goal": "maximize", **fields}


def test_device_time_sums_all_devices_and_running_trials(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=50, budget={"device_s": 100})
    finish(rig, "cpu-0", after_s=30)
    assert rig.sweep().state is SweepState.RUNNING
    rig.clock.advance(19)
    rig.settle()
    assert rig.sweep().state is SweepState.RUNNING
    rig.clock.advance(1)
    rig.settle()
    assert (rig.sweep().state, rig.sweep().reason) == (SweepState.STOPPING, "budget.device_s of 100 s is spent")
    assert rig.pool.busy() == ["cpu-0", "cpu-1"] and rig.pool["cpu-0"].stops == []
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.sweep().reason == "budget.device_s of 100 s is spent"
    assert rig.counted() == 3 and len(rig.pool.placed) == 3
    assert rig.sweep().device_s == 100


def test_failed_attempts_use_device_time(rig: Rig) -> None:
    rig.submit(run_cap=50, budget={"device_s": 60}, retries={"infrastructure": 9})
    for _ in range(2):
        rig.clock.advance(25)
        rig.pool.fail("cpu-0", Cause.INFRASTRUCTURE)
        rig.settle()
    finish(rig, after_s=10)
    rig.assert_ended(SweepState.FINISHED)
    assert rig.sweep().reason == "budget.device_s of 60 s is spent"


def test_wall_time_starts_with_first_trial_and_includes_pauses(rig: Rig) -> None:
    rig.clock.advance(500)
    rig.submit(run_cap=50, budget={"wall_s": 100})
    finish(rig, after_s=40)
    rig.recorder.set_state(1, SweepState.PAUSED)
    finish(rig)
    rig.clock.advance(59)
    rig.settle()
    assert rig.sweep().state is SweepState.PAUSED
    rig.clock.advance(1)
    rig.settle()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.sweep().reason == "budget.wall_s of 100 s is spent"


@pytest.mark.parametrize("which", ["wall_s", "device_s"])
def test_used_budget_is_known_after_restart(rig: Rig, which: str) -> None:
    rig.submit(run_cap=50, budget={which: 100})
    finish(rig, after_s=40)
    rig.clock.advance(30)
    rig.restart()
    rig.clock.advance(29)
    rig.settle()
    assert rig.sweep().state is SweepState.RUNNING
    rig.clock.advance(1)
    rig.settle()
    assert rig.sweep().state is SweepState.STOPPING
    rig.finish_all()
    assert rig.sweep().device_s == 100


def test_attempt_ended_during_scheduler_downtime_uses_time_until_its_end(rig: Rig) -> None:
    rig.submit(run_cap=50, budget={"device_s": 100})
    rig.clock.advance(20)
    rig.pool.finish("cpu-0")
    rig.clock.advance(300)
    rig.restart()
    assert rig.sweep().device_s == 20
    assert rig.sweep().state is SweepState.RUNNING


def test_lost_attempt_uses_time_until_its_last_event(rig: Rig) -> None:
    rig.submit(run_cap=50, budget={"device_s": 100})
    rig.clock.advance(20)
    rig.pool.report("cpu-0", 0, 0.1)
    rig.settle()
    rig.clock.advance(300)
    rig.pool.lose("cpu-0")
    rig.restart()
    assert rig.sweep().device_s == 20
    assert rig.sweep().state is SweepState.RUNNING


def test_wall_clock_change_does_not_affect_budget(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.submit(run_cap=50, budget={"wall_s": 100, "device_s": 100})
    monkeypatch.setattr(rig.clock, "wall_s", lambda: rig.clock.now_s + 1e6)
    finish(rig, after_s=10)
    assert rig.sweep().state is SweepState.RUNNING


def test_plateau_ends_sweep(rig: Rig) -> None:
    rig.submit(run_cap=50, budget={"plateau": {"trials": 3, "min_delta": 0.01}})
    for value in (0.5, 0.505, 0.6, 0.601, 0.602):
        finish(rig, value=value)
        assert rig.sweep().state is SweepState.RUNNING
    finish(rig, value=0.603)
    rig.assert_ended(SweepState.FINISHED)
    assert rig.sweep().reason == "no better value by more than 0.01 in 3 trials"


def test_plateau_is_kept_over_restart(rig: Rig) -> None:
    rig.submit(run_cap=50, budget={"plateau": {"trials": 3}})
    for value in (0.5, 0.4, 0.3):
        finish(rig, value=value, after_s=1)
    rig.restart()
    rig.pool.end("cpu-0", TrialState.PRUNED)
    rig.settle()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.sweep().reason == "no better value in 3 trials"


def test_first_reached_limit_ends_sweep(rig: Rig) -> None:
    rig.submit(run_cap=50, budget={"wall_s": 100, "device_s": 10}, metric=metric(target=0.9))
    finish(rig, value=0.95, after_s=5)
    rig.assert_ended(SweepState.FINISHED)
    assert rig.sweep().reason == "target 0.9 reached by trial 0: 0.95"


def test_spent_sweep_without_finished_trial_has_failed(rig: Rig) -> None:
    rig.submit(run_cap=50, budget={"device_s": 10})
    rig.clock.advance(20)
    rig.pool.fail("cpu-0")
    rig.settle()
    rig.assert_ended(SweepState.FAILED)
    assert rig.sweep().reason == "no trial finished; budget.device_s of 10 s is spent; user_error: as played"


def test_trial_of_lost_attempt_is_repeated_when_budget_is_spent(rig: Rig) -> None:
    rig.submit(run_cap=50, budget={"device_s": 10})
    rig.clock.advance(20)
    rig.settle()
    rig.pool.lose("cpu-0")
    rig.settle()
    assert rig.sweep().state is SweepState.STOPPING
    assert rig.pool.busy() == ["cpu-0"]
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.states()[0] is TrialState.FINISHED


def test_running_sweep_budget_can_be_extended(rig: Rig) -> None:
    rig.submit(run_cap=50, budget={"device_s": 100})
    rig.recorder.extend(1, device_s=200)
    rig.clock.advance(150)
    rig.settle()
    assert rig.sweep().state is SweepState.RUNNING
    rig.clock.advance(50)
    rig.settle()
    assert rig.sweep().reason == "budget.device_s of 200 s is spent"


def test_sweep_extended_while_ending_continues(rig: Rig) -> None:
    rig.submit(run_cap=50, budget={"device_s": 100})
    rig.clock.advance(100)
    rig.recorder.extend(1, device_s=200)
    rig.pool.finish("cpu-0")
    rig.scheduler.step(rig.receive())
    rig.settle()
    rig.clock.advance(1)
    rig.settle()
    assert rig.sweep().state is SweepState.RUNNING
    assert rig.pool.busy() == ["cpu-0"]


def test_extended_finished_sweep_excludes_terminal_time(rig: Rig) -> None:
    rig.submit(run_cap=50, budget={"wall_s": 100})
    finish(rig, after_s=100)
    rig.assert_ended(SweepState.FINISHED)
    rig.clock.advance(10_000)
    rig.recorder.extend(1, wall_s=150)
    rig.recorder.set_state(1, SweepState.QUEUED, at=rig.clock.wall_s())
    rig.settle()
    finish(rig, after_s=49)
    assert rig.sweep().state is SweepState.RUNNING
    rig.restart()
    finish(rig, after_s=1)
    rig.assert_ended(SweepState.FINISHED)


@pytest.mark.parametrize("restarted", [False, True])
def test_only_clone_runs_when_budget_is_spent(make_rig: MakeRig, restarted: bool) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=50, budget={"device_s": 100})
    rig.clock.advance(100)
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    before = len(rig.trials())
    rig.recorder.enqueue(1, {"x": 0.25})
    rig.recorder.set_state(1, SweepState.QUEUED, "trial 0 is cloned")
    rig.settle()
    if restarted:
        rig.restart()
    (clone,) = rig.trials()[before:]
    assert clone.state is TrialState.RUNNING and len(rig.pool.busy()) == 1
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED)
    assert rig.sweep().reason == "budget.device_s of 100 s is spent"
    assert len(rig.trials()) == before + 1 and clone.trial_id in {key.trial_id for _, key in rig.pool.placed}


def test_trial_is_retried_when_budget_is_spent(rig: Rig) -> None:
    rig.submit(run_cap=50, budget={"device_s": 100})
    rig.pool.fail("cpu-0")
    rig.settle()
    finish(rig, after_s=100)
    rig.assert_ended(SweepState.FINISHED)
    rig.recorder.request(1, TrialRequest.RETRY)
    rig.settle()
    assert rig.pool.busy() == ["cpu-0"]
    finish(rig)
    rig.assert_ended(SweepState.FINISHED)
    assert rig.states()[0] is TrialState.FINISHED


def test_idle_device_reports_spent_sweep(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=50, budget={"device_s": 100})
    rig.clock.advance(50)
    finish(rig, "cpu-0")
    for _ in range(3):
        rig.clock.advance(1)
        rig.settle()
    assert rig.recorder.devices["cpu-0"].reason == "sweep 1 is stopping: budget.device_s of 100 s is spent"


@pytest.mark.parametrize("restarted", [False, True])
def test_trial_that_violates_constraint_does_not_reach_target(rig: Rig, restarted: bool) -> None:
    rig.submit(run_cap=50, metric=metric(target=0.9))
    rig.pool.end("cpu-0", TrialState.FINISHED, value=0.95, constraints={"size": 1.0})
    rig.settle()
    if restarted:
        rig.restart()
    assert rig.sweep().state is SweepState.RUNNING
    finish(rig, value=0.91)
    rig.assert_ended(SweepState.FINISHED)
    assert rig.sweep().reason == "target 0.9 reached by trial 1: 0.91"
