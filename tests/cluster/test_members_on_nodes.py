"""Members of one ensemble on the head and two nodes: answers, a node that is cut off, killed workers and agents."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from podium.ensemble.host.node_worker_messages import SILENT_S
from podium.sweep.runtime.process_title import process_name
from tests.cluster.cluster_rig import Cluster
from tests.cluster.ensemble_on_nodes import DEADLINE_MS, MAX_ANSWER_MS, Client, Ensemble, ensemble_on_nodes
from tests.cluster.machines import Machine
from tests.running_service import wait_for


@pytest.fixture(scope="module")
def ensemble(shared_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble]:
    """A test leaves all three members answering, one on each machine."""
    with ensemble_on_nodes(shared_cluster, ("b", "c"), tmp_path_factory.mktemp("members")) as started:
        yield started


def test_members_are_on_different_machines_and_all_answer(ensemble: Ensemble) -> None:
    places = ensemble.places()
    assert sorted(place.device for place in places) == ["b:cpu-0", "c:cpu-0", "cpu-0"]
    assert sorted(place.endpoint.partition(":")[0] for place in places) == ["tls", "tls", "unix"]
    for node in ensemble.nodes:
        assert ensemble.on(node).endpoint.startswith(f"tls:{node.address}:84")
        assert len(list((node.folder / "data" / "models").iterdir())) == 1
    wait_for("all members answer", ensemble.is_complete)


def test_node_that_is_cut_off_costs_one_deadline(ensemble: Ensemble) -> None:
    wait_for("all members answer", ensemble.is_complete)
    node = ensemble.nodes[0]
    before = ensemble.on(node)
    with Client(ensemble) as client:
        time.sleep(0.5)
        node.unplug()
        cut_s = time.monotonic()
        time.sleep(4.0)
        node.plug()
        wait_for("all members answer", lambda: client.answers[-1].members == 3)
    answers = client.answers
    print("slowest", sorted(answer.took_ms for answer in answers)[-5:], "of", len(answers))
    assert {answer.status for answer in answers} == {200}
    assert min(answer.members for answer in answers) == 2
    assert max(answer.took_ms for answer in answers) <= MAX_ANSWER_MS
    late = [answer for answer in answers if answer.took_ms > DEADLINE_MS / 2]
    assert len(late) == 1, "it costs one deadline"
    assert cut_s - 1 < late[0].sent_s < cut_s + 1
    assert ensemble.on(node) == before, "the worker has kept running"


def test_member_that_is_killed_is_started_again(ensemble: Ensemble) -> None:
    wait_for("all members answer", ensemble.is_complete)
    node = ensemble.nodes[1]
    before = ensemble.on(node)
    _kill_in(node, "podium-member")
    ensemble.wait_for_new(before)
    wait_for("all members answer", ensemble.is_complete)


@pytest.mark.slow
def test_worker_keeps_running_without_its_agent(ensemble: Ensemble) -> None:
    wait_for("all members answer", ensemble.is_complete)
    node = ensemble.nodes[1]
    before = ensemble.on(node)
    with Client(ensemble) as client:
        _kill_in(node, "podium-agent")
        time.sleep(SILENT_S + 3.0)
    assert ensemble.on(node) == before
    assert {answer.members for answer in client.answers} == {3}


def _kill_in(machine: Machine, name: str) -> None:
    (pid,) = [pid for pid in machine.processes() if process_name(pid) == name]
    os.kill(pid, signal.SIGKILL)
