"""Folders of attempts without a nonce, of earlier versions, are read and removed as before."""

from __future__ import annotations

import pytest
from alembic import command
from starlette.testclient import TestClient

from podium.db.integrity.main import audit
from podium.db.queries import attempt_reader
from podium.db.schema.migrate import alembic_config, migrate
from podium.db.stores import member_candidates
from podium.ensemble.building import saved_trial_outputs
from podium.sweep.lifecycle.database_changes import ArtifactSaved, AttemptPlaced
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.scheduling.retention_cleanup import Retention
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.slot_events import Saved
from podium.sweep.values.states import TrialState
from tests.service_rig import AT, ServiceRig, assert_problem, nonce

pytestmark = pytest.mark.sqlite

TRIALS = "/api/v1/trials"


@pytest.fixture
def upgraded(service: ServiceRig) -> ServiceRig:
    """The data directory of an earlier version, upgraded: trials 1 and 2 finished, trial 3 runs."""
    sweep_id = service.sweep(keep={"models": 1})
    for number, value in enumerate((0.9, 0.5, None)):
        service.trial(sweep_id, number, value, log=f"log of trial {number}\n")
        folder = service.attempt(sweep_id, number).root
        folder.rename(service.data.attempt(sweep_id, number, 1, ""))
    config = alembic_config()
    with service.database.write() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0003")
    migrate(service.data.database)
    return service


def folder_of(service: ServiceRig, number: int) -> AttemptDirectory:
    return AttemptDirectory(service.data.attempt(1, number, 1, ""))


def test_logs_and_files_are_found(upgraded: ServiceRig) -> None:
    client = upgraded.client()
    for trial_id in (1, 2, 3):
        text = f"log of trial {trial_id - 1}\n"
        assert client.get(f"{TRIALS}/{trial_id}/log").text == text
        assert client.get(f"{TRIALS}/{trial_id}/log/whole").text == text
    model = client.get(f"{TRIALS}/1/files/model.safetensors")
    assert model.content == folder_of(upgraded, 0).model.read_bytes()
    assert client.get(f"{TRIALS}/1").json()["unfit"] is None


def test_running_attempt_keeps_its_folder(upgraded: ServiceRig) -> None:
    (trial,) = (trial for trial in upgraded.stored(1).trials if trial.state is TrialState.RUNNING)
    assert (trial.attempt, trial.nonce) == (1, "")
    with upgraded.database.read() as connection:
        (row,) = attempt_reader.current_attempts(connection, [trial.trial_id])
    assert upgraded.data.attempt(row.sweep_id, row.number, row.attempt, row.nonce) == folder_of(upgraded, 2).root


def test_models_are_found_by_ensembles(upgraded: ServiceRig) -> None:
    with upgraded.database.read() as connection:
        found = member_candidates.of_sweep(connection, 1)
    paths = [saved_trial_outputs.model_path(upgraded.data, trial) for trial in found]
    assert paths == [folder_of(upgraded, number).model for number in (0, 1)]


def test_files_that_are_not_kept_are_removed(upgraded: ServiceRig) -> None:
    Retention(upgraded.database, upgraded.data, upgraded.epoch, lambda: AT).apply(1)
    assert [folder_of(upgraded, number).model.exists() for number in (0, 1, 2)] == [True, False, True]


def test_doctor_knows_the_folders_of_running_and_finished_trials(upgraded: ServiceRig) -> None:
    def found() -> str:
        return str(audit(upgraded.data, sleep=lambda _: None).breaches)

    before = found()
    assert str(folder_of(upgraded, 2).root) not in before and "is missing" not in before
    folder_of(upgraded, 0).model.unlink()
    assert f"{folder_of(upgraded, 0).model} is missing" in found()


def test_attempts_with_and_without_nonce_are_told_apart(service: ServiceRig, client: TestClient) -> None:
    """The file of the first attempt, and the log of the second."""
    sweep_id = service.sweep()
    trial_id = service.trial(sweep_id, 0, None, log="first\n")
    second = service.attempt(sweep_id, 0, 2)
    second.prepare()
    second.log.write_text("second\n")
    (second.root / "predictions.safetensors").write_bytes(b"of the second")
    service.commit(
        AttemptPlaced(AttemptKey(trial_id, 2), sweep_id, 0, "cpu-0", "node", AT, nonce(0, 2)),
        ArtifactSaved(Saved(AttemptKey(trial_id, 2), "predictions.safetensors", sha256_of(second.predictions), 13)),
    )
    left = AttemptDirectory(service.data.attempt(sweep_id, 0, 3, "ffffffff"))  # from before a restored backup
    left.prepare()
    left.log.write_text("left\n")
    logs = [client.get(f"{TRIALS}/{trial_id}/log?attempt={attempt}").text for attempt in (1, 2)]
    assert logs == ["first\n", "second\n"]
    for path in ("log", "log/whole"):
        assert_problem(client.get(f"{TRIALS}/{trial_id}/{path}?attempt=3"), 404, "attempt 3 of trial 1 has no output")
    files = f"{TRIALS}/{trial_id}/files"
    assert client.get(f"{files}/predictions.safetensors").content == b"of the second"
    assert client.get(f"{files}/model.safetensors").content == service.attempt(sweep_id, 0).model.read_bytes()
