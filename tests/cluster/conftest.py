"""Machines for tests of several nodes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

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
