"""The stores: idempotent accepting, fenced trials, events with unique ids, tokens stored only as hashes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from sqlalchemy import Connection, delete, text, update

from podium.db.access import tokens
from podium.db.access.tokens import Role
from podium.db.queries import attempt_reader, best_trials, trial_artifact_rows, trial_pages
from podium.db.queries.trial_cursor import Position
from podium.db.schema.database import Database
from podium.db.schema.tables import events as events_table
from podium.db.schema.tables import tokens as tokens_table
from podium.db.stores import (
    devices,
    event_outbox,
    metric_summaries,
    metrics,
    parameter_columns,
    sweeps,
    trial_reader,
)
from podium.db.stores.event_outbox import NewEvent
from podium.sweep.lifecycle.database_changes import (
    ArtifactSaved,
    AttemptEnded,
    AttemptPlaced,
    Change,
    DeviceChanged,
    MetricPoint,
    SweepChanged,
    TrialDropped,
    TrialPlanned,
)
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.device_state import DeviceState
from podium.sweep.values.errors import ConflictError, IllegalTransitionError, InvalidSpecError, NotFoundError
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Saved
from podium.sweep.values.states import SweepState, TrialState
from podium.sweep.values.sweep_wait_reason import WAITS_FOR_SCHEDULER, Wait, WaitReason
from tests.specs import spec

FINISHED, FAILED, WAITING = TrialState.FINISHED, TrialState.FAILED, TrialState.WAITING


def test_scheduler_has_an_epoch_above_those_that_slots_have_seen(database: Database) -> None:
    first = DatabaseRecorder(database).epoch
    assert DatabaseRecorder(database, after_epoch=first + 5).epoch == first + 6
    assert DatabaseRecorder(database, after_epoch=1).epoch == first + 7


def accept(database: Database, key: str | None = None, **changes: object) -> tuple[int, bool]:
    with database.write() as connection:
        return sweeps.accept(connection, spec(**changes), 10.0, key)


def record(database: Database, *changes: Change) -> None:
    DatabaseRecorder(database).commit(changes)


def planned(trial_id: int = 1, number: int = 0, **params: object) -> TrialPlanned:
    return TrialPlanned(trial_id, 1, number, params or {"x": 0.5}, "random", {}, 11.0)  # type: ignore[arg-type]


def placed(attempt: int = 1, trial_id: int = 1, at: float = 12.0) -> AttemptPlaced:
    return AttemptPlaced(AttemptKey(trial_id, attempt), 1, trial_id - 1, "cpu-0", "node", at, f"{attempt:08x}")


def ended(
    attempt: int = 1,
    state: TrialState = FINISHED,
    *,
    trial_id: int = 1,
    value: float | None = 0.9,
    then: TrialState | None = None,
    at: float = 14.0,
) -> AttemptEnded:
    cause = Cause.INFRASTRUCTURE if state is FAILED else None
    event = Ended(AttemptKey(trial_id, attempt), state, 12.0, at, value=value, cause=cause)
    return AttemptEnded(event, 1, trial_id - 1, then or state)


def shown(database: Database, trial_id: int = 1) -> trial_reader.TrialRow:
    with database.read() as connection:
        return trial_reader.get(connection, trial_id)


def test_trials_are_read_in_the_order_of_their_ids_in_the_list(database: Database) -> None:
    accept(database)
    record(database, planned(1, 0), planned(2, 1), planned(3, 2))
    with database.read() as connection:
        assert [row.id for row in trial_reader.read(connection, [3, 9, 1])] == [3, 1]
        assert trial_reader.read(connection, []) == []


# Sweeps.


def test_same_key_and_spec_return_the_same_sweep(database: Database) -> None:
    assert accept(database, "key") == (1, True)
    assert accept(database, "key") == (1, False)
    assert accept(database, "other") == (2, True)
    assert accept(database) == (3, True)
    with database.read() as connection:
        assert [event["kind"] for event in event_outbox.after(connection, 0)] == ["sweep.queued"] * 3


def test_same_key_with_another_spec_is_a_conflict(database: Database) -> None:
    accept(database, "key")
    with pytest.raises(ConflictError, match="Idempotency-Key"):
        accept(database, "key", seed=5)


def test_terminal_sweep_never_changes(database: Database) -> None:
    accept(database)
    record(
        database,
        SweepChanged(1, SweepState.QUEUED, SweepState.RUNNING, "", 11.0),
        SweepChanged(1, SweepState.RUNNING, SweepState.FINISHED, "done", 12.0),
    )
    record(database, SweepChanged(1, SweepState.QUEUED, SweepState.RUNNING, "again", 13.0))
    with database.read() as connection:
        sweep = sweeps.get(connection, 1)
        kinds = [event["kind"] for event in event_outbox.after(connection, 0)]
    assert (sweep.state, sweep.reason, sweep.started_at, sweep.ended_at) == (SweepState.FINISHED, "done", 11.0, 12.0)
    assert kinds == ["sweep.queued", "sweep.running", "sweep.finished"]


def test_a_sweep_waits_for_the_scheduler_until_its_state_changes(database: Database) -> None:
    accept(database)
    wait = Wait(WaitReason.NO_DEVICE, "no device is up yet")
    with database.read() as connection:
        assert sweeps.get(connection, 1).wait == WAITS_FOR_SCHEDULER
    record(database, SweepChanged(1, SweepState.QUEUED, SweepState.QUEUED, "", 11.0, wait=wait))
    with database.read() as connection:
        assert sweeps.get(connection, 1).wait == wait
    record(database, SweepChanged(1, SweepState.QUEUED, SweepState.RUNNING, "", 12.0))
    with database.read() as connection:
        assert sweeps.get(connection, 1).wait is None
        told = [(event["kind"], event["payload"]) for event in event_outbox.after(connection, 0)][1:]
    assert told == [
        ("sweep.reason", {"reason": "", "wait_reason": "no_device", "wait_message": "no device is up yet"}),
        ("sweep.running", {"reason": "", "wait_reason": None, "wait_message": ""}),
    ]


def test_sweep_paused_during_its_first_placement_has_started(database: Database) -> None:
    accept(database)
    with database.write() as connection:
        sweeps.set_state(connection, 1, SweepState.PAUSED, "paused on request", 11.0)
    record(database, SweepChanged(1, SweepState.QUEUED, SweepState.RUNNING, "", 12.0))
    with database.read() as connection:
        sweep = sweeps.get(connection, 1)
    assert (sweep.state, sweep.reason, sweep.started_at) == (SweepState.PAUSED, "paused on request", 12.0)


def test_sweep_is_cancelled_once(database: Database) -> None:
    accept(database)
    with database.write() as connection:
        sweeps.set_state(connection, 1, SweepState.CANCELLED, "cancelled on request", 11.0)
        assert sweeps.get(connection, 1).state is SweepState.CANCELLED
        with pytest.raises(IllegalTransitionError, match="terminal state"):
            sweeps.set_state(connection, 1, SweepState.CANCELLED, "cancelled on request", 12.0)


def test_unknown_id_is_not_found(database: Database) -> None:
    with database.read() as connection:
        with pytest.raises(NotFoundError, match="no sweep 7"):
            sweeps.get(connection, 7)
        with pytest.raises(NotFoundError, match="no trial 7"):
            trial_reader.get(connection, 7)


def test_pages_of_sweeps_have_no_gap_and_no_overlap(database: Database) -> None:
    for _ in range(5):
        accept(database)
    with database.read() as connection:
        first = sweeps.page(connection, limit=2)
        second = sweeps.page(connection, limit=2, after=first[-1].id)
        assert [sweep.id for sweep in [*first, *second]] == [5, 4, 3, 2]
        assert sweeps.page(connection, states=[SweepState.FAILED]) == []


def test_sweep_counts_its_trials_by_state(database: Database) -> None:
    accept(database)
    record(database, planned(1), planned(2, 1), planned(3, 2), placed(), ended())
    with database.read() as connection:
        assert sweeps.get(connection, 1).counts == {FINISHED: 1, WAITING: 2}


# Trials.


def test_trial_goes_from_planned_to_finished(database: Database) -> None:
    accept(database)
    record(database, planned(x=0.25, act="relu", deep=True, none=None))
    assert (shown(database).state, shown(database).attempt, shown(database).device_id) == (WAITING, 0, None)
    record(database, placed())
    assert (shown(database).state, shown(database).device_id) == (TrialState.RUNNING, "cpu-0")
    record(database, ended())
    trial = shown(database)
    assert (trial.state, trial.value, trial.started_at, trial.ended_at) == (FINISHED, 0.9, 12.0, 14.0)
    assert trial.params == {"x": 0.25, "act": "relu", "deep": True, "none": None}


def test_end_of_an_old_attempt_is_ignored(database: Database) -> None:
    accept(database)
    record(database, planned(), placed(1), ended(1, FAILED, then=WAITING), placed(2))
    record(database, ended(1, value=0.99))
    assert (shown(database).state, shown(database).value, shown(database).attempt) == (TrialState.RUNNING, None, 2)
    with database.read() as connection:
        first, second = attempt_reader.attempts_of(connection, 1)
    assert (first.state, first.cause, second.state) == ("failed", "infrastructure", None)


@pytest.mark.parametrize("together", [True, False])
def test_end_that_does_not_count_gives_no_event(database: Database, together: bool) -> None:
    accept(database)
    record(database, planned(), placed(1), ended(1, FAILED, value=None, then=WAITING), placed(2))
    ends = [ended(1, value=0.1), ended(2, value=0.9), ended(2, FAILED, value=None)]
    for changes in [ends] if together else [[end] for end in ends]:
        record(database, *changes)
    with database.read() as connection:
        kinds = [event["kind"] for event in event_outbox.after(connection, 0)]
    assert [kind for kind in kinds if kind in ("trial.finished", "trial.failed")] == ["trial.finished"]


@pytest.mark.parametrize(
    "late", [[ended(1, FAILED, value=None)], [placed(2), ended(2, value=0.1)], [TrialDropped(1, 1, 0, 99.0)]]
)
def test_finished_trial_never_changes(database: Database, late: Sequence[Change]) -> None:
    accept(database)
    record(database, planned(), placed(), ended())
    before = shown(database)
    record(database, *late)
    assert shown(database) == before


@pytest.mark.parametrize("state", [TrialState.PRUNED, FAILED, TrialState.CANCELLED])
def test_only_a_finished_trial_has_a_value(database: Database, state: TrialState) -> None:
    accept(database)
    record(database, planned(), placed(), ended(state=state, value=0.9))
    assert (shown(database).state, shown(database).value) == (state, None)


@pytest.mark.parametrize(("goal", "ids"), [("maximize", [2, 1, 3]), ("minimize", [1, 3, 2])])
def test_best_trials_are_finished_and_ties_go_to_the_earlier(database: Database, goal: str, ids: list[int]) -> None:
    accept(database)
    for trial_id, value in ((1, 0.5), (2, 0.8), (3, 0.5)):
        record(database, planned(trial_id, trial_id - 1), placed(1, trial_id), ended(1, trial_id=trial_id, value=value))
    record(database, planned(4, 3), placed(1, 4), ended(1, FAILED, trial_id=4, value=9.0))
    with database.read() as connection:
        assert [trial.id for trial in best_trials.best(connection, 1, goal, 10)] == ids
        assert [trial.id for trial in best_trials.best(connection, 1, goal, 1)] == ids[:1]
        assert [trial.id for trial in trial_pages.page(connection, 1, after=Position(0), limit=2).rows] == [2, 3]


def test_first_report_of_a_step_is_kept(database: Database) -> None:
    accept(database)
    record(database, planned(), placed(1))
    for steps, value in ((1, 0.1), (2, 0.2)):
        record(database, *[MetricPoint(AttemptKey(1, 1), "m", step, value, 12.0) for step in range(steps)])
    with database.read() as connection:
        assert metrics.of_trial(connection, 1) == {"m": [(0, 0.1), (1, 0.2)]}
        assert metrics.of_trial(connection, 1, "other") == {}


@pytest.mark.parametrize("most", [metrics.MIN_POINTS, 5, 50, 999])
def test_thinned_curve_keeps_its_ends_maximum_and_minimum(database: Database, most: int) -> None:
    accept(database)
    record(database, planned(), placed(1))
    curve = [(step, {300: 9.0, 1500: -9.0}.get(step, step % 7 / 7)) for step in range(0, 3000, 3)]
    record(database, *[MetricPoint(AttemptKey(1, 1), "m", step, value, 12.0) for step, value in curve])
    record(database, MetricPoint(AttemptKey(1, 1), "n", 5, 0.5, 12.0))
    with database.read() as connection:
        thinned = metrics.of_trial(connection, 1, max_points=most)
        assert metrics.of_trial(connection, 1, "m", max_points=most) == {"m": thinned["m"]}
    lowest, highest = (pick(curve, key=lambda point: point[1]) for pick in (min, max))
    assert {curve[0], curve[-1], lowest, highest} <= set(thinned["m"]) <= set(curve)
    assert thinned["m"] == sorted(thinned["m"])
    assert len(thinned["m"]) <= most
    assert thinned["n"] == [(5, 0.5)]


def test_short_curve_is_not_thinned(database: Database) -> None:
    accept(database)
    record(database, planned(), placed(1))
    record(database, *[MetricPoint(AttemptKey(1, 1), "m", step, 0.5, 12.0) for step in range(10)])
    with database.read() as connection:
        assert len(metrics.of_trial(connection, 1, max_points=10)["m"]) == 10
        assert len(metrics.of_trial(connection, 1, max_points=9)["m"]) <= 9
        with pytest.raises(ValueError, match="max_points=3"):
            metrics.of_trial(connection, 1, max_points=3)


def test_points_that_are_not_finite_are_stored_apart(database: Database) -> None:
    accept(database)
    values = [0.5, math.inf, -math.inf, math.nan]
    record(database, planned(), *(MetricPoint(AttemptKey(1, 1), "m", n, value, 1.0) for n, value in enumerate(values)))
    with database.read() as connection:
        assert metrics.of_trial(connection, 1) == {"m": [(0, 0.5)]}
        assert metrics.non_finite_of_trial(connection, 1) == {"m": [(1, "inf"), (2, "-inf"), (3, "nan")]}


def test_curve_is_thinned_by_its_points_not_by_its_steps(database: Database) -> None:
    accept(database)
    record(database, planned(), placed(1))
    points = [MetricPoint(AttemptKey(1, 1), "m", 1000 * step, 0.5, 12.0) for step in range(10)]
    record(database, *points, MetricPoint(AttemptKey(1, 1), "nan", 0, math.nan, 12.0))
    with database.read() as connection:
        assert len(metrics.of_trial(connection, 1, max_points=10)["m"]) == 10
        assert len(metrics.of_trial(connection, 1, max_points=9)["m"]) < 9
        assert metrics.of_trial(connection, 1).keys() == {"m"}


def test_summary_without_points_is_no_curve(database: Database) -> None:
    accept(database)
    record(database, planned(), placed(1), MetricPoint(AttemptKey(1, 1), "m", 0, 0.5, 12.0))
    with database.write() as connection:
        metric_summaries.add(connection, [(1, 1, "lost", 9, 0.5, 12.0)])
    with database.read() as connection:
        assert metrics.of_trial(connection, 1) == {"m": [(0, 0.5)]}
        assert metrics.of_trial(connection, 1, max_points=4) == {"m": [(0, 0.5)]}


def test_curves_of_several_trials_are_read_together(database: Database) -> None:
    accept(database)
    record(database, *(planned(number + 1, number) for number in range(3)))
    record(database, *(MetricPoint(AttemptKey(1, 1), "m", step, float(step), 1.0) for step in range(9)))
    record(database, MetricPoint(AttemptKey(2, 1), "m", 7, 0.5, 1.0), MetricPoint(AttemptKey(2, 1), "n", 0, 1.0, 1.0))
    with database.read() as connection:
        found = metrics.of_trials(connection, [3, 2, 1], "m", max_points=4)
    assert found == {1: (9, [(0, 0.0), (8, 8.0)]), 2: (1, [(7, 0.5)])}


def test_file_of_a_later_attempt_replaces_an_earlier_one(database: Database) -> None:
    accept(database)
    record(database, planned(), placed(1), ended(1, FAILED, then=WAITING), placed(2))
    for attempt in (1, 2):
        record(database, ArtifactSaved(Saved(AttemptKey(1, attempt), "model", str(attempt) * 64, attempt)))
    with database.read() as connection:
        (artifact,) = trial_artifact_rows.artifacts_of(connection, 1)
    assert (artifact.attempt, artifact.sha256) == (2, "2" * 64)


def test_device_is_busy_while_a_trial_runs_on_it(database: Database) -> None:
    accept(database)
    record(
        database, DeviceChanged("cpu-0", "cpu", 0, "node", "", None, 5, DeviceState.READY, "", 9.0), planned(), placed()
    )
    with database.read() as connection:
        (device,) = devices.all_of(connection)
    assert (device.state, device.trial_id) == ("busy", 1)
    record(database, ended())
    with database.write() as connection:
        (device,) = devices.all_of(connection)
        assert (device.state, device.trial_id) == ("ready", None)
        devices.forget(connection, ["cpu-1"])
        assert devices.all_of(connection) == []


# Events.


def _ids(connection: Connection) -> list[int]:
    return [event["id"] for event in event_outbox.after(connection, 0)]


def test_event_id_is_never_reused(database: Database) -> None:
    with database.write() as connection:
        event_outbox.add(connection, [NewEvent(1.0, "a"), NewEvent(2.0, "b")])
        last = _ids(connection)[-1]
        connection.execute(delete(events_table))
    with database.write() as connection:
        event_outbox.add(connection, [NewEvent(3.0, "c")])
        assert _ids(connection) == [last + 1]


def test_events_are_read_from_the_last_id_of_a_client(database: Database) -> None:
    with database.write() as connection:
        event_outbox.add(connection, [NewEvent(float(n), f"e{n}", sweep_id=1, payload={"n": n}) for n in range(5)])
        assert [event["kind"] for event in event_outbox.after(connection, 2, limit=2)] == ["e2", "e3"]
        assert event_outbox.after(connection, 2, limit=1)[0]["payload"] == {"n": 2}


# Tokens.


def test_token_identifies_its_holder_and_is_stored_as_a_hash(database: Database) -> None:
    token = tokens.new_token()
    with database.write() as connection:
        tokens.add(connection, "ann", Role.SUBMITTER, token, 1.0)
        tokens.add(connection, "eve", Role.ADMIN, token, 2.0)
        holder = tokens.holder(connection, token, 3.0)
        dump = str(connection.execute(text("SELECT * FROM tokens")).all())
        assert tokens.holder(connection, tokens.new_token(), 3.0) is None
    assert holder is not None and (holder.name, holder.role) == ("ann", Role.SUBMITTER)
    assert token not in dump and tokens.digest(token) in dump


@pytest.mark.parametrize("column", ["revoked_at", "expires_at"])
def test_revoked_or_expired_token_identifies_nobody(database: Database, column: str) -> None:
    with database.write() as connection:
        tokens.add(connection, "ann", Role.VIEWER, "secret", 1.0)
        connection.execute(update(tokens_table).values({column: 5.0}))
        assert tokens.holder(connection, "secret", 5.0) is None


def test_each_role_of_people_includes_the_lower_ones_and_that_of_a_node_stands_alone() -> None:
    assert [[role.covers(needed) for needed in Role] for role in Role] == [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [False, False, False, True],
    ]


@pytest.mark.parametrize(("value", "number"), [(2, 2.0), (0.5, 0.5), (True, 1.0), ("2", None), (None, None)])
def test_parameter_is_sorted_by_its_numeric_value(value: object, number: float | None) -> None:
    assert parameter_columns.sortable(value) == number


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_number_beyond_float_range_has_no_sort_value(value: int) -> None:
    assert parameter_columns.sortable(value) is None


def test_sweep_that_cannot_be_read_back_is_not_accepted(database: Database) -> None:
    good = spec()
    bad = good.model_copy(update={"limits": good.limits.model_copy(update={"start_s": math.inf})})
    with database.write() as connection, pytest.raises(InvalidSpecError, match="start_s"):
        sweeps.accept(connection, bad, 10.0)
    with database.read() as connection:
        assert sweeps.page(connection) == []
