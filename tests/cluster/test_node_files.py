"""Nodes with files of their own, on which a user has run `podium node join`: code, data, checkpoints, models, logs."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from podium.sweep.runtime.process_title import process_name
from podium.sweep.runtime.process_trees import children
from tests.cluster.cluster_rig import Attempt, Cluster
from tests.cluster.machines import Machine, Network, slow_uplink_reason
from tests.running_service import PODIUM, function_sweep, wait_for

HELPER = """
def loss(step):
    return 1.0 / (step + 1)
"""
PROGRAM = """
import json, os, pathlib, time
import torch
from helper import loss

def train(trial):
    model = torch.nn.Linear(2, 2)
    found = trial.resume()
    first = 0 if found is None else found.epoch + 1
    print("begins at", first, flush=True)
    for epoch in range(first, 8):
        time.sleep(0.4)
        trial.report(loss(epoch), epoch)
        trial.save_checkpoint(model, epoch=epoch)
    print("ends at", epoch + 1, flush=True)
    note = pathlib.Path(trial.dir, "note.txt")
    note.write_text(str(first))
    trial.save_artifact(note)
    return float(first)
"""
SCRIPT = """
import time
from helper import loss

time.sleep(3)
print("score", loss(1))
"""
LARGE = """
import pathlib, time

def save(trial):
    time.sleep(1.0)
    path = pathlib.Path(trial.dir, "large.bin")
    path.write_bytes(bytes(40 << 20))
    trial.save_artifact(path)
    return 1.0
