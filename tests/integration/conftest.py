"""A slot for the tests that drive one, and a service for those that need nothing special of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.driver import SlotDriver
from tests.running_service import AuditedService

USER_CODE = Path(__file__).parent / "user_code"


@pytest.fixture(scope="module")
def service(shared_service: AuditedService) -> AuditedService:
    """The shared service."""
    return shared_service


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlotDriver]:
    """One slot for all tests of a module: its fork server takes seconds to warm up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN", "secret")
        patch.setenv("PODIUM_TOKEN", "secret")
        opened = SlotDriver(tmp_path_factory.mktemp("slot"), USER_CODE)
    yield opened
    opened.close()


@pytest.fixture
def slot(warm: SlotDriver) -> Iterator[SlotDriver]:
    """The slot, with nothing running before and after."""
    yield warm
    warm.clear()
