"""A service that is started for one command and is not ready in time: the error names what it waits for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from podium.api.client import service_for_command
from podium.api.client.client import Client
from podium.sweep.values.errors import ServiceError


@pytest.fixture
def no_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory; `podium serve` is a program that only waits."""
    program = tmp_path / "serve"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    return tmp_path / "data"


class _Starting:
    """A client of a service whose scheduler starts, and whose database is locked."""

    def ready(self) -> dict[str, Any]:
        states = {"api": "ready", "scheduler": "starting", "notifier": "standby"}
        parts = [{"name": name, "state": state} for name, state in states.items()]
        return {"ready": False, "parts": parts, "database": {"available": False, "problem": "it is locked"}}

    def close(self) -> None:
        pass


def test_a_service_that_never_answers(no_service: Path) -> None:
    message = f"the service was not ready within 0.2 s; its logs are in {no_service / 'logs'}"
    with pytest.raises(ServiceError, match=message), service_for_command.service(no_service, own=True, within_s=0.2):
        pass


def test_components_that_are_not_ready_are_named(no_service: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "of", lambda _: _Starting())
    expected = r"not ready within 0.2 s \(waiting for scheduler, database: it is locked\)"
    with pytest.raises(ServiceError, match=expected), service_for_command.service(no_service, own=True, within_s=0.2):
        pass
