"""A service without its processes, and the command line without one of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from podium.api.cli import app
from tests.commands import Podium
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


@pytest.fixture
def podium(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Podium:
    """Runs `podium ARGUMENTS...`: its exit code, standard output and standard error."""
    monkeypatch.delenv("PODIUM_DATA_DIR", raising=False)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["podium", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            app.main()
        said = capsys.readouterr()
        return int(caught.value.code or 0), said.out, said.err

    return run
