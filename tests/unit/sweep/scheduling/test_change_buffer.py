"""A change that cannot be written fails its sweep; all other changes are written once, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.sweep.lifecycle.database_changes import (
    AttemptEnded,
    AttemptPlaced,
    Change,
    MetricPoint,
    SweepChanged,
    TrialPlanned,
)
from podium.sweep.scheduling.change_buffer import ChangeBuffer, trial_of
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.errors import DatabaseError
from podium.sweep.values.states import TERMINAL_TRIAL_STATES, SweepState, TrialState
from tests.memory import MemoryRecorder
from tests.rig import Rig

MakeRig = Callable[..., Rig]


class Recorder(MemoryRecorder):
    """Records what is written. Rejects writes during outages, and always rejects negative values."""

    def __init__(self, outages: Sequence[bool] = ()) -> None:
        super().__init__()
        self.outages = list(outages)
        self.written: list[Change] = []

    def commit(self, changes: Sequence[Change]) -> None:
        if changes and self.outages and self.outages.pop(0):
            raise DatabaseError("the disk is full (simulated)")
        for change in changes:
            if isinstance(change, MetricPoint) and change.value < 0:
                raise OverflowError("simulated")
        self.written += changes


def _point(trial: int, value: float, step: int) -> MetricPoint:
    return MetricPoint(AttemptKey(trial, 1), "score", step, value, 0.0)


@given(
    points=st.lists(st.tuples(st.integers(1, 4), st.sampled_from([1.0, 1.0, 1.0, -1.0])), max_size=30),
    outages=st.lists(st.booleans(), max_size=10),
)
def test_writable_changes_are_written_once_in_order(points: list[tuple[int, float]], outages: list[bool]) -> None:
    changes: list[Change] = [_point(trial, value, step) for step, (trial, value) in enumerate(points)]
    expected, spoiled = [], set()
    for change in changes:
        trial = trial_of(change)
        if isinstance(change, MetricPoint) and change.value < 0:
            spoiled.add(trial)
        if trial not in spoiled:
            expected.append(change)
    recorder = Recorder(outages)
    writer = ChangeBuffer(recorder, lambda trial: 10 * trial)
    writer.add(changes)
    while writer.pending:
        try:
            writer.write()
        except DatabaseError:
            continue
    assert recorder.written == expected
    assert writer.failed.keys() == {10 * trial for trial in spoiled if trial}


def test_error_unrelated_to_a_change_is_raised() -> None:
    class BrokenRecorder(MemoryRecorder):
        def commit(self, changes: Sequence[Change]) -> None:
            raise RuntimeError("simulated")

    changes: list[Change] = [_point(1, 1.0, 0), _point(2, 1.0, 0)]
    writer = ChangeBuffer(BrokenRecorder(), lambda trial: trial)
    writer.add(changes)
    with pytest.raises(RuntimeError, match="simulated"):
        writer.write()
    assert writer.pending == len(changes)


def _of_sweep_2(rig: Rig, kind: type[Change]) -> Callable[[Change], bool]:
    def cannot(change: Change) -> bool:
        ends_badly = isinstance(change, AttemptEnded) and change.event.value is None
        if not isinstance(change, kind) or ends_badly:
            return False
        trial = rig.recorder.trials.get(trial_of(change) or 0)
        return getattr(change, "sweep_id", trial and trial.sweep_id) == 2

    return cannot


@pytest.mark.parametrize("kind", [TrialPlanned, AttemptPlaced, MetricPoint, AttemptEnded])
def test_unwritable_change_fails_only_its_sweep(make_rig: MakeRig, kind: type[Change]) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=4, resources={"max_concurrent": 1})
    rig.recorder.cannot_write = _of_sweep_2(rig, kind)
    rig.submit(run_cap=4, resources={"max_concurrent": 1})
    for device_id in rig.pool.busy():
        rig.pool.report(device_id, 0, 0.5)
        rig.pool.finish(device_id, 0.7)
    rig.settle()
    rig.assert_ended(SweepState.FAILED, 2)
    assert "cannot be written to the database: OverflowError: as played" in rig.sweep(2).reason
    assert [(t.value, t.reports) for t in rig.trials(1)[:1]] == [(0.7, {0: 0.5})]
    rig.finish_all()
    rig.assert_ended(SweepState.FINISHED, 1)
    assert rig.counted(1) == 4
    assert rig.pool.busy() == []


def test_results_in_the_same_step_are_kept_when_sweep_fails(make_rig: MakeRig) -> None:
    rig = make_rig(3)
    rig.submit(run_cap=9)
    rig.recorder.cannot_write = lambda change: isinstance(change, AttemptEnded) and change.event.value == 0.1
    rig.pool.finish("cpu-0", 0.7)
    rig.pool.finish("cpu-1", 0.1)
    rig.pool.finish("cpu-2", 0.8)
    rig.settle()
    rig.assert_ended(SweepState.FAILED)
    assert sorted(t.value for t in rig.trials() if t.value is not None) == [0.7, 0.8]
    assert all(len(t.attempts) <= 1 for t in rig.trials())


def test_unwritable_change_waits_while_database_rejects_writes(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.submit(run_cap=9)
    rig.recorder.cannot_write = lambda change: isinstance(change, AttemptEnded) and change.event.value == 0.1
    rig.recorder.full = True
    rig.pool.finish("cpu-0", 0.7)
    rig.pool.finish("cpu-1", 0.1)
    rig.settle()
    assert [t.state for t in rig.trials()][:2] == [TrialState.RUNNING] * 2
    rig.recorder.full = False
    rig.settle()
    rig.assert_ended(SweepState.FAILED)
    assert [t.value for t in rig.trials() if t.value is not None] == [0.7]


def test_restarted_scheduler_finds_failed_sweep_terminal(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    rig.recorder.cannot_write = lambda change: isinstance(change, TrialPlanned) and change.number == 2
    rig.submit(run_cap=9)
    rig.finish_all()
    rig.assert_ended(SweepState.FAILED)
    rig.restart()
    rig.assert_ended(SweepState.FAILED)
    rig.recorder.cannot_write = lambda change: isinstance(change, SweepChanged) and change.state is SweepState.RUNNING
    rig.submit(run_cap=1)
    rig.assert_ended(SweepState.FAILED, 2)
    assert all(t.state in TERMINAL_TRIAL_STATES for t in rig.trials(2))