"""
DISK_MB = 150
END_S = 90.0
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def folder(can_make_machines: None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="r-") as made:
        code = Path(made) / "code"
        code.mkdir()
        (code / "helper.py").write_text(HELPER)
        (code / "program.py").write_text(PROGRAM)
        (code / "script.py").write_text(SCRIPT)
        (code / "large.py").write_text(LARGE)
        yield Path(made)


@pytest.fixture(scope="module")
def cluster(shared_cluster: Cluster) -> Cluster:
    """A head with one slot."""
    return shared_cluster


@pytest.fixture
def node(cluster: Cluster) -> Iterator[Machine]:
    """A node with one slot, which is taken out at the end."""
    joined = cluster.join_by_command(f"n{next(numbers)}", slots=1)
    yield joined
    cluster.take_out(joined)


@pytest.fixture
def slow_node(cluster: Cluster, node: Machine) -> Iterator[Machine]:
    """A node that sends slowly, and whose device is the only one."""
    if reason := slow_uplink_reason():
        pytest.skip(reason)
    cluster.command("devices", "drain", "cpu-0", "--json")
    node.slow_uplink()
    yield node
    cluster.command("devices", "return", "cpu-0", "--json")


@pytest.mark.slow
def test_trial_on_a_node_leaves_its_files_on_the_head(cluster: Cluster, node: Machine, folder: Path) -> None:
    sweep_id = cluster.submit(function_sweep(folder / "code", "program:train", run_cap=2), folder)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", 60.0)
    attempts = cluster.attempts(sweep_id)
    assert [each.state for each in attempts] == ["finished", "finished"]
    far = next(each for each in attempts if each.device == f"{node.name}:cpu-0")
    directory = cluster.folder_of(sweep_id, far)
    assert "begins at 0" in (directory / "log").read_text()
    assert (directory / "artifacts" / "note.txt").read_text() == "0"
    wait_for("checkpoints are removed", lambda: not (directory / "checkpoint.safetensors").exists())
    wait_for("nothing stays on the node", lambda: not list((node.folder / "data" / "trials").glob("*/*/*")))


@pytest.mark.slow
def test_attempt_elsewhere_continues_from_the_checkpoint_of_a_node_that_was_cut_off(
    cluster: Cluster, node: Machine, folder: Path
) -> None:
    sweep_id = _start(cluster, node, folder)
    checkpoint = cluster.folder_of(sweep_id, _on(node, cluster, sweep_id)) / "checkpoint.safetensors"
    wait_for("a checkpoint has arrived", checkpoint.exists)
    node.unplug()
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", 90.0)
    lost = _on(node, cluster, sweep_id)
    assert (lost.state, lost.cause) == ("failed", "node_lost")
    (repeated,) = [each for each in cluster.attempts(sweep_id) if each.number == 2]
    log = (cluster.folder_of(sweep_id, repeated) / "log").read_text()
    assert "begins at" in log and "begins at 0" not in log


@pytest.mark.slow
def test_log_of_a_trial_on_a_node_can_be_followed(cluster: Cluster, node: Machine, folder: Path) -> None:
    sweep_id = _start(cluster, node, folder)
    far = _on(node, cluster, sweep_id)
    command = [
        *PODIUM, "trial", "logs", f"{sweep_id}.{far.trial}", "--follow", "--data-dir", str(cluster.data.root),
    ]  # fmt: skip
    following = cluster.head.start(command, stdout=subprocess.PIPE, text=True)
    assert following.stdout is not None and following.stdout.readline() == "begins at 0\n"
    assert _on(node, cluster, sweep_id).ended_at is None, "while the trial runs"
    rest, _ = following.communicate(timeout=END_S)
    assert following.returncode == 0 and rest == "ends at 8\n"
    log = cluster.folder_of(sweep_id, far) / "log"
    assert log.read_text() == "begins at 0\nends at 8\n"


@pytest.mark.slow
def test_attempt_goes_on_when_the_agent_is_killed(cluster: Cluster, node: Machine, folder: Path) -> None:
    sweep_id = _start(cluster, node, folder)
    (agent,) = [pid for pid in node.processes() if process_name(pid) == "podium-agent"]
    os.kill(agent, signal.SIGKILL)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", 60.0)
    far = _on(node, cluster, sweep_id)
    assert (far.state, far.number) == ("finished", 1)
    assert (cluster.folder_of(sweep_id, far) / "artifacts" / "note.txt").read_text() == "0"


@pytest.mark.slow
def test_data_of_a_sweep_is_read_on_the_head_only(cluster: Cluster, node: Machine, folder: Path) -> None:
    """The file is hidden from the node; its trials get the arrays."""
    source = folder / "table" / "rows.npz"
    source.parent.mkdir()
    rng = np.random.default_rng(0)
    np.savez(source, inputs=rng.normal(size=(500, 4)).astype(np.float32), targets=rng.integers(0, 2, 500))
    node.run("mount", "-t", "tmpfs", "none", str(source.parent))
    document = {
        "name": "data", "method": "random", "metric": {"name": "val_loss", "goal": "minimize"}, "run_cap": 4,
        "program": {"model": "mlp", "data": {"file": str(source), "target": "targets"}},
        "parameters": {"lr": {"min": 0.001, "max": 0.1, "log": True}, "epochs": {"value": 2}},
    }  # fmt: skip
    sweep_id = cluster.submit(document, folder)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", 90.0)
    far = _on(node, cluster, sweep_id)
    assert far.state == "finished"
    directory = cluster.folder_of(sweep_id, far)
    assert (directory / "model.safetensors").exists() and (directory / "predictions.safetensors").exists()


@pytest.mark.slow
def test_script_with_modules_beside_it_runs_on_a_node(cluster: Cluster, node: Machine, folder: Path) -> None:
    document = function_sweep(folder / "code", "", run_cap=2) | {
        "metric": {"name": "score", "goal": "maximize"},
        "program": {"script": "script.py", "code": str(folder / "code"), "metrics": {"score": "score ([0-9.]+)"}},
    }
    sweep_id = cluster.submit(document, folder)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", 60.0)
    assert _on(node, cluster, sweep_id).state == "finished"


@pytest.mark.slow
def test_node_with_a_revoked_token_leaves(cluster: Cluster, node: Machine) -> None:
    cluster.command("token", "revoke", node.name, "--json")
    wait_for("its devices are gone", lambda: f"{node.name}:cpu-0" in cluster.devices("lost"), 60.0)
    wait_for("its processes have ended", lambda: "podium-guardian" not in map(process_name, node.processes()))


@pytest.mark.slow
def test_node_ends_with_the_command_that_joined_it(cluster: Cluster, node: Machine) -> None:
    (guardian,) = [pid for pid in node.processes() if process_name(pid) == "podium-guardian"]
    os.kill(psutil.Process(guardian).ppid(), signal.SIGKILL)
    wait_for("its processes have ended", lambda: not [pid for pid in node.processes() if _is_of_podium(pid)])


@pytest.mark.slow
def test_node_that_is_removed_leaves_after_its_trial(cluster: Cluster, node: Machine, folder: Path) -> None:
    sweep_id = _start(cluster, node, folder)
    cluster.command("node", "remove", node.name, "--json")
    wait_for("the node has left", lambda: f"{node.name}:cpu-0" in cluster.devices("lost"), 60.0)
    assert _on(node, cluster, sweep_id).state == "finished"
    wait_for("its processes have ended", lambda: "podium-guardian" not in map(process_name, node.processes()))


@pytest.mark.slow
def test_ray_is_encrypted_on_request(cluster: Cluster, node: Machine, folder: Path) -> None:
    assert _speaks_plainly(node, cluster.head.address)
    with tempfile.TemporaryDirectory(prefix="r-") as own, Network(Path(own) / "m") as network:
        encrypted = Cluster(network, Path(own), head_slots=1, ray_tls=True)
        other = encrypted.join_by_command("n1", slots=1)
        assert not _speaks_plainly(other, encrypted.head.address)
        sweep_id = encrypted.submit(function_sweep(folder / "code", "program:train", run_cap=2), Path(own))
        wait_for("the sweep has finished", lambda: encrypted.state(sweep_id) == "finished", 60.0)
        assert _on(other, encrypted, sweep_id).state == "finished"
        encrypted.close()


def _speaks_plainly(machine: Machine, head: str) -> bool:
    """Whether Ray on the head answers HTTP/2, on which gRPC is based, without TLS: with its settings, frame type 4."""
    program = (
        "import socket, sys\n"
        "head = socket.create_connection((sys.argv[1], 6379), 5)\n"
        "head.settimeout(5)\n"
        "head.sendall(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))\n"
        "print(head.recv(100)[3:4].hex())"
    )
    return machine.run(sys.executable, "-c", program, head).strip() == "04"


def _left_on(node: Machine, cluster: Cluster) -> tuple[list[str], list[str]]:
    """Folders and processes of ended attempts, by the last report of a node."""
    query = "SELECT left_folders, left_processes FROM nodes WHERE name = :name"
    ((folders, processes),) = cluster.rows(query, name=node.name)
    return json.loads(folders), json.loads(processes)


def _bytes_in(folder: Path) -> int:
    """The size of the files below a folder, in which files may be renamed meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def _is_of_podium(pid: int) -> bool:
    """Whether a process of Podium runs; the first process of a machine reaps none."""
    try:
        process = psutil.Process(pid)
        return "podium" in process.name() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.slow
