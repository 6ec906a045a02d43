"""Nodes that the head refuses, with the sentence that the user of `podium node join` reads."""

from __future__ import annotations

import subprocess

import pytest

from tests.cluster.cluster_rig import Cluster
from tests.running_service import PODIUM


@pytest.fixture(scope="module")
def cluster(shared_cluster: Cluster) -> Cluster:
    """A head with one slot."""
    return shared_cluster


def _complaint(cluster: Cluster, token: str) -> str:
    """What `podium node join` says on a new machine with this token; it must fail."""
    machine = cluster.stray_machine("refused")
    file = machine.folder / "token"
    file.write_text(token)
    command = [
        *PODIUM, "node", "join", cluster.head.address, "--token-file", str(file), "--devices", "cpu:1",
        "--data-dir", str(machine.folder / "data"),
    ]  # fmt: skip
    process = machine.start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said, _ = process.communicate(timeout=60)
    machine.kill()
    assert process.returncode != 0 and cluster.devices("ready") == {"cpu-0"}
    return " ".join(said.split())


def test_node_with_a_wrong_token_is_refused(cluster: Cluster) -> None:
    _, _, fingerprint = cluster.token_of("refused").partition("@")
    said = _complaint(cluster, f"podium_{'x' * 43}@{fingerprint}")
    assert f"the head at {cluster.head.address}:8302 refused this node: " in said and "token" in said


def test_node_that_expects_another_certificate_does_not_send_its_token(cluster: Cluster) -> None:
    secret, _, _ = cluster.token_of("refused").partition("@")
    said = _complaint(cluster, f"{secret}@{'0' * 64}")
    assert "has another certificate than the token says; create a new token on the head" in said


@pytest.mark.slow
def test_file_without_a_token_of_a_node_is_named(cluster: Cluster) -> None:
    assert "not the token of a node; create one on the head" in _complaint(cluster, "podium_abc")
