"""Reports the state of a worker process to the host, over a Unix socket; a thread of the worker process.

The host creates the listening socket, so that it can connect before the process exists. A host that is started later
connects to the same socket.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from podium.ensemble.worker.control_messages import EXIT, Phase, WorkerReport

_CHECKS = 10  # while the hosts are silent


class ReportServer:
    """Sends the report to each connection: at once, whenever it changes, and on each `PING`.

    Args:
        listening: The socket that the host created.
        report: The first report.
        on_unwanted: Called when a host sends `EXIT`, has left before the process is ready, or is silent.
        silence_s: How long the hosts may be silent; None: for any time.
    """

    def __init__(
        self,
        listening: socket.socket,
        report: WorkerReport,
        on_unwanted: Callable[[], None],
        *,
        silence_s: float | None = None,
    ) -> None:
        self._listening = listening
        self._report = report
        self._on_unwanted = on_unwanted
        self._silence_s = silence_s
        self._heard_s = time.monotonic()
        self._hosts: set[socket.socket] = set()
        self._lock = threading.Lock()  # of the report and the connections
        self._selector = selectors.DefaultSelector()

    def start(self) -> None:
        """Serve in a daemon thread."""
        self._selector.register(self._listening, selectors.EVENT_READ)
        threading.Thread(target=self._serve, name="worker-report", daemon=True).start()

    def publish(self, report: WorkerReport) -> None:
        """Change the report, and send it to every host."""
        with self._lock:
            self._report = report
            for host in self._hosts:
                self._send(host)

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select(None if self._silence_s is None else self._silence_s / _CHECKS):
                if key.fileobj is self._listening:
                    self._accept()
                else:
                    assert isinstance(key.fileobj, socket.socket)
                    self._answer(key.fileobj)
            if self._silence_s is not None and time.monotonic() - self._heard_s > self._silence_s:
                self._on_unwanted()

    def _accept(self) -> None:
        with suppress(OSError):
            host, _ = self._listening.accept()
            host.setblocking(False)
            self._selector.register(host, selectors.EVENT_READ)
            with self._lock:
                self._hosts.add(host)
                self._send(host)

    def _answer(self, host: socket.socket) -> None:
        try:
            content = host.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            content = b""
        if content:
            self._heard_s = time.monotonic()
        if EXIT in content:
            self._on_unwanted()
        with self._lock:
            if content:
                self._send(host)
                return
            self._hosts.discard(host)
            abandoned = not self._hosts and self._report.phase is not Phase.READY
        self._selector.unregister(host)
        host.close()
        if abandoned:
            self._on_unwanted()

    def _send(self, host: socket.socket) -> None:
        with suppress(OSError):  # the host has exited, or reads no reports
            host.send(self._report.to_line())
