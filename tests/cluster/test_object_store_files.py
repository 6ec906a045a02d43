"""A service with `--artifact-url file://…`: files of trials on nodes go to a shared folder, from there to the head."""

from __future__ import annotations

import itertools
import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from podium.sweep.file_store import object_store_check
from podium.sweep.file_store.object_store_check import ObjectStoreCheck
from podium.sweep.file_store.recorded_object_store_config import recorded
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from tests.cluster.cluster_rig import Attempt, Cluster
from tests.cluster.machines import Machine, Network
from tests.cluster.test_node_files import HELPER, PROGRAM
from tests.running_service import function_sweep, wait_for

SECRETS = {"AWS_SECRET_ACCESS_KEY": "hush-hush", "GOOGLE_APPLICATION_CREDENTIALS": "/x", "AZURE_STORAGE_KEY": "hush"}
TELLING = """
import json, os
def train(trial):
    print(json.dumps(sorted(name for name in os.environ if name.startswith(("AWS_", "GOOGLE_", "AZURE_", "OF_USER")))))
    return 1.0
"""
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def folder(can_make_machines: None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="r-") as made:
        code = Path(made) / "code"
        code.mkdir()
        (code / "helper.py").write_text(HELPER)
        (code / "program.py").write_text(PROGRAM)
        (code / "telling.py").write_text(TELLING)
        yield Path(made)


@pytest.fixture(scope="module")
def objects(folder: Path) -> Path:
    """The folder of the object store."""
    return folder / "objects"


@pytest.fixture(scope="module")
def cluster(folder: Path, objects: Path) -> Iterator[Cluster]:
    """A head with one slot, started with credentials in its environment."""
    with pytest.MonkeyPatch.context() as patch, Network(folder / "m") as network:
        for name, value in {**SECRETS, "OF_USER": "yes"}.items():
            patch.setenv(name, value)
        started = Cluster(network, folder, head_slots=1, artifact_url=f"file://{objects}")
        yield started
        started.close()


@pytest.fixture
def node(cluster: Cluster) -> Iterator[Machine]:
    """A node with one slot, which is taken out at the end."""
    joined = cluster.join_by_command(f"n{next(numbers)}", slots=1)
    yield joined
    cluster.take_out(joined)


@pytest.mark.slow
def test_model_of_a_node_is_in_the_store_until_an_ensemble_needs_it(
    cluster: Cluster, node: Machine, folder: Path, objects: Path
) -> None:
    document = {
        "name": "far", "method": "random", "metric": {"name": "val_loss", "goal": "minimize"}, "run_cap": 4,
        "program": {"model": "mlp", "data": {"name": "digits"}}, "keep": {"models": 2},
        "parameters": {"lr": {"min": 0.001, "max": 0.1, "log": True}, "epochs": {"value": 2}},
    }  # fmt: skip
    sweep_id = cluster.submit(document, folder)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", 120.0)
    far = [each for each in cluster.attempts(sweep_id) if each.device != "cpu-0"]
    assert far and all(each.state == "finished" for each in far)
    for each in far:
        assert _stored(cluster, objects, sweep_id, each, "predictions.safetensors")
        assert not AttemptDirectory(cluster.folder_of(sweep_id, each)).predictions.exists(), "the head has no bulk"
    wait_for("two models are kept", lambda: _models(cluster, objects, sweep_id) == 2)
    cluster.command("ensemble", "build", str(sweep_id), "-k", "2", "--json")
    trial_ids = [row[0] for row in cluster.rows("SELECT trial_id FROM ensemble_members")]
    assert len(trial_ids) == 2
    report = cluster.command("doctor", "--json")
    assert report["breaches"] == [] and not [note for note in report["notes"] if "not checked" in note]


