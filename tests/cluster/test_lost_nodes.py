"""Trials on other machines, with a real Ray: what a cut cable, a short cut and a killed machine cost."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.sweep.runtime.process_title import process_name
from tests.cluster.cluster_rig import Cluster
from tests.cluster.machines import Network
from tests.running_service import function_sweep, wait_for

NAPS = """
import time

def nap(trial):
    for step in range(24):
        time.sleep(0.25)
        trial.report(trial.params["x"], step)
    return trial.params["x"]
"""
DETECTED_S = 10.0  # within which the loss of a node is noticed, with Ray's defaults


@pytest.fixture(scope="module")
def folder(can_make_machines: None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rig-") as made:
        (Path(made) / "code").mkdir()
        (Path(made) / "code" / "naps.py").write_text(NAPS)
        yield Path(made)


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[Cluster]:
    """A head with one slot."""
    with Network(folder / "machines") as network:
        started = Cluster(network, folder, head_slots=1)
        yield started
        started.close()


def _running(cluster: Cluster, sweep_id: int) -> set[str]:
    return {each.device for each in cluster.attempts(sweep_id) if each.ended_at is None}


def test_trial_of_a_node_whose_cable_is_cut_is_repeated_elsewhere(cluster: Cluster, folder: Path) -> None:
    node = cluster.join("b", slots=1)
    sweep_id = cluster.submit(function_sweep(folder / "code", "naps:nap", run_cap=2), folder)
    wait_for("both devices work", lambda: _running(cluster, sweep_id) == {"cpu-0", "b:cpu-0"})
    time.sleep(1.0)
    node.unplug()
    cut_at = time.time()
    wait_for("the loss is noticed", lambda: [each for each in cluster.attempts(sweep_id) if each.cause == "node_lost"])
    assert time.time() - cut_at <= DETECTED_S
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished")
    attempts = cluster.attempts(sweep_id)
    (lost,) = [each for each in attempts if each.state != "finished"]
    assert (lost.device, lost.state, lost.cause) == ("b:cpu-0", "failed", "node_lost")
    finished = [each for each in attempts if each.state == "finished"]
    assert sorted(each.trial for each in finished) == [0, 1]
    assert {each.device for each in finished} == {"cpu-0"}
    cluster.take_out(node)


def test_short_cut_of_the_network_costs_no_attempt(cluster: Cluster, folder: Path) -> None:
    node = cluster.join("c", slots=1)
    sweep_id = cluster.submit(function_sweep(folder / "code", "naps:nap", run_cap=2), folder)
    wait_for("both devices work", lambda: _running(cluster, sweep_id) >= {"cpu-0", "c:cpu-0"})
    time.sleep(1.0)
    node.unplug()
    time.sleep(2.5)
    node.plug()
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished")
    assert [(each.number, each.state) for each in cluster.attempts(sweep_id)] == [(1, "finished")] * 2
    cluster.take_out(node)


def test_trial_of_a_killed_machine_is_repeated_elsewhere(cluster: Cluster, folder: Path) -> None:
    node = cluster.join("d", slots=1)
    sweep_id = cluster.submit(function_sweep(folder / "code", "naps:nap", run_cap=2), folder)
    wait_for("both devices work", lambda: _running(cluster, sweep_id) >= {"cpu-0", "d:cpu-0"})
    killed_at = time.time()
    node.kill()
    wait_for("the loss is noticed", lambda: [each for each in cluster.attempts(sweep_id) if each.cause == "node_lost"])
    assert time.time() - killed_at <= DETECTED_S
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished")
    counted = [each.trial for each in cluster.attempts(sweep_id) if each.state == "finished"]
    assert sorted(counted) == [0, 1], "each counts once"
    wait_for("its slots are lost", lambda: "d:cpu-0" not in cluster.devices("ready"))


def test_killed_raylet_takes_its_node_along_and_the_node_can_join_again(cluster: Cluster, folder: Path) -> None:
    node = cluster.join("e", slots=1)
    sweep_id = cluster.submit(function_sweep(folder / "code", "naps:nap", run_cap=2), folder)
    wait_for("both devices work", lambda: _running(cluster, sweep_id) >= {"cpu-0", "e:cpu-0"})
    (raylet,) = [pid for pid in node.processes() if process_name(pid) == "raylet"]
    killed_at = time.time()
    os.kill(raylet, signal.SIGKILL)
    wait_for("the loss is noticed", lambda: [each for each in cluster.attempts(sweep_id) if each.cause == "node_lost"])
    assert time.time() - killed_at <= DETECTED_S
    wait_for("nothing of the node is left", lambda: not [p for p in node.processes() if "podium" in process_name(p)])
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished")
    node.kill()
    cluster.join("e", slots=1)
    sweep_id = cluster.submit(function_sweep(folder / "code", "naps:nap", run_cap=2), folder)
    wait_for("both devices work", lambda: _running(cluster, sweep_id) >= {"cpu-0", "e:cpu-0"})
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished")
    assert [each.state for each in cluster.attempts(sweep_id)] == ["finished"] * 2
