"""Trials on other machines, with a real Ray: what a cut cable, a short cut and a killed machine cost."""

from __future__ import annotations

import itertools
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from podium.sweep.runtime.process_title import process_name
from tests.cluster.cluster_rig import Attempt, Cluster
from tests.cluster.machines import Machine, one_way_reason
from tests.running_service import function_sweep, wait_for

NAPS = """
import time

def nap(trial):
    for step in range(24):
        time.sleep(0.25)
        trial.report(trial.params["x"], step)
    return trial.params["x"]
"""
AGAIN_S = 90.0
LOST_S = 40.0  # Ray itself notices a silent cut after more than a minute
ONE_WAY = {"sends nothing": Machine.drop_outgoing, "receives nothing": Machine.drop_incoming}
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def folder(can_make_machines: None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rig-") as made:
        (Path(made) / "code").mkdir()
        (Path(made) / "code" / "naps.py").write_text(NAPS)
        yield Path(made)


@pytest.fixture(scope="module")
def cluster(shared_cluster: Cluster) -> Cluster:
    """A head with one slot."""
    return shared_cluster


@pytest.fixture
def node(cluster: Cluster) -> Iterator[Machine]:
    """A node with one slot, which is taken out at the end."""
    joined = cluster.join(f"l{next(numbers)}", slots=1)
    yield joined
    cluster.take_out(joined)


def _start(cluster: Cluster, node: Machine, folder: Path) -> int:
    """A sweep with a trial on each of the two devices; its id."""
    sweep_id = cluster.submit(function_sweep(folder / "code", "naps:nap", run_cap=2), folder)
    both = {"cpu-0", f"{node.name}:cpu-0"}
    wait_for("both devices work", lambda: both == {a.device for a in cluster.attempts(sweep_id) if a.ended_at is None})
    time.sleep(1.0)  # the trials report
    return sweep_id


def _loss(cluster: Cluster, sweep_id: int) -> Attempt:
    """The attempt that was lost with its node."""

    def lost() -> list[Attempt]:
        return [each for each in cluster.attempts(sweep_id) if each.cause == "node_lost"]

    wait_for("the loss is noticed", lost, LOST_S)
    (found,) = lost()
    return found


def _assert_each_trial_counts_once(cluster: Cluster, sweep_id: int) -> None:
    wait_for("the sweep has finished", lambda: cluster.state(sweep_id) == "finished")
    finished = [each for each in cluster.attempts(sweep_id) if each.state == "finished"]
    assert sorted(each.trial for each in finished) == [0, 1]


def test_trial_of_a_node_whose_cable_is_cut_is_repeated_elsewhere(
    cluster: Cluster, node: Machine, folder: Path
) -> None:
    sweep_id = _start(cluster, node, folder)
    node.unplug()
    lost = _loss(cluster, sweep_id)
    assert (lost.device, lost.number, lost.state) == (f"{node.name}:cpu-0", 1, "failed")
    _assert_each_trial_counts_once(cluster, sweep_id)
    assert {each.device for each in cluster.attempts(sweep_id) if each.state == "finished"} == {"cpu-0"}


@pytest.mark.slow
def test_short_cut_of_the_network_costs_no_attempt(cluster: Cluster, node: Machine, folder: Path) -> None:
    sweep_id = _start(cluster, node, folder)
    node.unplug()
    time.sleep(2.0)
    node.plug()
    _assert_each_trial_counts_once(cluster, sweep_id)
    assert [each.number for each in cluster.attempts(sweep_id)] == [1, 1]


@pytest.mark.slow
def test_trial_of_a_killed_machine_is_repeated_elsewhere(cluster: Cluster, node: Machine, folder: Path) -> None:
    sweep_id = _start(cluster, node, folder)
    node.kill()
    assert _loss(cluster, sweep_id).device == f"{node.name}:cpu-0"
    _assert_each_trial_counts_once(cluster, sweep_id)


@pytest.mark.slow
def test_killed_raylet_ends_its_node_which_can_join_again(cluster: Cluster, node: Machine, folder: Path) -> None:
    sweep_id = _start(cluster, node, folder)
    (raylet,) = [pid for pid in node.processes() if process_name(pid) == "raylet"]
    os.kill(raylet, signal.SIGKILL)
    assert _loss(cluster, sweep_id).device == f"{node.name}:cpu-0"
    wait_for("nothing of the node is left", lambda: not [p for p in node.processes() if "podium" in process_name(p)])
    _assert_each_trial_counts_once(cluster, sweep_id)
    node.kill()
    again = cluster.join(node.name, slots=1)
    _assert_each_trial_counts_once(cluster, _start(cluster, again, folder))
    cluster.take_out(again)


@pytest.mark.slow
@pytest.mark.parametrize("cut", ONE_WAY.values(), ids=ONE_WAY)
def test_node_that_is_cut_off_one_way_loses_its_trial_and_works_again(
    cluster: Cluster, node: Machine, folder: Path, cut: Callable[[Machine], None]
) -> None:
    if reason := one_way_reason():
        pytest.skip(reason)
    sweep_id = _start(cluster, node, folder)
    cut(node)
    assert _loss(cluster, sweep_id).device == f"{node.name}:cpu-0"
    _assert_each_trial_counts_once(cluster, sweep_id)
    assert {each.device for each in cluster.attempts(sweep_id) if each.state == "finished"} == {"cpu-0"}
    node.plug()
    _assert_works_again(cluster, node, folder)


@pytest.mark.slow
def test_node_that_was_cut_off_for_longer_works_again(cluster: Cluster, node: Machine, folder: Path) -> None:
    sweep_id = _start(cluster, node, folder)
    node.unplug()
    time.sleep(15.0)
    node.plug()
    assert _loss(cluster, sweep_id).device == f"{node.name}:cpu-0"
    _assert_each_trial_counts_once(cluster, sweep_id)
    _assert_works_again(cluster, node, folder)


def _assert_works_again(cluster: Cluster, node: Machine, folder: Path) -> None:
    wait_for("its slot is open again", lambda: f"{node.name}:cpu-0" in cluster.devices("ready"), AGAIN_S)
    _assert_each_trial_counts_once(cluster, _start(cluster, node, folder))
