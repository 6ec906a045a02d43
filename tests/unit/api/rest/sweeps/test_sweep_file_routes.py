"""Sweep files over REST: parsed with the positions of problems, edited, submitted, written back."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from starlette.testclient import TestClient

from podium.sweep.runtime.package_versions import versions
from podium.sweep.spec.sweep_spec import parse_spec
from podium.sweep.specfile.document_parser import parse_document
from podium.sweep.specfile.sweep_text_check import NAME
from tests.service_rig import ServiceRig, assert_problem
from tests.specs import builtin_document

URL = "/api/v1/sweep-files"
TEXT = """\
name: small   # to try
metric: {name: val_accuracy, goal: maximize}
parameters:
  lr: {min: 1e-3, max: 1.0, log: true}
  hidden: {values: [32, 64]}
run_cap: 3
program: {model: mlp, data: {name: digits}}
"""
CODE = "def objective(trial):\n    return trial.params['x']\n"


def read(client: TestClient, text: str) -> dict[str, Any]:
    answer = client.post(f"{URL}/read", json={"text": text})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def bundle(client: TestClient, name: str = "train.py", code: str = CODE) -> str:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(name, code)
    found: str = client.post("/api/v1/bundles", content=content.getvalue()).json()["sha256"]
    return found


def function_text(sha256: str, function: str = "train:objective") -> str:
    return (
        "name: own\nmetric: {name: score, goal: maximize}\nparameters: {x: {min: 0, max: 1}}\n"
        f"program: {{function: '{function}', bundle: '{sha256}'}}\n"
    )


@pytest.mark.parametrize(("share", "at_once"), [("0.25", 3), ("0.5", 2), ("1", 1)])
def test_trials_that_share_a_device_are_counted_by_its_slots(
    client: TestClient, service: ServiceRig, share: str, at_once: int
) -> None:
    for part in ("", ".1", ".2", ".3"):
        service.device(f"cpu-0{part}")
    found = read(client, f"{TEXT}resources: {{share: {share}}}\n")
    assert found["plan"]["devices"]["at_once"] == at_once


def test_valid_file_is_described(client: TestClient, service: ServiceRig) -> None:
    service.device()
    found = read(client, TEXT)
    assert found["problems"] == []
    assert found["document"]["parameters"]["hidden"] == {"values": [32, 64]}
    assert found["numbers"]["/parameters/lr/max"] == "1.0"
    plan = found["plan"]
    assert (plan["searched_by"], plan["run_cap"], plan["grid_size"]) == ("tpe", 3, None)
    assert [parameter["name"] for parameter in plan["space"]] == ["lr", "hidden"]
    assert plan["devices"] == {"count": 1, "usable": 1, "at_once": 1, "kinds": ["cpu"]}
    assert "1,797" in plan["data"]
    assert len(found["samples"]) == 3
    assert all(set(sample) == {"lr", "hidden"} for sample in found["samples"])


@pytest.mark.parametrize(
    ("old", "new", "path", "line", "column", "words"),
    [
        ("val_accuracy", "accuracy", ["metric", "name"], 2, 10, "built-in models report"),
        ("max: 1.0", "max: 1e-9", ["parameters", "lr", "min"], 4, 8, "must not exceed max"),
        ("run_cap: 3", "run_cap: no", ["run_cap"], 6, 1, "integer"),
        ("run_cap: 3", "rum_cap: 3", ["rum_cap"], 6, 1, "did you mean 'run_cap'"),
        ("name: small", "nam: small", ["name"], None, None, "required"),
        ("name: digits", "file: rows.csv, target: y", ["program", "data", "file"], 7, 30, "absolute path"),
        ("name: digits", "file: /no/rows.csv, target: y", ["program", "data", "file"], 7, 30, "/no/rows.csv"),
        ("run_cap: 3", "warm_start: [9]", ["warm_start", "0"], 6, 14, "no sweep 9"),
        ("name: small", "name: [", [], 3, None, ""),
    ],
)
def test_each_problem_has_its_key_and_position(
    client: TestClient, old: str, new: str, path: list[str], line: int | None, column: int | None, words: str
) -> None:
    found = read(client, TEXT.replace(old, new))
    first = found["problems"][0]
    assert (first["path"], first["line"], first["column"]) == (path, line, column)
    assert words in first["message"]
    assert found["plan"] is None


def test_empty_file_is_reported(client: TestClient) -> None:
    found = read(client, "  \n")
    assert found["document"] is None
    assert "the text is empty" in found["problems"][0]["message"]
    assert_problem(client.post(f"{URL}/read", json={"text": "x" * 100_001}), 422, "100000")


def test_uploaded_code_is_checked_and_a_client_folder_is_not(client: TestClient) -> None:
    sha256 = bundle(client)
    assert read(client, function_text(sha256))["plan"]["code"] == "objective in train.py, line 1"
    (problem,) = read(client, function_text(sha256, "train:objektive"))["problems"]
    assert problem["path"] == ["program", "function"]
    assert problem["message"] == "train.py does not define 'objektive'; did you mean 'objective'?"
    (problem,) = read(client, function_text("0" * 64))["problems"]
    assert "no such bundle" in problem["message"]
    (problem,) = read(client, function_text(sha256).replace(f"bundle: '{sha256}'", "code: ."))["problems"]
    assert (problem["path"], "uploaded first" in problem["message"]) == (["program", "code"], True)


def test_wandb_file_is_converted(client: TestClient) -> None:
    text = "program: train.py\nmethod: bayes\nmetric: {name: loss}\nparameters: {lr: {min: 0.0, max: 1.0}}\n"
    found = read(client, text)
    assert (found["wandb"], found["document"]["program"]["script"]) == (True, "train.py")
    assert "method: bayes is converted to tpe" in found["notes"]
    change = {"path": ["program", "bundle"], "value": bundle(client, code="print('loss 1')\n")}
    drop = {"path": ["program", "code"], "value": None}
    ours = client.post(f"{URL}/write", json={"text": text, "changes": [change, drop]}).json()["text"]
    assert (read(client, ours)["wandb"], read(client, ours)["problems"]) == (False, [])
    assert "max: 1.0" in ours


def test_edits_keep_the_rest_of_the_text(client: TestClient) -> None:
    changes = [{"path": ["parameters", "lr", "max"], "value": "2.0"}, {"path": ["seed"], "value": "4"}]
    text = client.post(f"{URL}/write", json={"text": TEXT, "changes": changes}).json()["text"]
    assert text == TEXT.replace("max: 1.0", "max: 2.0") + "seed: 4\n"
    created = client.post(f"{URL}/write", json={"text": "", "changes": changes}).json()["text"]
    assert created == "parameters:\n  lr: {max: 2.0}\nseed: 4\n"
    assert_problem(client.post(f"{URL}/write", json={"text": "a: [", "changes": changes}), 422)
    wrong = client.post(f"{URL}/write", json={"text": TEXT, "changes": [{"path": ["seed"], "value": "{"}]})
    assert assert_problem(wrong, 422)["errors"][0]["location"] == ["seed"]


def test_text_is_submitted_once_with_current_versions(client: TestClient) -> None:
    key = {"Idempotency-Key": "once"}
    first, again = (client.post(f"{URL}/submit", json={"text": TEXT}, headers=key) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.headers["location"] == "/api/v1/sweeps/1"
    assert first.json()["spec"]["parameters"]["lr"] == {"min": 0.001, "max": 1.0, "log": True}
    assert first.json()["versions"] == versions()
    assert "python" in versions() and "podium" in versions()
    wrong = client.post(f"{URL}/submit", json={"text": TEXT.replace("max: 1.0", "max: 1e-9")})
    assert "must not exceed max" in assert_problem(wrong, 422)["errors"][0]["message"]


def test_file_of_a_sweep_is_the_submitted_text(client: TestClient) -> None:
    text = "# why we look again\n" + TEXT.replace("max: 1.0", "max: 1.0e+0") + "\n# the end"
    sweep_id = client.post(f"{URL}/submit", json={"text": text}).json()["id"]
    answer = client.get(f"/api/v1/sweeps/{sweep_id}/file")
    assert (answer.text, answer.headers["content-type"]) == (text, "application/yaml")
    unstorable = client.post(f"{URL}/submit", content=json.dumps({"text": f"{TEXT}# \ud800"}))
    assert_problem(unstorable, 422)


def test_file_of_a_sweep_gives_an_equal_sweep(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep(seed=3, resources={"max_concurrent": 2})
    answer = client.get(f"/api/v1/sweeps/{sweep_id}/file")
    assert answer.headers["content-type"] == "application/yaml"
    document = parse_document(NAME, answer.text).plain
    assert parse_spec(document) == parse_spec(builtin_document(seed=3, resources={"max_concurrent": 2}))
    assert list(document)[:3] == ["name", "method", "seed"]
    assert_problem(client.get("/api/v1/sweeps/99/file"), 404)


def test_file_of_several_objectives_has_no_single_metric(client: TestClient, service: ServiceRig) -> None:
    several = [{"name": "val_accuracy", "goal": "maximize"}, {"name": "val_loss", "goal": "minimize"}]
    sweep_id = service.sweep(metric=None, metrics=several)
    found = read(client, client.get(f"/api/v1/sweeps/{sweep_id}/file").text)
    assert (found["problems"], "metric" in found["document"]) == ([], False)
