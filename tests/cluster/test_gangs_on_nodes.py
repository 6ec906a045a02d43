"""Trials with devices of several machines: `pack: any`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from tests.cluster.cluster_rig import Cluster
from tests.cluster.machines import Network
from tests.running_service import wait_for

PROGRAMS = Path(__file__).parents[1] / "integration" / "gang_programs"


@pytest.fixture(scope="module")
def folder(can_make_machines: None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="r-") as made:
        yield Path(made)


@pytest.fixture
def cluster(folder: Path) -> Iterator[Cluster]:
    """A head and a node, each with one slot."""
    with Network(folder / "m") as network:
        yield Cluster(network, folder, head_slots=1)


def _sweep(program: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "name": "gang",
        "method": "random",
        "metric": {"name": "score", "goal": "maximize"},
        "parameters": {"x": {"min": 0.0, "max": 1.0}},
        "run_cap": 1,
        "program": {"code": str(PROGRAMS), **program},
        "resources": {"devices": 2, "pack": "any"},
        **changes,
    }


@pytest.mark.slow
def test_ranks_on_two_machines_train_together_and_a_lost_node_is_the_cause(cluster: Cluster, folder: Path) -> None:
    node = cluster.join_by_command("n1", slots=1)
    program = {"command": ["python", "train_ddp.py"], "metrics": {"score": "auto"}}
    sweep_id = cluster.submit(_sweep(program), folder)
    cluster.wait_until("the sweep has ended", lambda: cluster.state(sweep_id) in ("finished", "failed"), 120.0)
    (attempt,) = cluster.attempts(sweep_id)
    directory = cluster.folder_of(sweep_id, attempt)
    logs = [AttemptDirectory(directory, rank).log.read_text() for rank in range(2)]
    assert attempt.state == "finished", logs
    assert "rank 0 of 2" in logs[0] and "rank 1 of 2" in logs[1]
    ranks = cluster.rows("SELECT device_id, state FROM attempt_ranks WHERE trial_id = 1 ORDER BY rank")
    assert sorted(ranks) == [("cpu-0", "finished"), ("n1:cpu-0", "finished")]

    sweep_id = cluster.submit(_sweep({"function": "train:waits"}), folder)
    cluster.wait_until("the ranks train", lambda: _joined(cluster, sweep_id), 90.0)
    node.kill()
    cluster.wait_until("the attempt has ended", lambda: cluster.attempts(sweep_id)[0].ended_at is not None, 60.0)
    lost = cluster.attempts(sweep_id)[0]
    assert (lost.state, lost.cause) == ("failed", "node_lost")
    wait_for("the device of the head is free", lambda: not cluster.running(sweep_id))
    cluster.command("sweep", "cancel", str(sweep_id), "--json")
    cluster.close()


def _joined(cluster: Cluster, sweep_id: int) -> bool:
    running = cluster.running(sweep_id)
    if not running:
        return False
    directory = cluster.folder_of(sweep_id, running[0])
    logs = [AttemptDirectory(directory, rank).log for rank in range(2)]
    return all(log.exists() and "joined as" in log.read_text() for log in logs)
