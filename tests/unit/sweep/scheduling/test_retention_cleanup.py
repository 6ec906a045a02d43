"""Removal of trials' weights, checkpoints and artifacts, and what remains when it is interrupted."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from podium.db.integrity.main import Report, audit
from podium.db.stores import ensemble_writer, member_candidates, retention_plan
from podium.sweep.lifecycle.database_changes import (
    ArtifactSaved,
    AttemptEnded,
    AttemptPlaced,
    TrialPlanned,
    TrialRetried,
)
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.runtime.weights_removal_lock import hold_weights, try_lock_weights
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.scheduling.file_cleanup_thread import CleanupThread
from podium.sweep.scheduling.retention_cleanup import Retention
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.errors import DatabaseError, FencedError
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended, Saved
from podium.sweep.values.states import TrialState
from tests.rig import Rig
from tests.service_rig import AT, ServiceRig, assert_problem, nonce

REASON = "its weights were not kept: keep.models is 2"
VALUES = (0.5, 0.9, 0.7, 0.9, 0.1)


@pytest.fixture
def retention(service: ServiceRig) -> Retention:
    return Retention(service.database, service.data, service.epoch, lambda: AT + 9)


def model(service: ServiceRig, number: int, sweep_id: int = 1) -> Path:
    return service.attempt(sweep_id, number).model


def kept(service: ServiceRig, sweep_id: int = 1) -> list[int]:
    """The numbers of the trials whose weights exist, in the database and on the disk."""
    with service.database.read() as connection:
        found = [t.number for t in member_candidates.of_sweep(connection, sweep_id) if t.model_sha256 is not None]
    on_disk = [int(path.parts[-3]) for path in service.data.trials.glob(f"{sweep_id}/*/*/model.safetensors")]
    assert found == sorted(on_disk)
    return found


def wrong(report: Report) -> list[str]:
    """Findings of the audit about files and members. Other rows of this rig are incomplete."""
    about = ("the model is not retained", "a member", "a file of", "is missing", "is not there")
    return [breach.wrong for breach in report.breaches if any(words in breach.wrong for words in about)]


def finished_sweep(service: ServiceRig, *, models: int = 2, goal: str = "maximize") -> int:
    better = {"maximize": "val_accuracy", "minimize": "val_loss"}[goal]
    sweep_id = service.sweep(keep={"models": models}, metric={"name": better, "goal": goal})
    for number, value in enumerate(VALUES):
        service.trial(sweep_id, number, value)
    return sweep_id


@pytest.mark.parametrize(("goal", "best"), [("maximize", [1, 3]), ("minimize", [0, 4])])
def test_weights_of_best_trials_are_kept(service: ServiceRig, retention: Retention, goal: str, best: list[int]) -> None:
    sweep_id = finished_sweep(service, goal=goal)
    predictions = service.attempt(sweep_id, 2).predictions
    predictions.write_bytes(b"content")
    assert retention.apply(sweep_id)
    assert kept(service) == best
    assert predictions.read_bytes() == b"content"
    assert wrong(audit(service.data, service.database, settle_s=0)) == []


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.sampled_from([0.1, 0.2, 0.3]), min_size=1, max_size=6), models=st.integers(1, 4))
def test_earlier_trial_ranks_higher_among_equal_values(service: ServiceRig, values: list[float], models: int) -> None:
    sweep_id = service.sweep(keep={"models": models})
    for number, value in enumerate(values):
        service.trial(sweep_id, number, value)
    expected = sorted(range(len(values)), key=lambda number: (-values[number], number))[models:]
    with service.database.read() as connection:
        assert [left.number for left in retention_plan.surplus(connection, sweep_id, models)] == expected


SEVERAL = [{"name": "val_accuracy", "goal": "maximize"}, {"name": "val_loss", "goal": "minimize"}]
POINTS = [(0.9, 0.9), (0.8, 0.95), (0.1, 0.1), (0.5, 0.6)]  # the second is dominated only by the first


def test_pareto_front_is_kept_before_better_first_values(service: ServiceRig, retention: Retention) -> None:
    sweep_id = service.sweep(metric=None, metrics=SEVERAL, keep={"models": 3, "checkpoints": "best"})
    for number, values in enumerate(POINTS):
        service.trial(sweep_id, number, values)
        service.attempt(sweep_id, number).checkpoint.write_bytes(b"state")
        retention.apply(sweep_id)
    assert kept(service) == [0, 2, 3]
    on_disk = [int(path.parts[-3]) for path in service.data.trials.glob("1/*/*/checkpoint.safetensors")]
    assert sorted(on_disk) == [0, 2, 3]


def test_trial_that_may_be_retried_keeps_weights_until_sweep_ends(service: ServiceRig, retention: Retention) -> None:
    sweep_id = service.sweep(keep={"models": 1})
    service.trial(sweep_id, 0, 0.5)
    service.trial(sweep_id, 1, None, cause=Cause.USER_ERROR)
    retention.apply(sweep_id)
    assert model(service, 1).exists()
    service.end_sweep(sweep_id)
    retention.apply(sweep_id)
    assert kept(service) == [0]


@pytest.mark.parametrize("removed", [True, False])
def test_weights_of_retried_trial_are_distinct_from_removed_ones(
    service: ServiceRig, retention: Retention, client: TestClient, removed: bool
) -> None:
    sweep_id = service.sweep(keep={"models": 1})
    trial_id = service.trial(sweep_id, 0, None, cause=Cause.USER_ERROR)
    service.end_sweep(sweep_id)
    if removed:
        retention.apply(sweep_id)
    else:
        with service.database.write() as connection:
            retention_plan.mark_for_removal(connection, retention_plan.surplus(connection, sweep_id, 1), REASON, AT)
    key = AttemptKey(trial_id, 2)
    second = service.attempt(sweep_id, 0, 2)
    second.prepare()
    second.model.write_bytes(b"weights")
    service.commit(
        TrialRetried(trial_id, sweep_id, 0, AT + 5),
        AttemptPlaced(key, sweep_id, 0, "cpu-0", "node", AT + 6, nonce(0, 2)),
        ArtifactSaved(Saved(key, "model.safetensors", "b" * 64, 7)),
        AttemptEnded(Ended(key, TrialState.FINISHED, AT + 7, AT + 7, value=0.5), sweep_id, 0, TrialState.FINISHED),
    )
    retention.resume()
    assert second.model.exists()
    files = client.get(f"/api/v1/trials/{trial_id}").json()["artifacts"]
    assert [(file["sha256"], file["removed"]) for file in files] == [("b" * 64, None)]
    with service.database.read() as connection:
        assert [t.not_kept for t in member_candidates.named(connection, [trial_id])] == [""]
    service.trial(sweep_id, 1, 0.9)
    retention.apply(sweep_id)
    assert not second.model.exists()


def test_running_and_failed_trials_keep_weights_and_pruned_ones_do_not(
    service: ServiceRig, retention: Retention
) -> None:
    sweep_id = service.sweep(keep={"models": 1})
    service.trial(sweep_id, 0, 0.5)
    for number, state in enumerate([TrialState.FAILED, TrialState.PRUNED], start=1):
        trial_id = service.trial(sweep_id, number, None)
        ended = Ended(AttemptKey(trial_id, 1), state, AT + 1, AT + 3)
        service.commit(AttemptEnded(ended, sweep_id, number, state))
    service.trial(sweep_id, 3, None)
    retention.apply(sweep_id)
    assert [number for number in range(4) if model(service, number).exists()] == [0, 1, 3]


def test_constraint_violation_ranks_below_all_feasible_trials(service: ServiceRig, retention: Retention) -> None:
    sweep_id = service.sweep(keep={"models": 2})
    for number, (value, size) in enumerate([(0.9, 1.0), (0.1, 0.0), (0.2, -1.0)]):
        trial_id = service.trial(sweep_id, number, None)
        ended = Ended(AttemptKey(trial_id, 1), TrialState.FINISHED, AT, AT, value=value, constraints={"size": size})
        service.commit(AttemptEnded(ended, sweep_id, number, TrialState.FINISHED))
    retention.apply(sweep_id)
    assert kept(service) == [1, 2]


def test_weights_of_all_attempts_are_removed(service: ServiceRig, retention: Retention) -> None:
    sweep_id = service.sweep(keep={"models": 1})
    service.trial(sweep_id, 0, 0.9)
    service.trial(sweep_id, 1, None)
    key = AttemptKey(2, 2)
    second = service.attempt(sweep_id, 1, 2)
    second.prepare()
    second.model.write_bytes(b"weights")
    service.commit(
        AttemptEnded(Ended(AttemptKey(2, 1), TrialState.CANCELLED, AT, AT), sweep_id, 1, TrialState.WAITING),
        AttemptPlaced(key, sweep_id, 1, "cpu-0", "node", AT + 1, nonce(1, 2)),
        ArtifactSaved(Saved(key, "model.safetensors", "a" * 64, 7)),
        AttemptEnded(Ended(key, TrialState.FINISHED, AT, AT, value=0.1), sweep_id, 1, TrialState.FINISHED),
    )
    retention.apply(sweep_id)
    assert not model(service, 1).exists() and not second.model.exists()


def test_members_keep_weights_until_their_ensemble_is_retired(service: ServiceRig, retention: Retention) -> None:
    sweep_id = finished_sweep(service)
    first, second = service.ensemble(sweep_id, [1, 3]), service.ensemble(sweep_id, [5])
    retention.apply(sweep_id)
    assert kept(service) == [0, 1, 2, 3, 4]
    with service.database.write() as connection:
        ensemble_writer.stop(connection, first, AT)
        ensemble_writer.retire(connection, second, AT)
    retention.apply(sweep_id)
    assert kept(service) == [0, 1, 2, 3]
    with service.database.write() as connection:
        ensemble_writer.retire(connection, first, AT)
    retention.apply(sweep_id)
    assert kept(service) == [1, 3]


def test_nothing_is_removed_while_an_ensemble_is_built(service: ServiceRig, retention: Retention) -> None:
    sweep_id = finished_sweep(service)
    with hold_weights(service.data), hold_weights(service.data):
        assert not retention.apply(sweep_id)
        assert kept(service) == [0, 1, 2, 3, 4]
    assert retention.apply(sweep_id)
    assert kept(service) == [1, 3]


def test_building_lock_is_exclusive_during_removal(service: ServiceRig) -> None:
    with try_lock_weights(service.data) as free, try_lock_weights(service.data) as other:
        assert (free, other) == (True, False)


def test_new_member_is_excluded_from_removal(service: ServiceRig) -> None:
    sweep_id = finished_sweep(service)
    with service.database.read() as connection:
        left = retention_plan.surplus(connection, sweep_id, 2)
    service.ensemble(sweep_id, [left[0].trial_id])
    with service.database.write() as connection:
        retention_plan.mark_for_removal(connection, left, REASON, AT)
        assert {each.trial_id for each in retention_plan.marked_for_removal(connection)} == {
            each.trial_id for each in left[1:]
        }


@pytest.mark.parametrize("removed", [False, True])
def test_interrupted_removal_leaves_consistent_directory_and_resumes(
    service: ServiceRig, retention: Retention, removed: bool
) -> None:
    sweep_id = finished_sweep(service)
    with service.database.write() as connection:
        left = retention_plan.surplus(connection, sweep_id, 2)
        retention_plan.mark_for_removal(connection, left, REASON, AT)
    if removed:
        for each in left:
            model(service, each.number).unlink()
    report = audit(service.data, service.database, sleep=lambda _: None)
    assert wrong(report) == []
    assert any("the model is not retained" in note for note in report.notes) is not removed
    assert retention.resume() == [sweep_id]
    assert kept(service) == [1, 3]
    with service.database.read() as connection:
        assert retention_plan.marked_for_removal(connection) == []


def test_fenced_scheduler_removes_nothing(service: ServiceRig, retention: Retention) -> None:
    sweep_id = finished_sweep(service)
    DatabaseRecorder(service.database)
    with pytest.raises(FencedError):
        retention.apply(sweep_id)
    assert kept(service) == [0, 1, 2, 3, 4]


# Reports of removed weights.


def test_trial_reports_that_its_weights_were_not_kept(
    service: ServiceRig, retention: Retention, client: TestClient
) -> None:
    retention.apply(finished_sweep(service))
    found = {number: client.get(f"/api/v1/trials/{number + 1}").json()["artifacts"] for number in (0, 1)}
    assert [(file["name"], file["removed"]) for file in found[0]] == [("model.safetensors", REASON)]
    assert [(file["name"], file["removed"]) for file in found[1]] == [("model.safetensors", None)]


def test_trial_without_weights_cannot_become_a_member(
    service: ServiceRig, retention: Retention, client: TestClient
) -> None:
    sweep_id = finished_sweep(service)
    retention.apply(sweep_id)
    body: dict[str, Any] = {"trial_ids": [2, 1], "select": "explicit"}
    assert_problem(
        client.post("/api/v1/ensembles", json=body), 422, f"trial 0 of sweep 1 (id 1) cannot be a member: {REASON}"
    )
    built = client.post("/api/v1/ensembles", json={"sweep_id": sweep_id, "k": 2, "select": "top_k"})
    assert built.status_code == 201
    assert [member["trial_id"] for member in built.json()["members"]] == [2, 4]
    body = {"sweep_id": sweep_id, "k": 3, "select": "top_k"}
    words = f"k is 3, but only 2 trials have weights; another trial: {REASON}"
    assert_problem(client.post("/api/v1/ensembles", json=body), 422, words)


# Checkpoints.


@pytest.mark.parametrize(("keep", "left"), [("best", [1]), ("all", [0, 1, 2])])
def test_checkpoints_are_kept_as_configured(
    service: ServiceRig, retention: Retention, keep: str, left: list[int]
) -> None:
    sweep_id = service.sweep(keep={"checkpoints": keep})
    paths = []
    for number, value in enumerate([0.5, 0.9, 0.7]):
        service.trial(sweep_id, number, value)
        directory = service.attempt(sweep_id, number)
        paths.append(directory.checkpoint)
        paths[-1].write_bytes(b"state")
        (directory.checkpoint_folders / "1").mkdir(parents=True)
        retention.apply(sweep_id)
    assert [number for number, path in enumerate(paths) if path.exists()] == left
    assert [number for number, path in enumerate(paths) if path.with_name("checkpoints").exists()] == left
    assert kept(service) == [0, 1, 2]


def test_only_best_and_recently_ended_trials_are_read_for_checkpoints(
    service: ServiceRig, retention: Retention, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_id = service.sweep(keep={"checkpoints": "best"})
    other = service.sweep(keep={"checkpoints": "best"})
    read: list[int] = []
    finished = retention_plan.finished

    def counted(*given: Any) -> list[list[retention_plan.RemovableFiles]]:
        found = finished(*given)
        read.append(sum(map(len, found)))
        return found

    monkeypatch.setattr("podium.db.stores.retention_plan.finished", counted)
    for number, value in enumerate([0.1, 0.2, 0.5, 0.4]):
        service.trial(sweep_id, number, value)
    for turn in range(4):
        retention.apply(sweep_id)
        service.trial(other, turn, 0.9)
        if turn:
            service.trial(sweep_id, 3 + turn, 0.3 + turn / 10)
            service.attempt(sweep_id, 3 + turn).checkpoint.write_bytes(b"state")
    retention.apply(sweep_id)
    assert read == [4, 2, 2, 2]
    on_disk = [int(path.parts[-3]) for path in service.data.trials.glob("1/*/*/checkpoint.safetensors")]
    assert on_disk == [6]


def test_slot_keeps_checkpoint_when_configured(rig: Rig) -> None:
    for keep in (None, {"checkpoints": "none"}, {"checkpoints": "best"}, {"checkpoints": "all"}):
        rig.submit(keep=keep, run_cap=1)
        running = rig.pool["cpu-0"].running
        assert running is not None
        assert running.keep_checkpoint == (keep is not None and keep["checkpoints"] != "none")
        rig.finish_all()


# When retention is applied.


def test_retention_is_applied_when_end_of_trial_is_written(rig: Rig) -> None:
    applied = rig.retained
    rig.submit(run_cap=1)
    rig.submit(run_cap=1, keep={"models": 1})
    rig.finish_all()
    assert set(applied) == {2}
    applied.clear()
    rig.submit(run_cap=2, keep={"checkpoints": "best"})
    rig.recorder.full = True
    rig.pool.finish("cpu-0")
    rig.settle()
    assert applied == []
    rig.recorder.full = False
    rig.settle()
    assert applied == [3]


def test_retention_is_applied_when_sweep_ends(rig: Rig) -> None:
    applied = rig.retained
    rig.submit(run_cap=1, keep={"models": 1}, retries={"max_consecutive_failures": 1})
    rig.pool.fail("cpu-0")
    rig.settle()
    assert applied == [1]


def test_retention_is_repeated_until_complete() -> None:
    done = threading.Event()
    answers = [False, False, True, True]
    applied: list[int] = []

    def apply(sweep_id: int) -> bool:
        applied.append(sweep_id)
        if len(applied) == 4:
            done.set()
        return answers[len(applied) - 1]

    CleanupThread(retry_s=0.0).resume_retention(lambda: [7, 8], apply)
    assert done.wait(10)
    assert sorted(applied) in ([7, 7, 8, 8], [7, 7, 7, 8], [7, 8, 8, 8])


@pytest.mark.parametrize(("failures", "tries"), [(2, 3), (9, 4)])
def test_cleanup_thread_retries_limited_times_while_database_rejects_access(failures: int, tries: int) -> None:
    done = threading.Event()
    applied: list[int] = []
    others: list[int] = []

    def apply(sweep_id: int) -> bool:
        applied.append(sweep_id)
        if len(applied) == tries:
            done.set()
        if len(applied) <= failures:
            raise DatabaseError("database or disk is full")
        return True

    def apply_to_another(sweep_id: int) -> bool:
        others.append(len(applied))
        another.set()
        return True

    another = threading.Event()
    cleanup = CleanupThread(retry_s=0.0, max_tries=4)
    cleanup.apply_retention(7, apply)
    assert done.wait(10)
    cleanup.apply_retention(8, apply_to_another)
    assert another.wait(10)
    assert (applied, others) == ([7] * tries, [tries])


def test_trial_without_weights_does_not_count(service: ServiceRig, retention: Retention) -> None:
    sweep_id = service.sweep(keep={"models": 1})
    service.trial(sweep_id, 0, 0.9, model=False)
    service.trial(sweep_id, 1, 0.5)
    service.commit(TrialPlanned(9, sweep_id, 2, {"lr": 0.01}, "random", {}, AT))
    retention.apply(sweep_id)
    assert kept(service) == [1]


# Artifacts.


def _artifact(service: ServiceRig, sweep_id: int, number: int, *names: str) -> Path:
    """The folder of a trial's artifacts, with these in it."""
    folder = service.attempt(sweep_id, number).artifacts
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"content")
        saved = Saved(AttemptKey(number + 1, 1), f"artifacts/{name}", sha256_of(folder / name), 7)
        service.commit(ArtifactSaved(saved))
    return folder


