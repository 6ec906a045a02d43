"""One service for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.running_service import RunningService


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with two slots; each test submits sweeps of its own."""
    with RunningService(tmp_path_factory.mktemp("third-party") / "data") as running:
        yield running