def test_full_disk_of_a_node_fails_the_attempt_and_its_slot_goes_on(cluster: Cluster, folder: Path) -> None:
    """The trials of other machines continue meanwhile."""
    node, _ = cluster.join_with_disk("f", 1, DISK_MB)
    filler = str(node.folder / "data" / "filler")
    node.run("sh", "-c", f"head -c {(DISK_MB - 10) << 20} /dev/zero > {filler}")
    document = function_sweep(folder / "code", "large:save", run_cap=4)
    sweep_id = cluster.submit(document, folder)
    wait_for("an attempt has failed", lambda: [a for a in cluster.attempts(sweep_id) if a.state == "failed"], END_S)
    failed = [each for each in cluster.attempts(sweep_id) if each.state == "failed"]
    assert {(each.device, each.cause) for each in failed} == {("f:cpu-0", "disk_full")}
    node.run("rm", filler)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", END_S)
    again = cluster.submit(document, folder)
    wait_for("the sweep has finished", lambda: cluster.state(again) == "finished", END_S)
    assert "f:cpu-0" in {each.device for each in cluster.attempts(again) if each.state == "finished"}
    cluster.take_out(node)


@pytest.mark.slow
def test_agent_that_is_killed_during_an_upload_continues_it(cluster: Cluster, node: Machine, folder: Path) -> None:
    sweep_id = cluster.submit(function_sweep(folder / "code", "large:save", run_cap=2), folder)
    wait_for("a part has arrived", lambda: any(cluster.data.uploads.iterdir()), END_S)
    (agent,) = [pid for pid in node.processes() if process_name(pid) == "podium-agent"]
    os.kill(agent, signal.SIGKILL)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", END_S)
    (far,) = [each for each in cluster.attempts(sweep_id) if each.device == f"{node.name}:cpu-0"]
    assert (far.state, far.number) == ("finished", 1)
    saved = cluster.folder_of(sweep_id, far) / "artifacts" / "large.bin"
    assert saved.read_bytes() == bytes(40 << 20)


