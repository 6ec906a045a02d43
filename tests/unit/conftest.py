"""Fixtures for a service without its processes; services that run are stopped."""

from __future__ import annotations

import pytest

from tests.service_fixtures import client, podium, portal, service
from tests.shared_service import SharedService

__all__ = ["client", "podium", "portal", "service"]


@pytest.fixture(scope="session", autouse=True)
def no_shared_service(service_of_worker: SharedService) -> None:
    """Stop the service of the modules that have run before: no test here needs it."""
    service_of_worker.close()
