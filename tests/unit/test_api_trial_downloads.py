"""Files that a trial left, to save: whole, named, and never another file than its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sweep.changes import ArtifactSaved
from sweep.layout import AttemptDirectory
from sweep.trial import AttemptKey, Saved
from tests.service_rig import ServiceRig, assert_problem

TRIALS = "/api/v1/trials"


def test_the_whole_log_is_a_file(service: ServiceRig, client: TestClient) -> None:
    log = "line\n" * 300_000
    trial_id = service.trial(service.sweep(), 3, 0.5, log=log, model=False)
    answer = client.get(f"{TRIALS}/{trial_id}/log/whole")
    assert answer.status_code == 200
    assert answer.text == log
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-disposition"] == 'attachment; filename="sweep-1-trial-3-attempt-1.log"'
    assert_problem(client.get(f"{TRIALS}/{trial_id}/log/whole?attempt=2"), 404, "attempt 2 of trial 1 has printed")


def test_a_model_is_a_file(service: ServiceRig, client: TestClient) -> None:
    trial_id = service.trial(service.sweep(), 0, 0.5)
    answer = client.get(f"{TRIALS}/{trial_id}/files/model.safetensors")
    assert answer.content == AttemptDirectory(service.data.attempt(1, 0, 1)).model.read_bytes()
    assert 'filename="sweep-1-trial-0-model.safetensors"' in answer.headers["content-disposition"]


@pytest.mark.parametrize("name", ["../../../../admin.token", "admin.token", ".hidden", "log", "%2e%2e%2fadmin.token"])
def test_no_other_file_is_given(service: ServiceRig, client: TestClient, name: str) -> None:
    trial_id = service.trial(service.sweep(), 0, 0.5, log="x")
    service.data.admin_token.write_text("secret")
    if not name.startswith("%") and name != "log":
        service.commit(ArtifactSaved(Saved(AttemptKey(trial_id, 1), name, "0" * 64, 1)))  # as a trial might say
    answer = client.get(f"{TRIALS}/{trial_id}/files/{name}")
    assert answer.status_code == 404
    assert "secret" not in answer.text


def test_a_link_that_a_trial_made_is_not_followed(service: ServiceRig, client: TestClient) -> None:
    trial_id = service.trial(service.sweep(), 0, 0.5)
    service.data.admin_token.write_text("secret")
    model = AttemptDirectory(service.data.attempt(1, 0, 1)).model
    model.unlink()
    model.symlink_to(service.data.admin_token)
    assert_problem(client.get(f"{TRIALS}/{trial_id}/files/model.safetensors"), 404, "not on the disk any more")


@pytest.mark.parametrize("what", ["link", "pipe", "folder", "device"])
def test_what_a_trial_put_in_a_files_place_is_neither_followed_nor_waited_for(
    service: ServiceRig, client: TestClient, what: str
) -> None:
    trial_id = service.trial(service.sweep(), 0, 0.5, log="x")
    service.data.admin_token.write_text("secret")
    folder = AttemptDirectory(service.data.attempt(1, 0, 1))
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


def test_a_damaged_model_is_named_without_where_the_data_lies(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    trials = [service.trial(sweep_id, number, 0.5) for number in range(2)]
    model = AttemptDirectory(service.data.attempt(sweep_id, 0, 1)).model
    model.write_bytes(b"\x80\x04damaged")
    said = client.get(f"{TRIALS}/{trials[0]}").json()["unfit"]
    assert said.startswith("trials/1/0/1/model.safetensors is damaged")
    answer = client.post("/api/v1/ensembles", json={"name": "e", "sweep_id": sweep_id, "k": 2, "select": "top_k"})
    assert_problem(answer, 422, "trials/1/0/1/model.safetensors is damaged")
    assert str(service.data.root) not in answer.text + said
