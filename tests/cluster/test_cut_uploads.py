"""A node whose network is cut while it sends a large file: the upload continues where it has stopped."""

from __future__ import annotations

import itertools
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from podium.sweep.file_store.https_store import PART_BYTES
from podium.sweep.runtime.process_title import process_name
from podium.sweep.runtime.safe_file_reads import sha256_of
from tests.cluster.cluster_rig import Cluster
from tests.cluster.machines import Machine, slow_uplink_reason
from tests.running_service import function_sweep, wait_for

# No two parts of a file are equal. The trial with a checkpoint ends when the test has seen it.
PROGRAM = """
import pathlib, time
import torch

numbers = torch.arange({numbers}, dtype=torch.int32)

def checkpoint(trial):
    model = torch.nn.Module()
    model.register_buffer("numbers", numbers)
    trial.save_checkpoint(model, epoch=0)
    while not pathlib.Path({seen!r}).exists():
        time.sleep(0.1)
    return 1.0

def artifact(trial):
    path = pathlib.Path(trial.dir, "large.bin")
    path.write_bytes(numbers.numpy().tobytes())
    trial.save_artifact(path)
    return 1.0
"""
SIZE = 10 * PART_BYTES  # 8 s at the speed of a slow node
CUT_AFTER = 3 * PART_BYTES
CUT_S = 3.0
END_S = 90.0
names = itertools.count(1)


@pytest.fixture
def folder(can_make_machines: None) -> Iterator[Path]:
    if reason := slow_uplink_reason():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="r-") as made:
        code = Path(made) / "code"
        code.mkdir()
        (code / "program.py").write_text(PROGRAM.format(numbers=SIZE // 4, seen=str(Path(made) / "seen")))
        yield Path(made)


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Cluster:
    return shared_cluster


@pytest.fixture
def node(folder: Path, cluster: Cluster) -> Iterator[Machine]:
    """A node that sends slowly, and whose device is the only one."""
    joined = cluster.join_by_command(f"u{next(names)}", slots=1)
    cluster.command("devices", "drain", "cpu-0", "--json")
    joined.slow_uplink()
    yield joined
    cluster.command("devices", "return", "cpu-0", "--json")
    cluster.take_out(joined)


@pytest.mark.slow
@pytest.mark.parametrize("restarted", [False, True], ids=["cut", "cut and a new receiver"])
def test_checkpoint_is_sent_from_where_the_network_was_cut(
    cluster: Cluster, node: Machine, folder: Path, restarted: bool
) -> None:
    sweep_id = cluster.submit(function_sweep(folder / "code", "program:checkpoint", run_cap=1), folder)
    sent = _cut_while_sending(cluster, node, sweep_id, "checkpoint.safetensors", restarted=restarted)
    assert sha256_of(sent) == sha256_of(node.folder / "data" / cluster.data.relative(sent))
    assert [each.number for each in cluster.running(sweep_id)] == [1]
    cluster.check()
    (folder / "seen").touch()
    _assert_finished_on(node, cluster, sweep_id)


@pytest.mark.slow
def test_file_of_an_ended_trial_is_sent_from_where_the_network_was_cut(
    cluster: Cluster, node: Machine, folder: Path
) -> None:
    sweep_id = cluster.submit(function_sweep(folder / "code", "program:artifact", run_cap=1), folder)
    sent = _cut_while_sending(cluster, node, sweep_id, "artifacts/large.bin")
    _assert_finished_on(node, cluster, sweep_id)
    assert sent.read_bytes() == np.arange(SIZE // 4, dtype="<i4").tobytes()
    cluster.check()


def _cut_while_sending(cluster: Cluster, node: Machine, sweep_id: int, name: str, *, restarted: bool = False) -> Path:
    """Cut the network of a node for a moment when it has sent a part of a file; the file on the head.

    `restarted`: the process that receives it is killed meanwhile, and started again by `podium serve`.
    """
    others, before = _parts(cluster), _received_bytes(cluster.head)  # others: of attempts that were lost
    wait_for("some of it has arrived", lambda: _size(_parts(cluster) - others) >= CUT_AFTER, END_S)
    node.unplug()
    time.sleep(CUT_S / 2)
    (attempt,) = cluster.attempts(sweep_id)
    path = cluster.folder_of(sweep_id, attempt) / name
    (part,) = _parts(cluster) - others
    with part.open("rb") as received:  # kept open: its inode is not given to another file
        size = os.fstat(received.fileno()).st_size
        assert CUT_AFTER <= size < SIZE, "it was cut before the end"
        if restarted:
            (receiver,) = [pid for pid in cluster.head.processes() if process_name(pid) == "podium-nodes"]
            os.kill(receiver, signal.SIGKILL)
        time.sleep(CUT_S / 2)
        assert _size({part}) == size and not path.exists(), "nothing arrives meanwhile"
        node.plug()
        wait_for("it has arrived", path.exists, END_S)
        assert os.path.samestat(os.fstat(received.fileno()), path.stat()), "the same file has grown"
    assert path.stat().st_size >= SIZE and _parts(cluster) == others
    assert _received_bytes(cluster.head) - before < path.stat().st_size + size, "what had arrived is not sent again"
    return path


def _parts(cluster: Cluster) -> set[Path]:
    """The files that the head has received in part."""
    return set(cluster.data.uploads.iterdir())


def _size(paths: set[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def _received_bytes(machine: Machine) -> int:
    (own,) = [line for line in machine.run("cat", "/proc/net/dev").splitlines() if line.strip().startswith("eth0:")]
    return int(own.split(":")[1].split()[0])


def _assert_finished_on(node: Machine, cluster: Cluster, sweep_id: int) -> None:
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", END_S)
    found = [(each.device, each.number, each.state) for each in cluster.attempts(sweep_id)]
    assert found == [(f"{node.name}:cpu-0", 1, "finished")]
