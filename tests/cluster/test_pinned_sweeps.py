"""Sweeps that are pinned to a node: `resources.node`, with a real Ray."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.cluster_rig import Cluster
from tests.cluster.machines import Network
from tests.running_service import function_sweep

PROGRAM = """
def value(trial):
    return trial.params["x"]
"""


@pytest.fixture(scope="module")
def folder(can_make_machines: None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rig-") as made:
        (Path(made) / "code").mkdir()
        (Path(made) / "code" / "values.py").write_text(PROGRAM)
        yield Path(made)


@pytest.fixture
def cluster(folder: Path) -> Iterator[Cluster]:
    """A head with one slot."""
    with Network(folder / "machines") as network:
        started = Cluster(network, folder, head_slots=1)
        yield started
        started.close()


def _pinned(folder: Path, node: str, **resources: Any) -> dict[str, Any]:
    program = folder / "code"
    return function_sweep(program, "values:value", run_cap=3, resources={"node": node, **resources})


@pytest.mark.slow
def test_sweep_waits_for_its_node_and_runs_there_only(cluster: Cluster, folder: Path) -> None:
    pinned = cluster.submit(_pinned(folder, "n1"), folder)
    here = cluster.submit(_pinned(folder, "head"), folder)
    cluster.wait_until("the sweep of the head has finished", lambda: cluster.state(here) == "finished", 60.0)
    cluster.wait_until("the other one has a reason to wait", lambda: _wait(cluster, pinned) is not None, 30.0)
    assert _wait(cluster, pinned) == "no_matching_device"
    cluster.join("n1", slots=1)
    cluster.wait_until("the sweep has finished", lambda: cluster.state(pinned) == "finished", 90.0)
    assert {attempt.device for attempt in cluster.attempts(pinned)} == {"n1:cpu-0"}
    assert {attempt.device for attempt in cluster.attempts(here)} == {"cpu-0"}


def _wait(cluster: Cluster, sweep_id: int) -> str | None:
    ((reason,),) = cluster.rows(f"SELECT wait_reason FROM sweeps WHERE id = {sweep_id}")
    return None if reason is None else str(reason)
