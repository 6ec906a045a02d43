"""Sweeps after sweeps: the scheduler holds, releases and fixes them, and none is lost by a restart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from podium.sweep.lifecycle.database_changes import Change, SweepReleased
from podium.sweep.values.errors import DatabaseError
from podium.sweep.values.states import SweepState
from podium.sweep.values.sweep_wait_reason import WaitReason
from tests.rig import Rig

X = {"x": {"min": 0.0, "max": 1.0}, "y": {"min": 0.0, "max": 1.0}}
FIX_X = {"sweep": 1, "parameters": ["x"]}


@pytest.fixture
def rig() -> Rig:
    return Rig()


def chain(rig: Rig, **changes: Any) -> None:
    """Sweep 1 runs, sweep 2 waits for it."""
    rig.submit(run_cap=2, parameters=X)
    rig.submit(run_cap=2, parameters=X, after=[1], **changes)


def finish(rig: Rig, count: int) -> None:
    """The next `count` trials finish, one after the other."""
    for _ in range(count):
        rig.pool.finish("cpu-0")
        rig.settle()


def test_sweep_starts_when_its_predecessor_has_finished(rig: Rig) -> None:
    chain(rig)
    assert (rig.sweep(2).state, rig.trials(2)) == (SweepState.QUEUED, [])
    wait = rig.sweep(2).wait
    assert wait is not None and wait.reason is WaitReason.PREDECESSOR
    finish(rig, 2)
    rig.assert_ended(SweepState.FINISHED, 1)
    assert rig.sweep(2).state is SweepState.RUNNING
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED, 2)


def test_parameters_get_the_values_of_the_best_trial(rig: Rig) -> None:
    chain(rig, fix_from=FIX_X)
    rig.pool.finish("cpu-0", 0.3)
    rig.settle()
    rig.pool.finish("cpu-0", 0.8)
    rig.settle()
    rig.finish_all()
    best = rig.trials(1)[1].params["x"]
    assert [trial.params["x"] for trial in rig.trials(2)] == [best, best]
    assert rig.trials(2)[0].params["y"] != rig.trials(2)[1].params["y"]


def test_long_chain_runs_in_order(rig: Rig) -> None:
    chain(rig)
    for earlier in range(2, 6):
        rig.submit(run_cap=1, after=[earlier])
    rig.finish_all()
    ends = [rig.sweep(sweep_id).ended_at or 0.0 for sweep_id in range(1, 7)]
    assert ends == sorted(ends) and all(rig.sweep(i).state is SweepState.FINISHED for i in range(1, 7))


def test_sweep_waits_for_all_of_several(rig: Rig) -> None:
    rig.submit(run_cap=1)
    rig.submit(run_cap=1)
    rig.submit(run_cap=1, after=[1, 2])
    rig.pool.finish("cpu-0")
    rig.settle()
    assert rig.trials(3) == []
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED, 3)


@pytest.mark.parametrize("ending, reason", [
    (SweepState.CANCELLED, "sweep 1 (small) was cancelled"),
    (SweepState.FAILED, "sweep 1 (small) failed: "),
])  # fmt: skip
def test_sweep_waits_with_the_reason_when_its_predecessor_has_no_result(
    rig: Rig, ending: SweepState, reason: str
) -> None:
    rig.submit(run_cap=1, retries={"identical_failures": 1})
    rig.submit(run_cap=1, after=[1])
    if ending is SweepState.CANCELLED:
        rig.cancel(1)
    else:
        rig.pool.fail("cpu-0", message="as played")
        rig.settle()
    assert rig.sweep(1).state is ending
    assert (rig.sweep(2).state, rig.trials(2)) == (SweepState.QUEUED, [])
    wait = rig.sweep(2).wait
    assert wait is not None and (wait.reason, reason in wait.message) == (WaitReason.PREDECESSOR_FAILED, True)
    rig.restart()
    assert rig.sweep(2).wait == wait


def test_release_by_a_client_starts_the_sweep(rig: Rig) -> None:
    chain(rig)
    rig.cancel(1)
    rig.recorder.commit([SweepReleased(2, None, 20.0, by_client=True)])
    rig.settle()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED, 2)


def test_cancelled_sweep_never_starts(rig: Rig) -> None:
    chain(rig)
    rig.cancel(2)
    rig.finish_all()
    assert (rig.sweep(2).state, rig.trials(2)) == (SweepState.CANCELLED, [])


def test_cancellation_is_passed_on_as_a_reason_only(rig: Rig) -> None:
    chain(rig)
    rig.submit(run_cap=1, after=[2])
    rig.cancel(2)
    rig.finish_all()
    wait = rig.sweep(3).wait
    assert wait is not None and wait.message.startswith("sweep 2 (small) was cancelled")


def test_paused_sweep_is_released_and_stays_paused(rig: Rig) -> None:
    chain(rig, fix_from=FIX_X)
    rig.recorder.set_state(2, SweepState.PAUSED)
    rig.finish_all()
    assert (rig.sweep(2).state, rig.sweep(2).held, rig.trials(2)) == (SweepState.PAUSED, False, [])
    rig.recorder.set_state(2, SweepState.QUEUED)
    rig.settle()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED, 2)


def test_resumed_predecessor_does_not_hold_a_released_sweep_again(rig: Rig) -> None:
    chain(rig)
    finish(rig, 2)
    rig.recorder.sweeps[1].run_cap = 3
    rig.recorder.set_state(1, SweepState.QUEUED)
    rig.settle()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED, 1)
    rig.assert_ended(SweepState.FINISHED, 2)


class Killed(BaseException):
    """The scheduler is killed at a commit."""


@pytest.mark.parametrize("after_commit", [False, True])
def test_sweep_starts_once_when_the_scheduler_is_killed_at_the_release(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, after_commit: bool
) -> None:
    chain(rig, fix_from=FIX_X)
    commit, released = rig.recorder.commit, list[Change]()

    def killed_at_release(changes: Sequence[Change]) -> None:
        releases = [change for change in changes if isinstance(change, SweepReleased)]
        if releases and not released:
            released.extend(releases)
            if after_commit:
                commit(changes)
            raise Killed
        commit(changes)

    monkeypatch.setattr(rig.recorder, "commit", killed_at_release)
    with pytest.raises(Killed):
        rig.finish_all()
    rig.restart()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED, 2)
    best = max(rig.trials(1), key=lambda trial: (trial.value or 0.0, -trial.number))
    assert [trial.params["x"] for trial in rig.trials(2)] == [best.params["x"]] * 2


def test_release_waits_while_the_database_rejects_writes(rig: Rig) -> None:
    chain(rig)
    rig.pool.finish("cpu-0")
    rig.settle()
    rig.recorder.full = True
    rig.pool.finish("cpu-0")
    rig.settle()
    with pytest.raises(DatabaseError):
        rig.recorder.commit([])
    assert rig.trials(2) == []
    rig.recorder.full = False
    rig.settle()
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED, 2)
