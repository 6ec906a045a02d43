"""The health of replicas: any gateway process that answers is enough."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from podium.api.http.service_context import ServiceContext
from podium.api.rest.ensembles.replica_health import replica_health
from podium.db.schema.database import Database
from podium.sweep.runtime.service_settings import ServiceSettings

HEALTH = {"7": {"name": "fine"}}


@pytest.fixture
def service(tmp_path: Path) -> ServiceContext:
    settings = ServiceSettings(data_dir=str(tmp_path), runtime_dir=str(tmp_path), gateways=2)
    settings.data.admin_token.write_text("token\n")
    return ServiceContext(settings, cast(Database, None))


@contextmanager
def gateway(path: Path, *, status: int | None) -> Iterator[None]:
    """A gateway process that answers with this status, or never."""
    path.parent.mkdir(parents=True, exist_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    listening.listen()
    body = json.dumps(HEALTH).encode()
    head = b"HTTP/1.1 %d status\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (status or 0, len(body))
    kept: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            kept.append(connection)
            connection.recv(4096)
            if status is not None:
                connection.sendall(head + body)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
        for connection in kept:
            connection.close()


@pytest.mark.parametrize("status", [None, 503])
def test_process_without_an_answer_is_passed_over(service: ServiceContext, status: int | None) -> None:
    failing, answering = service.settings.gateway_sockets
    with gateway(failing, status=status), gateway(answering, status=200):
        for _ in range(5):  # whichever is asked first
            assert replica_health(service, timeout_s=0.1) == HEALTH


@pytest.mark.filterwarnings("ignore:unclosed <socket.*family=1:ResourceWarning")
def test_health_is_empty_without_a_gateway(service: ServiceContext) -> None:
    assert replica_health(service) == {}
