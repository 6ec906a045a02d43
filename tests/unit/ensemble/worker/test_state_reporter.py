"""A worker whose hosts are silent exits, and one that a host asks about does not."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.ensemble.worker.control_messages import PING, Phase, WorkerReport
from podium.ensemble.worker.state_reporter import ReportServer

PATIENCE_S = 30.0
SILENCE_S = 0.4


@pytest.fixture
def unwanted() -> threading.Event:
    return threading.Event()


@pytest.fixture
def path(tmp_path: Path, unwanted: threading.Event) -> Iterator[Path]:
    """Where a worker that is ready reports."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(tmp_path / "s"))
    listening.listen()
    ReportServer(listening, WorkerReport(Phase.READY, 17), unwanted.set, silence_s=SILENCE_S).start()
    yield tmp_path / "s"
    listening.close()


def test_worker_is_unwanted_when_its_hosts_are_silent(path: Path, unwanted: threading.Event) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as host:
        host.connect(str(path))
        assert unwanted.wait(PATIENCE_S), "although a connection exists"


def test_pings_keep_a_worker(path: Path, unwanted: threading.Event) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as host:
        host.connect(str(path))
        end_s = time.monotonic() + 3 * SILENCE_S
        while time.monotonic() < end_s:
            host.send(PING)
            assert WorkerReport.from_line(host.recv(1 << 12).splitlines()[0] + b"\n").pid == 17
            time.sleep(0.01)
        assert not unwanted.is_set()
