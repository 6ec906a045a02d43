"""A head that is killed and started again: trials on nodes continue, or are repeated if the head was away too long."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.sweep.runtime.process_title import process_name
from tests.cluster.cluster_rig import Attempt, Cluster
from tests.cluster.machines import Machine, Network
from tests.running_service import function_sweep, wait_for

pytestmark = pytest.mark.slow

WAITS = """
import pathlib, time
import torch

def wait(trial):
    model = torch.nn.Linear(2, 2)
    found = trial.resume()
    first = 0 if found is None else found.epoch + 1
    print("begins at", first, flush=True)
    for step in range(first, 10_000):
        trial.report(float(step), step)
        trial.save_checkpoint(model, epoch=step)
        if pathlib.Path({go!r}).exists():
            break
        time.sleep(0.25)
    return float(first)
"""
NODE_SLOTS = 2
START_S = 90.0


@pytest.fixture
def folder(can_make_machines: None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="r-") as made:
        (Path(made) / "code").mkdir()
        (Path(made) / "code" / "waits.py").write_text(WAITS.format(go=str(Path(made) / "go")))
        yield Path(made)


@pytest.fixture
def cluster(folder: Path) -> Iterator[Cluster]:
    """A head with one slot."""
    with Network(folder / "m") as network:
        started = Cluster(network, folder, head_slots=1)
        yield started
        started.close()


def _start_sweep(cluster: Cluster, node: Machine, folder: Path) -> int:
    """A sweep with a trial on each device, each with some reports; its id."""
    sweep_id = cluster.submit(function_sweep(folder / "code", "waits:wait", run_cap=1 + NODE_SLOTS), folder)
    cluster.wait_until("all devices work", lambda: len(_steps(cluster, sweep_id)) == 1 + NODE_SLOTS)
    return sweep_id


def _steps(cluster: Cluster, sweep_id: int) -> dict[int, int]:
    """The last step that each trial has reported."""
    query = (
        "SELECT t.number, max(m.step) FROM metrics m JOIN trials t ON t.id = m.trial_id WHERE t.sweep_id = :sweep"
        " GROUP BY t.number"
    )
    return dict(map(tuple, cluster.rows(query, sweep=sweep_id)))


def _on_node(attempts: list[Attempt]) -> list[Attempt]:
    return [each for each in attempts if each.device != "cpu-0"]


def _trial_processes(node: Machine) -> set[int]:
    return {pid for pid in node.processes() if process_name(pid) == "podium-trial"}


def _finish(cluster: Cluster, sweep_id: int, folder: Path) -> list[Attempt]:
    """Let all trials end; the attempts, of which one counts for each trial."""
    (folder / "go").touch()
    cluster.wait_until("the sweep has finished", lambda: cluster.state(sweep_id) == "finished", START_S)
    found = cluster.attempts(sweep_id)
    assert sorted(each.trial for each in found if each.state == "finished") == list(range(1 + NODE_SLOTS))
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_trials_on_nodes_outlive_the_head(cluster: Cluster, folder: Path, number: int) -> None:
    node = cluster.join_by_command("b", slots=NODE_SLOTS)
    sweep_id = _start_sweep(cluster, node, folder)
    before, processes = _on_node(cluster.running(sweep_id)), _trial_processes(node)
    assert len(before) == len(processes) == NODE_SLOTS
    cluster.signal(number)
    told = _steps(cluster, sweep_id)
    cluster.start()
    cluster.wait_until(
        "their reports arrive",
        lambda: all(_steps(cluster, sweep_id)[each.trial] > told[each.trial] for each in before),
        START_S,
    )
    assert _on_node(cluster.running(sweep_id)) == before and _trial_processes(node) == processes
    after = _finish(cluster, sweep_id, folder)
    trials = {each.trial for each in before}
    assert [(each.number, each.state) for each in after if each.trial in trials] == [(1, "finished")] * NODE_SLOTS
    for each in before:
        query = (
            "SELECT m.step FROM metrics m JOIN trials t ON t.id = m.trial_id WHERE t.sweep_id = :s AND t.number = :n"
        )
        steps = sorted(step for (step,) in cluster.rows(query, s=sweep_id, n=each.trial))
        assert steps == list(range(len(steps))), "each report has arrived once"
        assert (cluster.folder_of(sweep_id, each) / "log").read_text().startswith("begins at 0")


def test_trials_of_a_node_that_no_longer_waits_are_repeated(cluster: Cluster, folder: Path) -> None:
    node = cluster.join("b", slots=NODE_SLOTS, wait_s=2.0)
    sweep_id = _start_sweep(cluster, node, folder)
    cluster.signal(signal.SIGKILL)
    wait_for("nothing of the node is left", lambda: not _trial_processes(node), START_S)
    node.kill()
    told = _steps(cluster, sweep_id)
    cluster.start()
    cluster.join("b", slots=NODE_SLOTS)
    cluster.wait_until(
        "all trials run again", lambda: all(_steps(cluster, sweep_id)[trial] > step for trial, step in told.items())
    )
    after = _finish(cluster, sweep_id, folder)
    assert sorted(each.number for each in after) == [1] * len(told) + [2] * len(told)
    value = "SELECT min(value) FROM trials WHERE sweep_id = :sweep"
    assert cluster.rows(value, sweep=sweep_id)[0][0] > 0, "they continued from checkpoints"


def test_head_with_a_damaged_store_starts_without_it(cluster: Cluster, folder: Path) -> None:
    node = cluster.join_by_command("b", slots=NODE_SLOTS)
    sweep_id = _start_sweep(cluster, node, folder)
    cluster.signal(signal.SIGKILL)
    wait_for("Ray has ended", lambda: not [p for p in cluster.head.processes() if "podium" in process_name(p)])
    for path in cluster.data.ray_store.rglob("CURRENT"):
        path.write_text("damaged\n")
    cluster.start()
    cluster.wait_until(
        "the trial of the head runs again",
        lambda: [each for each in cluster.running(sweep_id) if (each.device, each.number) == ("cpu-0", 2)],
        START_S,
    )
    assert "removing it" in (cluster.data.logs / "ray.log").read_text()
    _finish(cluster, sweep_id, folder)  # without the node, which needs a minute to notice that this is another cluster


def test_clean_stop_ends_the_trials_on_nodes(cluster: Cluster, folder: Path) -> None:
    node = cluster.join_by_command("b", slots=NODE_SLOTS)
    sweep_id = _start_sweep(cluster, node, folder)
    assert cluster.signal(signal.SIGTERM) == 0
    assert not _trial_processes(node) and not cluster.data.ray_store.exists()
    assert not cluster.running(sweep_id)
    cluster.start()
    cluster.wait_until("the head works again", lambda: cluster.running(sweep_id), START_S)
