"""Machines for tests of several nodes, and a head that modules share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster_rig import Cluster
from tests.cluster.machines import Network, unavailable_reason


@pytest.fixture(scope="session")
def can_make_machines() -> None:
    """Skips the test with the reason where namespaces cannot be made."""
    if reason := unavailable_reason():
        pytest.skip(reason)


@pytest.fixture
def network(can_make_machines: None) -> Iterator[Network]:
    """A network without machines. Its folder has a short path: paths of sockets are limited."""
    with tempfile.TemporaryDirectory(prefix="rig-") as folder, Network(Path(folder)) as made:
        yield made


@pytest.fixture(scope="package")
def shared_cluster(can_make_machines: None) -> Iterator[Cluster]:
    """A head with one slot: a start costs 10 seconds of processor time.

    A module takes its nodes out at the end, and names them as no other module does.
    """
    with tempfile.TemporaryDirectory(prefix="r-") as folder, Network(Path(folder) / "m") as network:
        started = Cluster(network, Path(folder), head_slots=1)
        yield started
        started.close()