@pytest.mark.slow
def test_attempt_on_the_head_continues_from_the_checkpoint_in_the_store(
    cluster: Cluster, node: Machine, folder: Path, objects: Path
) -> None:
    sweep_id = cluster.submit(function_sweep(folder / "code", "program:train", run_cap=2), folder)
    both = {"cpu-0", f"{node.name}:cpu-0"}
    wait_for("both devices work", lambda: both == {a.device for a in cluster.attempts(sweep_id) if a.ended_at is None})
    far = next(each for each in cluster.attempts(sweep_id) if each.device != "cpu-0")
    wait_for("a checkpoint has arrived", lambda: _stored(cluster, objects, sweep_id, far, "checkpoint.safetensors"))
    assert not AttemptDirectory(cluster.folder_of(sweep_id, far)).checkpoint.exists()
    node.kill()
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", 90.0)
    (repeated,) = [each for each in cluster.attempts(sweep_id) if each.number == 2]
    assert repeated.device == "cpu-0"
    assert "begins at 0" in (cluster.folder_of(sweep_id, far) / "log").read_text(), "logs are on the head"
    log = (cluster.folder_of(sweep_id, repeated) / "log").read_text()
    assert "begins at" in log and "begins at 0" not in log
    key = f"trials/{sweep_id}/{far.trial}"
    wait_for("checkpoints are removed", lambda: not list((objects / key).glob("*/checkpoint.safetensors/*")))


@pytest.mark.slow
def test_artifact_of_a_node_can_be_downloaded(cluster: Cluster, node: Machine, folder: Path, objects: Path) -> None:
    sweep_id = cluster.submit(function_sweep(folder / "code", "program:train", run_cap=2), folder)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", 90.0)
    far = next(each for each in cluster.attempts(sweep_id) if each.device != "cpu-0")
    assert _stored(cluster, objects, sweep_id, far, "artifacts/note.txt")
    query = "SELECT id FROM trials WHERE sweep_id = :sweep AND number = :number"
    ((trial_id,),) = cluster.rows(query, sweep=sweep_id, number=far.trial)
    cluster.say("trial", "download", str(trial_id), "note.txt", "--to", str(folder / "down"))
    assert (folder / "down" / "note.txt").read_text() == "0"


@pytest.mark.slow
def test_trials_do_not_see_the_credentials(cluster: Cluster, node: Machine, folder: Path) -> None:
    """Neither on the head nor on the node; `podium node join` has the same environment."""
    sweep_id = cluster.submit(function_sweep(folder / "code", "telling:train", run_cap=4), folder)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", 60.0)
    attempts = cluster.attempts(sweep_id)
    assert len({each.device for each in attempts}) == 2
    for each in attempts:
        assert json.loads((cluster.folder_of(sweep_id, each) / "log").read_text()) == ["OF_USER"]


@pytest.mark.slow
def test_node_that_does_not_reach_the_folder_is_refused(cluster: Cluster, objects: Path) -> None:
    """Another folder is mounted at its place."""
    record = recorded(cluster.data)
    assert record is not None
    machine = cluster.stray_machine("stray")
    machine.run("mount", "-t", "tmpfs", "none", str(objects))
    wanted = machine.folder / "wanted.json"
    wanted.write_text(json.dumps(asdict(ObjectStoreCheck(record.url, "", record.store_id, is_head=False))))
    check = f"{shlex.quote(sys.executable)} -P -m {object_store_check.MODULE} < {wanted} 2>&1"
    assert "not the folder of the head" in machine.run("sh", "-c", f"{check} || true")
    machine.kill()


def _stored(cluster: Cluster, objects: Path, sweep_id: int, attempt: Attempt, name: str) -> bool:
    key = cluster.data.relative(cluster.folder_of(sweep_id, attempt))
    return len(list((objects / key / name).glob("[!.]*"))) == 1  # without one that is being written


def _models(cluster: Cluster, objects: Path, sweep_id: int) -> int:
    """The models of a sweep, on the head and in the store."""
    places = (cluster.data.trials, objects / "trials")
    found = [path for place in places for path in place.glob(f"{sweep_id}/*/*/model.safetensors")]
    return len({path.parts[-4:] for path in found})
