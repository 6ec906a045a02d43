"""Downloads of a trial's files: complete, named, and only the files of the trial itself."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from podium.db.integrity.file_and_process_checks import artifacts, saved_artifacts
from podium.sweep.lifecycle.database_changes import ArtifactSaved
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.slot_events import Saved
from tests.service_rig import ServiceRig, assert_problem

TRIALS = "/api/v1/trials"


def test_complete_log_is_downloaded(service: ServiceRig, client: TestClient) -> None:
    log = "line\n" * 300_000
    trial_id = service.trial(service.sweep(), 3, 0.5, log=log, model=False)
    answer = client.get(f"{TRIALS}/{trial_id}/log/whole")
    assert answer.status_code == 200
    assert answer.text == log
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-disposition"] == 'attachment; filename="sweep-1-trial-3-attempt-1.log"'
    assert_problem(client.get(f"{TRIALS}/{trial_id}/log/whole?attempt=2"), 404, "attempt 2 of trial 1 has no output")


def test_model_is_downloaded(service: ServiceRig, client: TestClient) -> None:
    trial_id = service.trial(service.sweep(), 0, 0.5)
    answer = client.get(f"{TRIALS}/{trial_id}/files/model.safetensors")
    assert answer.content == service.attempt(1, 0).model.read_bytes()
    assert 'filename="sweep-1-trial-0-model.safetensors"' in answer.headers["content-disposition"]


@pytest.mark.parametrize("name", ["../../../../admin.token", "admin.token", ".hidden", "log", "%2e%2e%2fadmin.token"])
def test_other_files_are_refused(service: ServiceRig, client: TestClient, name: str) -> None:
    trial_id = service.trial(service.sweep(), 0, 0.5, log="x")
    service.data.admin_token.write_text("secret")
    if not name.startswith("%") and name != "log":
        service.commit(ArtifactSaved(Saved(AttemptKey(trial_id, 1), name, "0" * 64, 1)))  # as a trial might report
    answer = client.get(f"{TRIALS}/{trial_id}/files/{name}")
    assert answer.status_code == 404
    assert "secret" not in answer.text


def test_symbolic_link_made_by_a_trial_is_not_followed(service: ServiceRig, client: TestClient) -> None:
    trial_id = service.trial(service.sweep(), 0, 0.5)
    service.data.admin_token.write_text("secret")
    model = service.attempt(1, 0).model
    model.unlink()
    model.symlink_to(service.data.admin_token)
    assert_problem(client.get(f"{TRIALS}/{trial_id}/files/model.safetensors"), 404, "missing from the disk")


def _artifact(service: ServiceRig, sweep_id: int, number: int, name: str, content: bytes) -> int:
    """A trial that saved one artifact."""
    trial_id = service.trial(sweep_id, number, 0.5, model=False)
    directory = service.attempt(sweep_id, number)
    directory.artifacts.mkdir(parents=True)
    path = directory.artifacts / name
    path.write_bytes(content)
    saved = Saved(AttemptKey(trial_id, 1), f"artifacts/{name}", sha256_of(path), len(content))
    service.commit(ArtifactSaved(saved))
    return trial_id


def test_artifact_is_an_attachment_and_never_a_page(service: ServiceRig, client: TestClient) -> None:
    page = b"<script>alert(1)</script>"
    trial_id = _artifact(service, service.sweep(), 0, "report.html", page)
    (listed,) = client.get(f"{TRIALS}/{trial_id}").json()["artifacts"]
    assert (listed["name"], listed["size_bytes"]) == ("artifacts/report.html", len(page))
    for name in ("artifacts/report.html", "artifacts%2Freport.html"):
        answer = client.get(f"{TRIALS}/{trial_id}/files/{name}")
        assert (answer.status_code, answer.content) == (200, page)
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"] == 'attachment; filename="sweep-1-trial-0-report.html"'
        assert answer.headers["x-content-type-options"] == "nosniff"
    with service.database.read() as connection:
        assert list(artifacts(saved_artifacts(connection), service.data, print)) == []
    service.attempt(1, 0).artifacts.joinpath("report.html").write_bytes(b"changed")
    with service.database.read() as connection:
        (breach,) = artifacts(saved_artifacts(connection), service.data, print)
    assert breach.invariant == "artifacts"


@pytest.mark.parametrize("name", ["artifacts/../log", "artifacts/deep/report.html", "artifacts/.hidden", "artifacts/"])
def test_paths_outside_the_artifacts_are_refused(service: ServiceRig, client: TestClient, name: str) -> None:
    trial_id = _artifact(service, service.sweep(), 0, "report.html", b"x")
    service.commit(ArtifactSaved(Saved(AttemptKey(trial_id, 1), name, "0" * 64, 1)))  # as a trial might report
    assert client.get(f"{TRIALS}/{trial_id}/files/{name.replace('/', '%2F')}").status_code == 404


def test_link_in_place_of_the_artifact_folder_is_not_followed(service: ServiceRig, client: TestClient) -> None:
    trial_id = _artifact(service, service.sweep(), 0, "admin.token", b"x")
    service.data.admin_token.write_text("secret")
    folder = service.attempt(1, 0).artifacts
    (folder / "admin.token").unlink()
    folder.rmdir()
    folder.symlink_to(service.data.root)
    answer = client.get(f"{TRIALS}/{trial_id}/files/artifacts/admin.token")
    assert_problem(answer, 404, "missing from the disk")
    assert "secret" not in answer.text


def test_exported_lines_name_the_files(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    _artifact(service, sweep_id, 0, "plot.png", b"png")
    service.trial(sweep_id, 1, 0.5, model=False)
    lines = [json.loads(line) for line in client.get(f"/api/v1/sweeps/{sweep_id}/export.jsonl").text.splitlines()]
    assert [[file["name"] for file in line["artifacts"]] for line in lines] == [["artifacts/plot.png"], []]


@pytest.mark.parametrize("what", ["link", "pipe", "folder", "device"])
def test_special_file_in_place_of_a_file_is_not_opened(service: ServiceRig, client: TestClient, what: str) -> None:
    trial_id = service.trial(service.sweep(), 0, 0.5, log="x")
    service.data.admin_token.write_text("secret")
    folder = service.attempt(1, 0)
    for file in (folder.log, folder.model):
        file.unlink()
        put_instead(file, what, service.data.admin_token)
    for address in ("log", "log?from_byte=0", "log/whole", "files/model.safetensors"):
        answer = client.get(f"{TRIALS}/{trial_id}/{address}")
        assert answer.status_code == 404, address
        assert "secret" not in answer.text
    assert str(service.data.root) not in client.get(f"{TRIALS}/{trial_id}").text


def put_instead(file: Path, what: str, secret: Path) -> None:
    if what == "pipe":
        os.mkfifo(file)
    elif what == "folder":
        file.mkdir()
    else:
        file.symlink_to(secret if what == "link" else "/dev/zero")


def test_damaged_model_is_named_without_its_path(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    trials = [service.trial(sweep_id, number, 0.5) for number in range(2)]
    model = service.attempt(sweep_id, 0).model
    model.write_bytes(b"\x80\x04damaged")
    said = client.get(f"{TRIALS}/{trials[0]}").json()["unfit"]
    assert said.startswith(f"trials/1/0/{model.parent.name}/model.safetensors is damaged")
    answer = client.post("/api/v1/ensembles", json={"name": "e", "sweep_id": sweep_id, "k": 2, "select": "top_k"})
    assert_problem(answer, 422, f"trials/1/0/{model.parent.name}/model.safetensors is damaged")
    assert str(service.data.root) not in answer.text + said