@pytest.mark.slow
def test_next_trial_runs_while_files_are_sent_over_a_slow_network(
    cluster: Cluster, slow_node: Machine, folder: Path
) -> None:
    sweep_id = cluster.submit(function_sweep(folder / "code", "large:save", run_cap=3), folder)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", END_S)
    attempts = cluster.attempts(sweep_id)
    assert [(each.device, each.number, each.state) for each in attempts] == [
        (f"{slow_node.name}:cpu-0", 1, "finished")
    ] * 3  # fmt: skip
    for each in attempts:
        saved = cluster.folder_of(sweep_id, each) / "artifacts" / "large.bin"
        assert saved.read_bytes() == bytes(40 << 20)
    events = _trial_events(cluster, sweep_id)
    for first, second in itertools.pairwise(attempts):
        placed = events.index((second.trial, "running"))
        assert events.index((first.trial, "sending")) < placed < events.index((first.trial, "finished"))
    assert events.count((0, "finished")) == 1
    assert cluster.command("doctor", "--json")["breaches"] == []


@pytest.mark.slow
def test_trial_whose_node_is_lost_while_its_files_are_sent_is_repeated(
    cluster: Cluster, slow_node: Machine, folder: Path
) -> None:
    sweep_id = cluster.submit(function_sweep(folder / "code", "large:save", run_cap=2), folder)
    wait_for("both are there", lambda: (1, "running") in _trial_events(cluster, sweep_id), END_S)
    assert [each.trial for each in cluster.running(sweep_id)] == [0, 1]
    slow_node.unplug()
    cluster.command("devices", "return", "cpu-0", "--json")
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", END_S)
    found = {(each.trial, each.number): (each.device, each.cause) for each in cluster.attempts(sweep_id)}
    lost, elsewhere = (f"{slow_node.name}:cpu-0", "node_lost"), ("cpu-0", None)
    assert found == {(0, 1): lost, (1, 1): lost, (0, 2): elsewhere, (1, 2): elsewhere}


@pytest.mark.slow
def test_fetch_during_which_the_network_is_cut_for_a_moment_continues(
    cluster: Cluster, node: Machine, folder: Path
) -> None:
    if reason := slow_uplink_reason():
        pytest.skip(reason)
    source = folder / "large.npz"
    rows = 40_000
    np.savez(source, x=np.random.default_rng(0).random((rows, 256), np.float32), y=np.arange(rows) % 2)
    data = {"file": str(source), "target": "y", "task": "classification"}
    document = function_sweep(folder / "code", "program:train", run_cap=1)
    document["program"] = {**document["program"], "data": data}
    cluster.command("devices", "drain", "cpu-0", "--json")
    cluster.head.slow_uplink()
    try:
        sweep_id = cluster.submit(document, folder)
        arriving = node.folder / "data" / "datasets"
        wait_for("a part has arrived", lambda: _bytes_in(arriving) > 5_000_000, END_S)
        node.unplug()
        assert _bytes_in(arriving) < 4 * rows * 256, "it was cut before the end"
        time.sleep(3.0)
        node.plug()
        wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", END_S)
    finally:
        cluster.head.plug()
        cluster.command("devices", "return", "cpu-0", "--json")
    assert [(each.device, each.number, each.state) for each in cluster.attempts(sweep_id)] == [
        (f"{node.name}:cpu-0", 1, "finished")
    ]  # fmt: skip


