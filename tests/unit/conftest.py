"""A service without its processes, for the tests of api and gateway."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.service_rig import ServiceRig


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceRig]:
    """One data directory, migrated, with a token for each role."""
    opened = ServiceRig(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def client(service: ServiceRig) -> TestClient:
    """The admin, at the REST API."""
    return service.client()
