"""No component unpickles data of clients or trials: canaries in every file and request.

An audit hook in every process of the service logs what pickles look up, in Python's and C's unpicklers.
"""

from __future__ import annotations

import importlib
import io
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx2
import numpy as np
import pytest

from podium.api.client.trial_responses import TrialInfo
from tests.fuzz.described import TINY
from tests.running_service import RunningService, function_sweep, wait_for

HERE = Path(__file__).parent
HOOK = """
import os, sys
LOG = os.environ["CANARY_LOG"]
PARTS = {
    "podium.api.rest.main": "api",
    "podium.api.gateway.main": "gateway",
    "podium.sweep.scheduling.main": "scheduler",
    "podium.ensemble.host.main": "host",
}
def part():
    with open("/proc/self/cmdline") as command:  # set when `serve` has forked a component
        words = command.read().replace("\\0", " ").split()
    return next((PARTS[word] for word in words if word in PARTS), "other")
def write(line):
    file = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, f"{line}\\n".encode())
    os.close(file)
def hear(event, values):
    if event == "pickle.find_class":
        write(f"{part()} {values[0]} {values[1]}")
    if event == "socket.bind":  # each component listens
        write(f"{part()} begins here")
sys.addaudithook(hear)
write(f"{part()} begins here")
"""
CANARY = "def sing(word):\n    return word\n"
PARTS = {"api", "gateway", "scheduler", "host"}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment in which a Python process logs what it unpickles to `CANARY_LOG`."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(HOOK)
    (tmp_path / "hook" / "canary.py").write_text(CANARY)
    path = os.pathsep.join([str(tmp_path / "hook"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return {"PYTHONPATH": path, "CANARY_LOG": str(tmp_path / "unpickled")}


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A pickle that looks up `canary.sing`."""
    (tmp_path / "canary").mkdir()
    (tmp_path / "canary" / "canary.py").write_text(CANARY)
    monkeypatch.syspath_prepend(str(tmp_path / "canary"))
    monkeypatch.syspath_prepend(str(HERE / "user_code"))
    return pickle.dumps(importlib.import_module("plants").Canary())


@pytest.mark.parametrize("unpickler", ["loads", "_loads"])
def test_canary_is_triggered_by_unpickling(canary: bytes, environment: dict[str, str], unpickler: str) -> None:
    program = f"import pickle; pickle.{unpickler}({canary!r})"
    subprocess.run([sys.executable, "-P", "-c", program], env={**os.environ, **environment}, check=True)
    assert Path(environment["CANARY_LOG"]).read_text() == "other begins here\nother canary sing\n"


def test_no_component_unpickles_data_of_clients_or_trials(
    tmp_path: Path, canary: bytes, environment: dict[str, str]
) -> None:
    with RunningService(tmp_path / "data", environment=environment) as service:
        trials = _trials(service)
        _read_all(service, trials)
        _send_all(service, canary, trials)
    log = Path(environment["CANARY_LOG"])
    heard = [line.split(maxsplit=2) for line in log.read_text().splitlines()]
    assert {part for part, *_ in heard} >= PARTS
    looked_up = {(part, module, name) for part, module, name in heard if module != "begins"}
    assert {each for each in looked_up if "canary" in each[1]} == set()
    assert {each for each in looked_up if each[0] in ("api", "gateway")} == set()
    of_ray = "ray.exceptions"  # how Ray reports a dead actor to the scheduler or host
    assert {each for each in looked_up if each[0] in PARTS and each[1] != of_ray} == set()


def _trials(service: RunningService) -> list[TrialInfo]:
    """Trials that plant canaries: finished ones, and failed ones of each kind."""
    found: list[TrialInfo] = []
    for function in ("plants", "reports", "returns", "raises"):
        document = function_sweep(HERE / "user_code", f"plants:{function}", run_cap=2)
        sweep = service.client.submit(document)
        service.client.wait(sweep["id"])
        found += service.client.trials(sweep["id"])
    finished = [trial for trial in found if trial["state"] == "finished"]
    assert len(finished) == 2
    folder = service.attempt(finished[0]["sweep_id"], finished[0]["number"])
    assert b"canary" in folder.model.read_bytes()
    return found


def _read_all(service: RunningService, trials: list[TrialInfo]) -> None:
    """Read everything by every route."""
    with _http(service) as client:
        for trial in trials:
            for what in ("", "/log/whole", "/metrics", "/artifacts", "/attempts", "/files/model.safetensors"):
                assert client.get(f"/api/v1/trials/{trial['id']}{what}").status_code < 500
        for sweep_id in {trial["sweep_id"] for trial in trials}:
            for what in ("", "/table", "/points", "/curves?metric=loss", "/importance", "/file"):
                assert client.get(f"/api/v1/sweeps/{sweep_id}{what}").status_code < 500


def _send_all(service: RunningService, canary: bytes, trials: list[TrialInfo]) -> None:
    """Send canaries in every body, and build an ensemble of trials whose models and predictions are canaries."""
    finished = [trial["id"] for trial in trials if trial["state"] == "finished"]
    objects = io.BytesIO()
    plants = importlib.import_module("plants")
    np.save(objects, np.array([[plants.Canary()]], dtype=object), allow_pickle=True)
    bundle = io.BytesIO()
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("train.py", "")
        archive.writestr("model.pkl", canary)
    ensemble_id = _ensemble(service)
    with _http(service) as client:
        assert client.post("/api/v1/bundles", content=bundle.getvalue()).status_code == 201
        asked = [f"ensembles/{ensemble_id}/{verb}" for verb in ("predict", "evaluate", "versions")]
        for content in (canary, objects.getvalue()):
            for path in ("bundles", "sweeps", "sweeps/import", *asked):
                for kind in ("application/x-npy", "application/json", "application/octet-stream"):
                    answer = client.post(f"/api/v1/{path}", content=content, headers={"Content-Type": kind})
                    assert 400 <= answer.status_code < 500, (path, kind, answer.text)
        for path in ("ensembles/preview", "ensembles"):
            answer = client.post(f"/api/v1/{path}", json={"trial_ids": finished, "name": "canaries"})
            assert answer.status_code == 422, answer.text
            assert "model.safetensors is damaged" in answer.text


def _ensemble(service: RunningService) -> int:
    """One that answers."""
    sweep = service.client.submit({**TINY, "ensemble": {"k": 2, "name": "sound"}})
    service.client.wait(sweep["id"])
    wait_for("it answers", lambda: any(each["state"] == "ready" for each in service.client.ensembles()), 90)
    found: int = next(iter(service.client.ensembles()))["id"]
    return found


def _http(service: RunningService) -> httpx2.Client:
    token = service.data.admin_token.read_text().strip()
    return httpx2.Client(base_url=service.client.url, headers={"Authorization": f"Bearer {token}"}, timeout=30)
