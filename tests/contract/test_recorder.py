"""What any recorder does: the scheduler's changes come back from it, fenced, in order, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from db import sweeps
from db.engine import Database
from db.migrate import migrate
from sweep.changes import (
    AttemptEnded,
    AttemptPlaced,
    AttemptStarted,
    Change,
    DeviceChanged,
    MetricPoint,
    SearchNotes,
    StoredSweep,
    StoredTrial,
    SweepChanged,
    TrialDropped,
    TrialPlanned,
)
from sweep.errors import DatabaseError
from sweep.messages import Recorder
from sweep.recorder import DatabaseRecorder
from sweep.spec import SweepSpec
from sweep.trial import AttemptKey, Cause, Ended, Params, Started, SweepState, TrialState
from tests.memory import MemoryRecorder
from tests.specs import spec

NOBODY: frozenset[int] = frozenset()
WAITING, RUNNING, FINISHED, FAILED = TrialState.WAITING, TrialState.RUNNING, TrialState.FINISHED, TrialState.FAILED


@dataclass
class Store:
    """A recorder, and what a client does beside it."""

    recorder: Recorder
    accept: Callable[[SweepSpec], int]
    cancel: Callable[[int], None]
    close: Callable[[], None] = lambda: None

    def commit(self, *changes: Change) -> None:
        self.recorder.commit(changes)

    def open(self, **changes: Any) -> int:
        return self.accept(spec(**changes))

    def sweep(self, sweep_id: int = 1) -> StoredSweep:
        return next(s for s in self.recorder.open_sweeps(NOBODY) if s.sweep_id == sweep_id)

    def trial(self, trial_id: int = 1) -> StoredTrial:
        return next(t for s in self.recorder.open_sweeps(NOBODY) for t in s.trials if t.trial_id == trial_id)


def _memory(_: Path) -> Store:
    recorder = MemoryRecorder()
    return Store(recorder, lambda accepted: recorder.accept(accepted, 10.0), recorder.cancel)


def _database(folder: Path) -> Store:
    migrate(folder / "podium.sqlite3")
    database = Database(folder / "podium.sqlite3")

    def accept(accepted: SweepSpec) -> int:
        with database.write() as connection:
            return sweeps.accept(connection, accepted, 10.0)[0]

    def cancel(sweep_id: int) -> None:
        with database.write() as connection:
            sweeps.cancel(connection, sweep_id, 20.0)

    return Store(DatabaseRecorder(database), accept, cancel, database.close)


@pytest.fixture(params=[_memory, _database], ids=["memory", "database"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """One of the recorders, with one sweep accepted."""
    made: Store = request.param(tmp_path)
    made.open()
    yield made
    made.close()


def planned(trial_id: int = 1, number: int = 0, params: Params | None = None, sweep_id: int = 1) -> TrialPlanned:
    return TrialPlanned(trial_id, sweep_id, number, params or {"x": 0.5}, "tpe", {"rung": 1}, 11.0)


def placed(attempt: int = 1, trial_id: int = 1) -> AttemptPlaced:
    return AttemptPlaced(AttemptKey(trial_id, attempt), 1, trial_id - 1, "cpu-0", "node", 12.0)


def ended(
    attempt: int = 1, state: TrialState = FINISHED, then: TrialState | None = None, **fields: Any
) -> AttemptEnded:
    event = Ended(AttemptKey(1, attempt), state, 12.0, 13.0, **fields)
    return AttemptEnded(event, 1, 0, then or state)


def retried(attempt: int, cause: Cause) -> list[Change]:
    """An attempt that failed so, of a trial that waits for the next."""
    return [placed(attempt), ended(attempt, FAILED, WAITING, cause=cause)]


def test_an_accepted_sweep_is_open_until_it_is_known(store: Store) -> None:
    (sweep,) = store.recorder.open_sweeps(NOBODY)
    assert (sweep.sweep_id, sweep.state, sweep.spec, sweep.trials) == (1, SweepState.QUEUED, spec().to_json(), ())
    assert store.recorder.open_sweeps(frozenset({1})) == []
    store.open(seed=2)
    assert [s.sweep_id for s in store.recorder.open_sweeps(NOBODY)] == [1, 2]


def test_a_planned_trial_comes_back_exactly(store: Store) -> None:
    params: Params = {"f": 0.1 + 0.2, "i": 3, "s": "ünï", "b": True, "n": None}
    store.commit(planned(params=params))
    assert store.trial() == StoredTrial(1, 0, WAITING, params, None, 0, "tpe", {"rung": 1}, {}, ())


def test_trials_come_back_by_number(store: Store) -> None:
    store.commit(planned(1, 2), planned(2, 0), planned(3, 1))
    assert [trial.number for trial in store.sweep().trials] == [0, 1, 2]


def test_the_last_trial_id_is_over_all_sweeps(store: Store) -> None:
    assert store.recorder.last_trial_id() == 0
    store.open()
    store.commit(planned(4), planned(7, sweep_id=2))
    assert store.recorder.last_trial_id() == 7


def test_a_placed_trial_runs(store: Store) -> None:
    store.commit(planned(), placed())
    store.commit(AttemptStarted(Started(AttemptKey(1, 1), 4321, 12.5, "0", "cuda:0")))
    assert (store.trial().state, store.trial().attempt) == (RUNNING, 1)


@pytest.mark.parametrize("state", [FINISHED, TrialState.PRUNED, FAILED, TrialState.CANCELLED])
def test_an_ended_trial_is_over_and_only_a_finished_one_has_a_value(store: Store, state: TrialState) -> None:
    store.commit(
        planned(), placed(), ended(state=state, value=0.7, cause=Cause.USER_ERROR if state is FAILED else None)
    )
    assert (store.trial().state, store.trial().value) == (state, 0.7 if state is FINISHED else None)


def test_a_retried_trial_waits_and_remembers_why_it_failed(store: Store) -> None:
    store.commit(planned(), *retried(1, Cause.NODE_LOST), *retried(2, Cause.USER_ERROR))
    assert (store.trial().state, store.trial().attempt) == (WAITING, 2)
    assert store.trial().causes == (Cause.NODE_LOST, Cause.USER_ERROR)


def test_an_interrupted_attempt_is_no_failure(store: Store) -> None:
    store.commit(planned(), placed(), ended(1, TrialState.CANCELLED, WAITING, cause=Cause.CANCELLED))
    assert (store.trial().state, store.trial().causes) == (WAITING, ())


def test_an_old_attempts_end_does_not_count(store: Store) -> None:
    store.commit(planned(), *retried(1, Cause.NODE_LOST), placed(2))
    store.commit(ended(1, value=0.99))
    assert (store.trial().state, store.trial().value, store.trial().attempt) == (RUNNING, None, 2)
    assert store.trial().causes == (Cause.NODE_LOST,)


@pytest.mark.parametrize("late", [ended(1, FAILED, cause=Cause.SIGNAL), placed(2), TrialDropped(1, 1, 0, 20.0)])
def test_a_finished_trial_never_changes(store: Store, late: Change) -> None:
    store.commit(planned(), placed(), ended(value=0.7))
    before = store.trial()
    store.commit(late)
    assert store.trial() == before


def test_only_a_waiting_trial_is_dropped(store: Store) -> None:
    store.commit(planned(1, 0), planned(2, 1), placed(1, 2), TrialDropped(1, 1, 0, 20.0), TrialDropped(2, 1, 1, 20.0))
    assert [trial.state for trial in store.sweep().trials] == [TrialState.CANCELLED, RUNNING]


def test_the_first_report_of_a_step_stays_and_other_metrics_are_no_reports(store: Store) -> None:
    store.commit(planned(), placed())
    for name, step, value in (("score", 0, 0.1), ("score", 0, 0.2), ("score", 3, 0.3), ("loss", 1, 9.0)):
        store.commit(MetricPoint(AttemptKey(1, 1), name, step, value, 12.0))
    assert store.trial().reports == {0: 0.1, 3: 0.3}


def test_notes_take_the_place_of_earlier_ones(store: Store) -> None:
    store.commit(planned(), SearchNotes(1, {"rung": 2, "other": 0.5}))
    assert store.trial().attributes == {"rung": 2, "other": 0.5}


def test_a_sweep_that_is_over_is_not_open_and_stays_over(store: Store) -> None:
    store.commit(SweepChanged(1, SweepState.RUNNING, "", 11.0))
    assert store.sweep().state is SweepState.RUNNING
    store.commit(SweepChanged(1, SweepState.FINISHED, "", 12.0))
    store.commit(SweepChanged(1, SweepState.RUNNING, "", 13.0))
    assert store.recorder.open_sweeps(NOBODY) == []


def test_a_cancelled_sweep_is_told_to_whom_knows_it(store: Store) -> None:
    store.open()
    known = frozenset({1, 2})
    assert store.recorder.cancelled(known) == []
    store.cancel(1)
    assert store.recorder.cancelled(known) == [1]
    assert store.recorder.cancelled(frozenset({2})) == []


def test_a_cancelled_sweep_is_open_while_its_trials_are_not_over(store: Store) -> None:
    store.commit(planned(1, 0), planned(2, 1), placed())
    store.cancel(1)
    assert store.sweep().state is SweepState.CANCELLED
    store.commit(ended(1, TrialState.CANCELLED), TrialDropped(2, 1, 1, 20.0))
    assert store.recorder.open_sweeps(NOBODY) == []


def test_a_commit_that_cannot_be_written_whole_is_not_written_at_all(store: Store) -> None:
    store.commit(planned())
    with pytest.raises(DatabaseError):
        store.commit(SweepChanged(1, SweepState.RUNNING, "", 11.0), placed(), planned())
    assert store.sweep().state is SweepState.QUEUED
    assert store.trial().state is WAITING


def test_no_device_is_dedicated_unless_an_ensemble_has_it(store: Store) -> None:
    store.commit(planned(), placed())
    assert store.recorder.dedicated_devices() == {}


def test_devices_are_written_beside_trials(store: Store) -> None:
    store.commit(DeviceChanged("cpu-0", "cpu", 0, "node", "", None, 5, "ready", "", 9.0), planned())
    assert store.trial().state is WAITING
