"""Fixtures for a service without its processes, and for the command line in the process of the test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.testclient import TestClient

from podium.api.cli import app
from tests.commands import Podium
from tests.service_rig import ServiceRig


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    """A thread with an event loop, in which the apps of all tests run."""
    with start_blocking_portal() as started:
        yield started


@pytest.fixture
def service(service_folder: Path, portal: BlockingPortal) -> Iterator[ServiceRig]:
    """A migrated data directory with a token for each role."""
    opened = ServiceRig(service_folder, portal)
    yield opened
    opened.close()


@pytest.fixture
def client(service: ServiceRig) -> TestClient:
    """A client of the REST API with the admin's token."""
    return service.client()


@pytest.fixture
def podium(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Podium:
    """Runs `podium ARGUMENTS...`; returns exit code, standard output and standard error."""
    monkeypatch.delenv("PODIUM_DATA_DIR", raising=False)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["podium", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            app.main()
        output = capsys.readouterr()
        return int(caught.value.code or 0), output.out, output.err

    return run