def test_only_best_trials_keep_artifacts_and_all_keep_weights(
    service: ServiceRig, retention: Retention, client: TestClient
) -> None:
    sweep_id = service.sweep(keep={"artifacts": 1})
    folders = []
    for number, value in enumerate([0.5, 0.9, 0.7]):
        service.trial(sweep_id, number, value)
        folders.append(_artifact(service, sweep_id, number, "plot.png", "table.csv"))
    assert retention.apply(sweep_id)
    assert [folder.exists() for folder in folders] == [False, True, False]
    assert kept(service) == [0, 1, 2]
    left = client.get("/api/v1/trials/1").json()["artifacts"]
    reason = "its artifacts were not kept: keep.artifacts is 1"
    assert [(file["name"], file["removed"]) for file in left] == [
        ("artifacts/plot.png", reason),
        ("artifacts/table.csv", reason),
        ("model.safetensors", None),
    ]
    assert_problem(client.get("/api/v1/trials/1/files/artifacts/plot.png"), 404, reason)


def test_artifacts_marked_for_removal_are_removed_at_next_start(service: ServiceRig, retention: Retention) -> None:
    sweep_id = service.sweep(keep={"artifacts": 1, "models": 1})
    for number, value in enumerate([0.5, 0.9]):
        service.trial(sweep_id, number, value)
        _artifact(service, sweep_id, number, "plot.png")
    folder = service.attempt(sweep_id, 0).artifacts
    with service.database.write() as connection:
        left = retention_plan.surplus(connection, sweep_id, 1, retention_plan.FILES)
        retention_plan.mark_for_removal(connection, left, REASON, AT, retention_plan.FILES)
        assert [each.number for each in left] == [0] and retention_plan.marked_for_removal(connection) == []
    notes = audit(service.data, service.database, sleep=lambda _: None).notes
    assert any("the artifacts are not retained" in note for note in notes)
    retention.resume()
    assert not folder.exists() and kept(service) == [0, 1]
    with service.database.read() as connection:
        assert retention_plan.marked_for_removal(connection, files=retention_plan.FILES) == []
