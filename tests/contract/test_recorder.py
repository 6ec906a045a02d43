"""The contract of a recorder: it returns the scheduler's changes as written, in order, atomically, and fenced."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, update

from podium.db.schema import tables
from podium.db.schema.database import Database
from podium.db.stores import sweep_predecessors, sweeps
from podium.sweep.lifecycle.database_changes import (
    AttemptEnded,
    AttemptPlaced,
    AttemptReleased,
    AttemptStarted,
    Change,
    DeviceChanged,
    DeviceDrained,
    IntervalEnded,
    IntervalStarted,
    MetricPoint,
    ParamDefined,
    RequestObsolete,
    SearchAttributesChanged,
    SweepChanged,
    SweepReleased,
    SweepWarned,
    TrialDropped,
    TrialPlanned,
    TrialRetried,
)
from podium.sweep.lifecycle.dependent_sweep_release import BestTrial, FixedValues, HeldSweep, Predecessor
from podium.sweep.lifecycle.pending_commands import Enqueued
from podium.sweep.lifecycle.scheduler_interfaces import Recorder
from podium.sweep.lifecycle.stored_sweeps import IntervalResult, StoredInterval, StoredSweep, StoredTrial
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.spec.sweep_spec import SweepSpec, spec_from_json
from podium.sweep.values.attempt_assignment import AttemptKey, Params
from podium.sweep.values.device_state import DeviceState
from podium.sweep.values.drained_devices import DeviceDrain
from podium.sweep.values.errors import DatabaseError, FencedError
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.running_sweep_warnings import WarningCode
from podium.sweep.values.slot_events import Ended, Started
from podium.sweep.values.states import SweepState, TrialRequest, TrialState
from podium.sweep.values.sweep_wait_reason import Wait, WaitReason
from tests.databases import EACH_DATABASE, open_postgres, open_sqlite
from tests.memory import MemoryRecorder
from tests.specs import spec

NOBODY: frozenset[int] = frozenset()
WAITING, RUNNING, FINISHED, FAILED = TrialState.WAITING, TrialState.RUNNING, TrialState.FINISHED, TrialState.FAILED


@dataclass
class Store:
    """A recorder, and the writes of a client next to it."""

    recorder: Recorder
    accept: Callable[[SweepSpec], int]
    set_state: Callable[[int, SweepState], None]
    request: Callable[[int, TrialRequest], None]
    enqueue: Callable[[int, Params], int]
    take_over: Callable[[], None]
    close: Callable[[], None] = lambda: None

    def commit(self, *changes: Change) -> None:
        self.recorder.commit(changes)

    def open(self, **changes: Any) -> int:
        return self.accept(spec(**changes))

    def sweep(self, sweep_id: int = 1) -> StoredSweep:
        return next(s for s in self.recorder.open_sweeps(NOBODY) if s.sweep_id == sweep_id)

    def cancel(self, sweep_id: int) -> None:
        self.set_state(sweep_id, SweepState.CANCELLED)

    def terminal_trial(self, trial_id: int) -> StoredTrial:
        """A terminal trial of an open sweep."""
        return next(t for s in self.recorder.open_sweeps(NOBODY) for t in s.trials if t.trial_id == trial_id)

    def trial(self, trial_id: int = 1) -> StoredTrial:
        return next(t for s in self.recorder.open_sweeps(NOBODY) for t in s.trials if t.trial_id == trial_id)


def _memory(_: Path) -> Store:
    recorder = MemoryRecorder()

    def take_over() -> None:
        recorder.fenced = True

    return Store(
        recorder, lambda accepted: recorder.accept(accepted, 10.0), recorder.set_state, recorder.request,
        recorder.enqueue, take_over,
    )  # fmt: skip


def _sqlite(folder: Path) -> Store:
    return _stored(open_sqlite(folder / "podium.sqlite3"))


def _postgres(_: Path) -> Store:
    return _stored(open_postgres())


def _stored(database: Database) -> Store:

    def accept(accepted: SweepSpec) -> int:
        with database.write() as connection:
            sweep_id, _ = sweeps.accept(connection, accepted, 10.0)
            sweep_predecessors.add(connection, sweep_id, accepted)
            return sweep_id

    def set_state(sweep_id: int, state: SweepState) -> None:
        with database.write() as connection:
            sweeps.set_state(connection, sweep_id, state, "on request", 20.0)

    def request(trial_id: int, request: TrialRequest) -> None:
        with database.write() as connection:
            connection.execute(update(tables.trials).where(tables.trials.c.id == trial_id).values(requested=request))

    def enqueue(sweep_id: int, params: Params) -> int:
        values = {"sweep_id": sweep_id, "params": json.dumps(params), "created_at": 20.0}
        with database.write() as connection:
            statement = insert(tables.enqueued).values(values).returning(tables.enqueued.c.id)
            enqueued_id: int = connection.execute(statement).scalar_one()
            return enqueued_id

    def take_over() -> None:
        DatabaseRecorder(database)

    return Store(DatabaseRecorder(database), accept, set_state, request, enqueue, take_over, database.close)


@pytest.fixture(params=["memory", *EACH_DATABASE])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """One of the recorders, with one sweep accepted."""
    made = {"memory": _memory, "sqlite": _sqlite, "postgres": _postgres}[request.param](tmp_path)
    made.open()
    yield made
    made.close()


def planned(trial_id: int = 1, number: int = 0, params: Params | None = None, sweep_id: int = 1) -> TrialPlanned:
    return TrialPlanned(trial_id, sweep_id, number, params or {"x": 0.5}, "tpe", {"rung": 1}, 11.0)


def placed(attempt: int = 1, trial_id: int = 1) -> AttemptPlaced:
    return AttemptPlaced(AttemptKey(trial_id, attempt), 1, trial_id - 1, "cpu-0", "node", 12.0, f"{attempt:08x}")


def ended(
    attempt: int = 1, state: TrialState = FINISHED, then: TrialState | None = None, **fields: Any
) -> AttemptEnded:
    event = Ended(AttemptKey(1, attempt), state, 12.0, 13.0, **fields)
    return AttemptEnded(event, 1, 0, then or state)


def retried(attempt: int, cause: Cause) -> list[Change]:
    """An attempt that failed for this cause; the trial waits for the next one."""
    return [placed(attempt), ended(attempt, FAILED, WAITING, cause=cause, message=f"failure {attempt}")]


def test_accepted_sweep_is_open_until_it_is_known(store: Store) -> None:
    (sweep,) = store.recorder.open_sweeps(NOBODY)
    assert (sweep.sweep_id, sweep.state, sweep.spec, sweep.trials) == (1, SweepState.QUEUED, spec().to_json(), ())
    assert store.recorder.open_sweeps(frozenset({1})) == []
    store.open(seed=2)
    assert [s.sweep_id for s in store.recorder.open_sweeps(NOBODY)] == [1, 2]


def test_planned_trial_is_read_back_unchanged(store: Store) -> None:
    params: Params = {"f": 0.1 + 0.2, "i": 3, "s": "ünï", "b": True, "n": None}
    store.commit(planned(params=params))
    assert store.trial() == StoredTrial(1, 0, WAITING, params, None, 0, "tpe", {"rung": 1}, {}, ())


def test_defined_parameters_keep_their_distributions_and_last_value(store: Store) -> None:
    width, kind = {"min": 8, "max": 64, "log": True}, {"values": ["a", None]}
    store.commit(planned(params={"x": 0.5}), placed())
    store.commit(ParamDefined(1, "width", 8, width), ParamDefined(1, "kind", None, kind))
    store.commit(ParamDefined(1, "width", 9, width))
    assert store.trial().params == {"x": 0.5, "width": 9, "kind": None}
    assert store.trial().distributions == {"width": width, "kind": kind}


def test_parameters_of_a_clone_are_planned_with_their_distributions(store: Store) -> None:
    width = {"min": 8, "max": 64}
    store.commit(replace(planned(params={"x": 0.5, "width": 9}), distributions={"width": width}))
    assert (store.trial().params, store.trial().distributions) == ({"x": 0.5, "width": 9}, {"width": width})


def test_trials_are_ordered_by_number(store: Store) -> None:
    store.commit(planned(1, 2), planned(2, 0), planned(3, 1))
    assert [trial.number for trial in store.sweep().trials] == [0, 1, 2]


def test_last_trial_id_spans_all_sweeps(store: Store) -> None:
    assert store.recorder.last_trial_id() == 0
    store.open()
    store.commit(planned(4), planned(7, sweep_id=2))
    assert store.recorder.last_trial_id() == 7


def test_placed_trial_is_running(store: Store) -> None:
    store.commit(planned(), placed())
    store.commit(AttemptStarted(Started(AttemptKey(1, 1), 4321, 12.5, "0", "cuda:0")))
    assert (store.trial().state, store.trial().attempt) == (RUNNING, 1)


@pytest.mark.parametrize("state", [FINISHED, TrialState.PRUNED, FAILED, TrialState.CANCELLED])
def test_only_a_finished_trial_has_a_value(store: Store, state: TrialState) -> None:
    store.commit(
        planned(), placed(), ended(state=state, value=0.7, cause=Cause.USER_ERROR if state is FAILED else None)
    )
    assert (store.trial().state, store.trial().value) == (state, 0.7 if state is FINISHED else None)


def test_values_and_constraints_of_a_finished_trial_are_read_back(store: Store) -> None:
    metrics = [{"name": "score", "goal": "maximize"}, {"name": "seconds", "goal": "minimize"}]
    sweep_id = store.open(metric=None, metrics=metrics)
    end = ended(values=(0.7, 3.0), constraints={"size": 2.0, "age": -1.0}, user_attrs={"note": "x"})
    store.commit(planned(sweep_id=sweep_id), placed(), replace(end, sweep_id=sweep_id, objectives=("score", "seconds")))
    assert (store.trial().value, store.trial().values) == (0.7, (0.7, 3.0))
    assert store.trial().constraints == {"size": 2.0, "age": -1.0}


def test_single_value_is_a_tuple_of_one(store: Store) -> None:
    store.commit(planned(), placed(), ended(value=0.7))
    assert (store.trial().values, store.trial().constraints) == ((0.7,), {})


def test_retry_clears_constraints_of_a_failed_trial(store: Store) -> None:
    failed = ended(1, FAILED, cause=Cause.USER_ERROR, constraints={"size": 2.0}, user_attrs={"note": "x"})
    store.commit(planned(), placed(), failed)
    assert (store.trial().values, store.trial().constraints) == (None, {"size": 2.0})
    store.commit(TrialRetried(1, 1, 0, 30.0))
    assert store.trial().constraints == {}
    store.commit(placed(2), ended(2, value=0.5, constraints={"size": -1.0}, user_attrs={"note": "y"}))
    assert store.trial().constraints == {"size": -1.0}


def test_repeated_attempt_leaves_no_constraints(store: Store) -> None:
    store.commit(planned(), placed(), ended(1, FAILED, WAITING, cause=Cause.NODE_LOST, constraints={"size": 2.0}))
    assert store.trial().constraints == {}


def test_retried_trial_waits_and_keeps_its_causes(store: Store) -> None:
    store.commit(planned(), *retried(1, Cause.NODE_LOST), *retried(2, Cause.USER_ERROR))
    assert (store.trial().state, store.trial().attempt) == (WAITING, 2)
    assert store.trial().causes == (Cause.NODE_LOST, Cause.USER_ERROR)
    assert (store.trial().last_cause, store.trial().last_message) == (Cause.USER_ERROR, "failure 2")


def test_interrupted_attempt_is_not_a_failure(store: Store) -> None:
    store.commit(planned(), placed(), ended(1, TrialState.CANCELLED, WAITING, cause=Cause.CANCELLED))
    assert (store.trial().state, store.trial().causes) == (WAITING, ())


def test_sweep_with_predecessors_is_held_until_it_is_released(store: Store) -> None:
    sweep_id = store.open(after=[1], fix_from={"sweep": 1, "parameters": ["x"]})
    assert [sweep.sweep_id for sweep in store.recorder.open_sweeps(NOBODY)] == [1]
    (held,) = store.recorder.held_sweeps()
    earlier = Predecessor(1, "small", SweepState.QUEUED)
    assert held == HeldSweep(sweep_id, SweepState.QUEUED, held.spec, (earlier,), None, held.wait)
    store.commit(planned(), placed(), ended(value=0.7))
    assert store.recorder.held_sweeps()[0].best == BestTrial(1, 0, {"x": 0.5})
    store.commit(SweepReleased(sweep_id, FixedValues(1, 1, 0, {"x": 0.5}), 14.0))
    assert store.recorder.held_sweeps() == []
    assert spec_from_json(store.sweep(sweep_id).spec).parameters["x"].value == 0.5
    before = store.sweep(sweep_id)
    store.commit(SweepReleased(sweep_id, FixedValues(1, 1, 0, {"x": 0.1}), 15.0))
    assert store.sweep(sweep_id) == before, "a sweep is released once"


def test_held_sweep_that_was_cancelled_is_not_read(store: Store) -> None:
    sweep_id = store.open(after=[1])
    store.cancel(sweep_id)
    store.commit(SweepReleased(sweep_id, None, 14.0))
    assert store.recorder.held_sweeps() == []
    assert [sweep.sweep_id for sweep in store.recorder.open_sweeps(NOBODY)] == [1]


def test_warning_is_stored_replaced_and_withdrawn(store: Store) -> None:
    code = WarningCode.IDENTICAL_RESULTS
    store.commit(SweepWarned(1, code, "look", 12.0))
    store.open(seed=2)
    assert (store.sweep(1).warnings, store.sweep(2).warnings) == ({"identical_results": "look"}, {})
    store.commit(SweepWarned(1, code, "look again", 13.0))
    assert store.sweep(1).warnings == {"identical_results": "look again"}
    store.commit(SweepWarned(1, code, "", 14.0))
    assert store.sweep(1).warnings == {}


def test_end_of_an_old_attempt_is_ignored(store: Store) -> None:
    store.commit(planned(), *retried(1, Cause.NODE_LOST), placed(2))
    store.commit(ended(1, value=0.99))
    assert (store.trial().state, store.trial().value, store.trial().attempt) == (RUNNING, None, 2)
    assert store.trial().causes == (Cause.NODE_LOST,)


@pytest.mark.parametrize("late", [ended(1, FAILED, cause=Cause.SIGNAL), placed(2), TrialDropped(1, 1, 0, 20.0)])
def test_finished_trial_never_changes(store: Store, late: Change) -> None:
    store.commit(planned(), placed(), ended(value=0.7))
    before = store.trial()
    store.commit(late)
    assert store.trial() == before


def test_only_a_waiting_trial_is_dropped(store: Store) -> None:
    store.commit(planned(1, 0), planned(2, 1), placed(1, 2), TrialDropped(1, 1, 0, 20.0), TrialDropped(2, 1, 1, 20.0))
    assert [trial.state for trial in store.sweep().trials] == [TrialState.CANCELLED, RUNNING]


def test_first_report_of_a_step_is_kept_and_other_metrics_are_ignored(store: Store) -> None:
    store.commit(planned(sweep_id=store.open(early_terminate={"type": "median"})), placed())
    for name, step, value in (("score", 0, 0.1), ("score", 0, 0.2), ("score", 3, 0.3), ("loss", 1, 9.0)):
        store.commit(MetricPoint(AttemptKey(1, 1), name, step, value, 12.0))
    assert store.trial().reports == {0: 0.1, 3: 0.3}


def test_only_last_reports_of_unfinished_trials_are_read_when_there_is_no_pruner(store: Store) -> None:
    store.commit(*(planned(trial_id, trial_id - 1) for trial_id in (1, 2, 3)))
    store.commit(*(placed(trial_id=trial_id) for trial_id in (1, 2)))
    for trial_id, step in itertools.product((1, 2), range(100)):
        store.commit(MetricPoint(AttemptKey(trial_id, 1), "score", step, step / 100, 12.0))
    store.commit(ended(value=0.5))
    assert [trial.reports for trial in store.sweep().trials] == [{}, {99: 0.99}, {}]


def test_reports_are_of_the_metric_used_for_pruning(store: Store) -> None:
    early = {"type": "asha", "metric": "loss", "goal": "minimize"}
    sweep_id = store.open(early_terminate=early)
    store.commit(planned(sweep_id=sweep_id), placed())
    for name, step, value in (("score", 0, 0.1), ("loss", 1, 9.0)):
        store.commit(MetricPoint(AttemptKey(1, 1), name, step, value, 12.0))
    assert store.trial().reports == {1: 9.0}


def test_search_notes_replace_earlier_ones(store: Store) -> None:
    store.commit(planned(), SearchAttributesChanged(1, {"rung": 2, "other": 0.5}))
    assert store.trial().attributes == {"rung": 2, "other": 0.5}


def test_why_a_sweep_waits_is_stored_next_to_the_reason_of_its_state(store: Store) -> None:
    wait = Wait(WaitReason.DEVICES_BUSY, "every device is busy: sweep 2 runs")
    store.commit(SweepChanged(1, SweepState.QUEUED, SweepState.STOPPING, "stopped on request", 11.0))
    assert (store.sweep().reason, store.sweep().wait) == ("stopped on request", None)
    store.commit(SweepChanged(1, SweepState.STOPPING, SweepState.STOPPING, "stopped on request", 12.0, wait=wait))
    assert (store.sweep().reason, store.sweep().wait) == ("stopped on request", wait)
    update = store.recorder.pending_commands(frozenset({1})).sweeps[1]
    assert (update.reason, update.wait) == ("stopped on request", wait)
    store.commit(SweepChanged(1, SweepState.STOPPING, SweepState.STOPPING, "stopped on request", 13.0))
    assert store.sweep().wait is None


def test_terminal_sweep_is_not_open_and_stays_terminal(store: Store) -> None:
    store.commit(SweepChanged(1, SweepState.QUEUED, SweepState.RUNNING, "", 11.0))
    assert store.sweep().state is SweepState.RUNNING
    store.commit(SweepChanged(1, SweepState.RUNNING, SweepState.FINISHED, "", 12.0))
    store.commit(SweepChanged(1, SweepState.RUNNING, SweepState.STOPPING, "", 13.0))
    assert store.recorder.open_sweeps(NOBODY) == []


def test_state_set_by_a_client_is_not_overwritten(store: Store) -> None:
    store.set_state(1, SweepState.PAUSED)
    store.commit(
        SweepChanged(1, SweepState.QUEUED, SweepState.RUNNING, "", 11.0),
        SweepChanged(1, SweepState.RUNNING, SweepState.FINISHED, "", 12.0),
    )
    assert store.sweep().state is SweepState.PAUSED


def test_sweep_does_not_stop_when_a_client_has_raised_its_run_cap(store: Store) -> None:
    change = SweepChanged(1, SweepState.QUEUED, SweepState.STOPPING, "", 11.0, run_cap=3)
    store.commit(change)
    assert store.sweep().state is SweepState.QUEUED
    store.commit(replace(change, run_cap=4))
    assert store.sweep().state is SweepState.STOPPING


def test_sweep_does_not_stop_when_a_client_has_changed_its_terms(store: Store) -> None:
    terms = store.sweep().terms
    change = SweepChanged(1, SweepState.QUEUED, SweepState.STOPPING, "", 11.0, terms="{}")
    store.commit(change)
    assert store.sweep().state is SweepState.QUEUED
    store.commit(replace(change, terms=terms))
    assert store.sweep().state is SweepState.STOPPING


def test_usage_of_a_sweep_is_read_back(store: Store) -> None:
    first, last = (ended(number, FAILED, then, cause=Cause.SIGNAL) for number, then in ((1, WAITING), (2, FAILED)))
    store.commit(SweepChanged(1, SweepState.QUEUED, SweepState.RUNNING, "", 11.0))
    store.commit(planned(), placed(), replace(first, device_s=3.0), placed(2), replace(last, device_s=4.5))
    assert (store.sweep().started_at, store.sweep().over_s, store.sweep().device_s) == (11.0, 0.0, 7.5)
    store.commit(SweepChanged(1, SweepState.RUNNING, SweepState.FINISHED, "", 15.0))
    store.commit(SweepChanged(1, SweepState.FINISHED, SweepState.QUEUED, "", 18.0))
    assert (store.sweep().started_at, store.sweep().ended_at, store.sweep().over_s) == (11.0, None, 3.0)


def test_open_attempt_has_its_placement_and_last_heartbeat_times(store: Store) -> None:
    store.commit(planned(), placed())
    assert (store.trial().placed_at, store.trial().seen_at) == (12.0, 12.0)
    store.commit(MetricPoint(AttemptKey(1, 1), "loss", 0, 0.5, 14.0))
    assert (store.trial().placed_at, store.trial().seen_at) == (12.0, 14.0)
    store.commit(ended(value=0.5))
    assert (store.trial().placed_at, store.trial().seen_at) == (None, None)


def test_attempt_that_sends_its_files_has_its_device_time(store: Store) -> None:
    store.commit(planned(), placed())
    assert store.trial().device_s is None
    store.commit(AttemptReleased(AttemptKey(1, 1), 1, 0, 7.0, 12.0))
    assert store.trial().state is TrialState.RUNNING
    assert (store.trial().device_s, store.sweep().device_s) == (7.0, 7.0)
    store.commit(replace(ended(1, FAILED, WAITING, cause=Cause.INFRASTRUCTURE), device_s=7.0))
    assert (store.trial().device_s, store.sweep().device_s) == (None, 7.0)
    store.commit(AttemptReleased(AttemptKey(1, 1), 1, 0, 9.0, 12.0))
    assert store.sweep().device_s == 7.0, "of an attempt that has ended"


def test_attempts_that_leave_their_devices_and_end_in_one_commit(store: Store) -> None:
    store.commit(planned(1), planned(2, 1), placed(), placed(trial_id=2))
    failure = replace(ended(1, FAILED, WAITING, cause=Cause.INFRASTRUCTURE), device_s=7.0)
    store.commit(
        AttemptReleased(AttemptKey(1, 1), 1, 0, 7.0, 12.0), failure, AttemptReleased(AttemptKey(2, 1), 1, 1, 5.0, 12.0)
    )
    assert (store.trial(1).state, store.trial(1).device_s) == (WAITING, None)
    assert (store.trial(2).state, store.trial(2).device_s) == (RUNNING, 5.0)
    assert store.sweep().device_s == 12.0


def test_intervals_change_the_parameters_and_settle_earlier_failures(store: Store) -> None:
    store.commit(planned(), IntervalStarted(1, 1, 1, {"x": 0.25}, 1, 12.0), placed())
    assert store.trial().intervals == (StoredInterval(1, {"x": 0.25}, 1),)
    assert store.trial().params == {"x": 0.25}
    store.commit(ended(1, FAILED, WAITING, cause=Cause.SIGNAL), placed(2))
    assert store.trial().causes == (Cause.SIGNAL,)
    second = AttemptKey(1, 2)
    store.commit(IntervalEnded(second, 1, 1, 4, 0.5, 13.0), ended(2, WAITING, WAITING))
    store.commit(planned(2, 1), IntervalStarted(2, 1, 1, {"x": 0.5}, 1, 14.0))
    store.commit(IntervalStarted(1, 1, 3, {"x": 0.75}, 3, 14.0, donor_id=2, donor_interval=2), placed(3))
    result = IntervalResult(2, placed(2).nonce, 4, 0.5)
    assert store.trial().intervals == (
        StoredInterval(1, {"x": 0.25}, 1, result=result), StoredInterval(3, {"x": 0.75}, 3, 2, 2),
    )  # fmt: skip
    assert (store.trial().params, store.trial().causes) == ({"x": 0.75}, ())
    assert store.trial().state is RUNNING


def test_open_attempt_has_the_nonce_of_its_folder(store: Store) -> None:
    store.commit(planned(), placed())
    assert store.trial().nonce == placed().nonce
    store.commit(ended(1, FAILED, WAITING, cause=Cause.SIGNAL))
    assert store.trial().nonce == "", "the next attempt gets its own"
    store.commit(placed(2))
    assert store.trial().nonce == placed(2).nonce != placed(1).nonce


def test_changes_by_clients_are_reported_for_known_sweeps(store: Store) -> None:
    store.open(run_cap=7, priority=2.0)
    store.set_state(1, SweepState.CANCELLED)
    pending = store.recorder.pending_commands(frozenset({1, 2}))
    assert {i: (command.state, command.run_cap, command.priority) for i, command in pending.sweeps.items()} == {
        1: (SweepState.CANCELLED, 4, 1.0),
        2: (SweepState.QUEUED, 7, 2.0),
    }
    assert list(store.recorder.pending_commands(frozenset({2})).sweeps) == [2]


def _failed(store: Store) -> None:
    store.commit(planned(), placed(), ended(1, TrialState.FAILED, cause=Cause.HOST_MEMORY))


def test_retry_request_is_pending_until_the_trial_waits_with_its_failures_cleared(store: Store) -> None:
    _failed(store)
    assert store.terminal_trial(1).causes == (Cause.HOST_MEMORY,)
    store.request(1, TrialRequest.RETRY)
    (command,) = store.recorder.pending_commands(NOBODY).trials
    assert (command.sweep_id, command.request, command.trial.state) == (1, TrialRequest.RETRY, FAILED)
    store.commit(TrialRetried(1, 1, 0, 30.0))
    trial = store.trial()
    assert (trial.state, trial.causes, trial.forgiven, trial.ended_at) == (WAITING, (), 1, None)
    assert store.recorder.pending_commands(NOBODY).trials == ()


def test_stop_request_is_pending_until_the_trial_is_terminal(store: Store) -> None:
    store.commit(planned(), placed())
    store.request(1, TrialRequest.STOP)
    store.commit(ended(1, TrialState.CANCELLED, WAITING))
    assert len(store.recorder.pending_commands(NOBODY).trials) == 1
    store.commit(TrialDropped(1, 1, 0, 40.0))
    assert store.recorder.pending_commands(NOBODY).trials == ()


def test_request_is_dropped_when_the_trial_is_terminal(store: Store) -> None:
    store.commit(planned(), placed())
    store.request(1, TrialRequest.STOP)
    store.commit(ended(1, FINISHED, value=0.5))
    assert store.recorder.pending_commands(NOBODY).trials == ()
    store.request(1, TrialRequest.STOP)
    store.commit(RequestObsolete(1))
    assert store.recorder.pending_commands(NOBODY).trials == ()


def test_finished_trial_is_not_retried(store: Store) -> None:
    store.commit(planned(), placed(), ended(1, FINISHED, value=0.5), TrialRetried(1, 1, 0, 30.0))
    assert (store.trial().state, store.trial().value) == (FINISHED, 0.5)


def test_enqueued_configuration_is_pending_until_it_is_a_trial(store: Store) -> None:
    enqueued_id = store.enqueue(1, {"x": 0.5})
    assert store.recorder.pending_commands(NOBODY).enqueued == (Enqueued(enqueued_id, 1, {"x": 0.5}),)
    store.commit(TrialPlanned(1, 1, 0, {"x": 0.5}, "clone", {}, 10.0, enqueued_id))
    assert store.recorder.pending_commands(NOBODY).enqueued == ()


@pytest.mark.parametrize("over", [SweepState.FINISHED, SweepState.FAILED])
def test_terminal_sweep_is_open_while_a_request_is_pending(store: Store, over: SweepState) -> None:
    _failed(store)
    store.commit(
        SweepChanged(1, SweepState.QUEUED, SweepState.RUNNING, "", 11.0),
        SweepChanged(1, SweepState.RUNNING, over, "", 12.0),
    )
    assert store.recorder.open_sweeps(NOBODY) == []
    store.request(1, TrialRequest.RETRY)
    assert store.sweep().state is over
    store.commit(SweepChanged(1, over, SweepState.QUEUED, "", 13.0))
    assert store.trial().forgiven == (1 if over is SweepState.FAILED else 0)


def test_drained_device_keeps_its_first_reason(store: Store) -> None:
    store.commit(DeviceDrained("cpu-0", "first", 1.0), DeviceDrained("cpu-0", "second", 2.0))
    assert store.recorder.pending_commands(NOBODY).drained == (DeviceDrain("cpu-0", "", "first"),)


def test_fenced_scheduler_writes_nothing(store: Store) -> None:
    store.commit(planned())
    store.take_over()
    with pytest.raises(FencedError):
        store.commit(placed())
    assert store.trial().state is WAITING


def test_cancelled_sweep_is_open_until_its_trials_are_terminal(store: Store) -> None:
    store.commit(planned(1, 0), planned(2, 1), placed())
    store.cancel(1)
    assert store.sweep().state is SweepState.CANCELLED
    store.commit(ended(1, TrialState.CANCELLED), TrialDropped(2, 1, 1, 20.0))
    assert store.recorder.open_sweeps(NOBODY) == []


def test_failed_commit_writes_nothing(store: Store) -> None:
    store.commit(planned())
    with pytest.raises(DatabaseError):
        store.commit(SweepChanged(1, SweepState.QUEUED, SweepState.RUNNING, "", 11.0), placed(), planned())
    assert store.sweep().state is SweepState.QUEUED
    assert store.trial().state is WAITING


@pytest.mark.parametrize("make", [_sqlite, _postgres])
def test_value_that_no_column_can_store_raises_and_writes_nothing(
    make: Callable[[Path], Store], tmp_path: Path
) -> None:
    store = make(tmp_path)
    store.open()
    for wrong in (
        MetricPoint(AttemptKey(1, 1), "score", 2**70, 0.5, 12.0),
        SweepChanged(1, SweepState.QUEUED, SweepState.RUNNING, "\ud800", 12.0),
    ):
        with pytest.raises((OverflowError, UnicodeEncodeError, DatabaseError)):
            store.commit(planned(), wrong)
        assert store.recorder.last_trial_id() == 0
        store.commit()
    store.commit(planned())
    assert store.trial().state is WAITING
    store.close()


def test_no_device_is_dedicated_without_an_ensemble(store: Store) -> None:
    store.commit(planned(), placed())
    assert store.recorder.pending_commands(NOBODY).dedicated == {}


def test_devices_and_trials_are_written_in_one_commit(store: Store) -> None:
    store.commit(DeviceChanged("cpu-0", "cpu", 0, "node", "", None, 5, DeviceState.READY, "", 9.0), planned())
    assert store.trial().state is WAITING
