"""Nodes with members of an ensemble that do not come back: cut off, removed, and killed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from podium.ensemble.host.node_worker_messages import HOST_SILENCE_S, SILENT_S
from podium.sweep.runtime.process_title import process_name
from tests.cluster.cluster_rig import Cluster
from tests.cluster.ensemble_on_nodes import MAX_ANSWER_MS, Client, Ensemble, ensemble_on_nodes
from tests.cluster.machines import Machine
from tests.running_service import wait_for

_numbers = itertools.count(1)


@pytest.fixture
def ensemble(shared_cluster: Cluster, tmp_path: Path) -> Iterator[Ensemble]:
    """One for each test, on nodes of its own: a test leaves its members elsewhere."""
    number = next(_numbers)
    with ensemble_on_nodes(shared_cluster, (f"e{number}", f"f{number}"), tmp_path) as started:
        yield started


@pytest.mark.slow
def test_node_that_stays_away_is_replaced_and_its_worker_ends(ensemble: Ensemble) -> None:
    wait_for("all members answer", ensemble.is_complete)
    node = ensemble.nodes[0]
    before = ensemble.on(node)
    (member,) = [pid for pid in node.processes() if process_name(pid) == "podium-member"]
    node.unplug()
    ensemble.wait_for_new(before)
    wait_for("all members answer", ensemble.is_complete, 60.0)
    wait_for("its worker has ended", lambda: member not in node.processes(), HOST_SILENCE_S + 2 * SILENT_S)


@pytest.mark.slow
def test_node_that_is_taken_away_costs_its_members_only(ensemble: Ensemble) -> None:
    """By `podium node remove`, and without a warning."""
    wait_for("all members answer", ensemble.is_complete)
    removed, killed = ensemble.nodes
    added = f"d{removed.name}"
    ensemble.add(added)  # so that no other machine has two of them
    ways: dict[Machine, Callable[[], None]] = {removed: lambda: ensemble.remove(removed), killed: killed.kill}
    for node, take_away in ways.items():
        before = ensemble.on(node)
        with Client(ensemble) as client:
            time.sleep(0.5)
            take_away()
            ensemble.wait_for_new(before)
            wait_for("all members answer", lambda: client.answers[-1].members == 3)
        print("slowest", sorted(answer.took_ms for answer in client.answers)[-5:], "of", len(client.answers))
        assert {answer.status for answer in client.answers} == {200}
        assert min(answer.members for answer in client.answers) == 2
        assert max(answer.took_ms for answer in client.answers) <= MAX_ANSWER_MS
    assert {place.device.partition(":")[0] for place in ensemble.places()} <= {"cpu-0", added}