@pytest.mark.slow
def test_node_that_is_cut_off_while_its_slots_open_gets_trials(cluster: Cluster, folder: Path) -> None:
    node = cluster.stray_machine("g")  # a short name: paths of sockets are limited
    process = cluster.start_node(node, slots=2)
    cluster.wait_until("its raylet runs", lambda: "raylet" in map(process_name, node.processes()), END_S)
    cluster.wait_until("it has reported", lambda: ("g",) in cluster.rows("SELECT name FROM nodes"), END_S)
    node.unplug()
    time.sleep(5.0)
    node.plug()
    names = {"g:cpu-0", "g:cpu-1"}
    cluster.wait_until("its slots are open", lambda: names <= cluster.devices("ready"), END_S)
    sweep_id = cluster.submit(function_sweep(folder / "code", "program:train", run_cap=3), folder)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", END_S)
    assert names <= {each.device for each in cluster.attempts(sweep_id)}
    assert process.poll() is None
    cluster.take_out(node)


@pytest.mark.slow
def test_doctor_finds_what_ended_attempts_have_left_on_a_node(cluster: Cluster, node: Machine, folder: Path) -> None:
    sweep_id = cluster.submit(function_sweep(folder / "code", "program:train", run_cap=2), folder)
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", END_S)
    key = cluster.data.relative(cluster.folder_of(sweep_id, _on(node, cluster, sweep_id)))
    kept = node.folder / "data" / key
    wait_for("its folder is removed", lambda: not kept.exists())
    cluster.check()
    node.limit_disk(kept.parent, 1)  # the place where a disk is mounted cannot be moved
    node.run("mkdir", str(kept))
    process = node.start(["sleep", "infinity"], {"TMPDIR": str(kept)})
    wait_for("the node reports both", lambda: all(_left_on(node, cluster)))
    found = cluster.breaches()
    assert {(each["invariant"], each["rows"]["node"], each["rows"]["path"]) for each in found} == {
        ("stray", node.name, key)
    }
    assert sorted("pid" in each["rows"] for each in found) == [False, True]
    (sleeping,) = children(process.pid)
    os.kill(sleeping, signal.SIGKILL)
    node.run("umount", str(kept.parent))
    wait_for("the node reports nothing", lambda: not any(_left_on(node, cluster)))


def _trial_events(cluster: Cluster, sweep_id: int) -> list[tuple[int, str]]:
    """The events of the trials of a sweep, in their order: the number of the trial, and what has happened."""
    query = (
        "SELECT t.number, substr(e.kind, 7) FROM events e JOIN trials t ON t.id = e.trial_id"
        " WHERE e.sweep_id = :sweep AND e.kind LIKE 'trial.%' ORDER BY e.id"
    )
    return [(number, kind) for number, kind in cluster.rows(query, sweep=sweep_id)]


def _start(cluster: Cluster, node: Machine, folder: Path) -> int:
    """A sweep with a trial on each of the two devices; its id."""
    sweep_id = cluster.submit(function_sweep(folder / "code", "program:train", run_cap=2), folder)
    both = {"cpu-0", f"{node.name}:cpu-0"}
    wait_for("both devices work", lambda: both == {a.device for a in cluster.attempts(sweep_id) if a.ended_at is None})
    return sweep_id


def _on(node: Machine, cluster: Cluster, sweep_id: int) -> Attempt:
    """The first attempt on a node."""
    return next(each for each in cluster.attempts(sweep_id) if each.device == f"{node.name}:cpu-0")
