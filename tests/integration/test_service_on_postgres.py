"""A service whose database is PostgreSQL's: nothing else about it is different."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.postgres_server import ROLE, PostgresServer, new_server
from tests.running_service import RunningService

PASSWORD = "open-sesame-7"
NAME = "podium_service"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    started = new_server(max_connections="100")
    started.execute(f"ALTER ROLE {ROLE} PASSWORD '{PASSWORD}'")
    yield started
    started.stop(immediately=True)


@pytest.fixture(scope="module")
def url(server: PostgresServer) -> str:
    """The URL of an empty database, with a password."""
    server.create(NAME)
    return server.url(NAME).replace(f"{ROLE}@", f"{ROLE}:{PASSWORD}@")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, url: str) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("postgres")
    with RunningService(folder / "data", environment={"PODIUM_DATABASE_URL": url}) as running:
        yield running


def test_password_is_in_no_argument_environment_or_log(service: RunningService) -> None:
    shown = [
        (process.pid, name)
        for process in service.processes()
        for name in ("cmdline", "environ")
        if PASSWORD.encode() in Path(f"/proc/{process.pid}/{name}").read_bytes()
    ]
    written = [path for path in service.data.root.rglob("*") if path.is_file() and PASSWORD in _text(path)]

    assert psutil.Process(service.process.pid) in service.processes()
    assert (shown, written) == ([], [])


def _text(path: Path) -> str:
    return path.read_bytes().decode(errors="replace")
