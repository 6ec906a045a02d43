"""A slot for the tests that drive one, and a service for those that need nothing special of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import CHOSEN
from tests.driver import SlotDriver
from tests.postgres_databases import new_url_file
from tests.running_service import AuditedService

USER_CODE = Path(__file__).parent / "user_code"


@pytest.fixture(scope="session")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AuditedService]:
    """A service with two slots for all modules of a worker: a start costs 12 seconds of processor time.

    With `--postgres`, its database is PostgreSQL's.
    """
    folder = tmp_path_factory.mktemp("shared")
    options = ["--database-url-file", str(new_url_file(folder))] if CHOSEN.postgres else []
    with AuditedService(folder / "data", detached=True, options=options) as running:
        yield running


@pytest.fixture(scope="module")
def service(shared_service: AuditedService) -> Iterator[AuditedService]:
    """The shared service, idle before and after. Each module looks at its own sweeps; the audit at all of them."""
    yield shared_service
    shared_service.reset()


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
