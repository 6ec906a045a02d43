"""Launches worker processes from the process template, and follows their reports; host process.

A worker outlives this process: a restarted host connects to the socket that is named after the ensemble, version,
member, replica and epoch, so that it cannot confuse a worker with an older one. When a worker exits, the kernel closes
its connection, and the host notices immediately.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

from podium.ensemble.host.worker_launcher_interface import OnChange, WorkerConfig, WorkerStatus
from podium.ensemble.worker.control_messages import COMPILE, EXIT, PING, Phase, WorkerReport
from podium.sweep.process_template.template_forked_process import ForkedProcess
from podium.sweep.protocol.process_template_messages import ForkProcess
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.serve_environment_for_trials import user_environment
from podium.sweep.values.errors import EnsembleError

ENTRY = "podium.ensemble.worker.worker_process"
PASSED_ON = (COMPILE,)  # variables of the service for workers
_PREFIX = "worker-"
_PING_S = 1.0
_ANSWER_S = 2.0  # in which an unknown worker must report its pid
log = logging.getLogger("podium.worker_launcher")


class _Watcher:
    """Calls `on_change` when a worker's connection becomes readable; one thread for all."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._callbacks: dict[int, OnChange] = {}
        threading.Thread(target=self._watch, name="workers", daemon=True).start()

    def add(self, connection: socket.socket, on_change: OnChange) -> None:
        self._callbacks[connection.fileno()] = on_change
        self._epoll.register(connection, select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET)

    def remove(self, connection: socket.socket) -> None:
        """Must precede the close of the connection."""
        if self._callbacks.pop(connection.fileno(), None) is not None:
            self._epoll.unregister(connection)

    def _watch(self) -> None:
        while True:
            for descriptor, _ in self._epoll.poll():
                self._callbacks.get(descriptor, _ignore)()


class ForkedWorkerHandle:
    """Implements `podium.ensemble.host.worker_launcher_interface.WorkerHandle`."""

    def __init__(self, config: WorkerConfig, connection: socket.socket, watcher: _Watcher, on_change: OnChange) -> None:
        connection.setblocking(False)
        self._config = config
        self._connection = connection
        self._watcher = watcher
        self._report: WorkerReport | None = None
        self._pidfd: int | None = None
        self._exited = False
        self._unread = b""
        self._pinged_s = self._answered_s = time.monotonic()
        watcher.add(connection, on_change)

    @property
    def config(self) -> WorkerConfig:
        return self._config

    def poll(self) -> WorkerStatus:
        """Read the reports that have arrived, and ask for the next one. Never blocks."""
        self._read()
        report, now_s = self._report, time.monotonic()
        if self._exited or (report is not None and report.phase is Phase.EXITED):
            return WorkerStatus(Phase.EXITED, (report.reason if report else "") or "its process exited or was killed")
        if report is None:
            return WorkerStatus(Phase.STARTING)
        if self._answered_s >= self._pinged_s and now_s - self._answered_s >= _PING_S:
            self._pinged_s = now_s
            with contextlib.suppress(OSError):  # it has exited, or reads no requests
                self._connection.send(PING)
        unresponsive_s = max(0.0, now_s - self._pinged_s) if self._pinged_s > self._answered_s else 0.0
        return WorkerStatus(report.phase, report.reason, report.pid, report.plan, unresponsive_s, report.endpoint)

    def kill(self) -> None:
        """Kill the process. One that has not reported its pid exits as soon as it reads the request to."""
        self._read()
        self._watcher.remove(self._connection)
        with contextlib.suppress(OSError):  # it has exited
            self._connection.send(EXIT)
        if self._pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            os.close(self._pidfd)
            self._pidfd = None
        self._connection.close()

    def close(self) -> None:
        """Follow the process no longer; it keeps running if it is ready."""
        self._watcher.remove(self._connection)
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        self._connection.close()

    def _read(self) -> None:
        while not self._exited:
            try:
                content = self._connection.recv(1 << 16)
            except BlockingIOError:
                return
            except OSError:
                content = b""
            self._exited = not content
            *lines, self._unread = (self._unread + content).split(b"\n")
            for line in lines:
                self._on_report(WorkerReport.from_line(line))

    def _on_report(self, report: WorkerReport) -> None:
        self._report = report
        self._answered_s = time.monotonic()
        if self._pidfd is None:
            with contextlib.suppress(ProcessLookupError):  # it has exited since
                self._pidfd = os.pidfd_open(report.pid)


class TemplateWorkerLauncher:
    """Implements `podium.ensemble.host.worker_launcher_interface.WorkerLauncher`.

    Args:
        runtime: The folder of the sockets.
        output: The log of all workers.
        on_progress: Called after each wait for another process.
    """

    def __init__(self, runtime: RuntimeDirectory, output: Path, on_progress: Callable[[], None] = lambda: None) -> None:
        self._runtime = runtime
        self._output = output
        self._on_progress = on_progress
        self._watcher = _Watcher()

    def launch(self, config: WorkerConfig, on_change: OnChange) -> ForkedWorkerHandle:
        """Request the process; it reserves no device."""
        assignment = config.assignment
        path = self._runtime.worker_socket(assignment.name)
        environment = {
            **user_environment(),
            **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
            "CUDA_VISIBLE_DEVICES": config.visible,
            "OMP_NUM_THREADS": str(assignment.threads),
        }
        request = ForkProcess(ENTRY, (assignment.to_json(),), environment, detached=True)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with (
                socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening,
                self._output.open("ab") as output,
            ):
                path.unlink(missing_ok=True)
                listening.bind(str(path))
                listening.listen()
                connection.connect(str(path))
                descriptors = [listening.fileno(), output.fileno()]
                ForkedProcess.request(self._runtime.template_socket, request, descriptors).close()
        except OSError as error:
            connection.close()
            raise EnsembleError(f"cannot start {assignment.name}: {error}") from error
        finally:
            self._on_progress()
        return ForkedWorkerHandle(config, connection, self._watcher, on_change)

    def find(self, config: WorkerConfig, on_change: OnChange) -> ForkedWorkerHandle | None:
        """The running worker of this name, started by an earlier host; None if there is none."""
        connection = _connect(self._runtime.worker_socket(config.assignment.name))
        return None if connection is None else ForkedWorkerHandle(config, connection, self._watcher, on_change)

    def kill_all_except(self, names: Collection[str]) -> None:
        """Kill every worker whose name is not in `names`."""
        kept = {self._runtime.worker_socket(name) for name in names}
        for path in set(self._runtime.root.glob(f"{_PREFIX}*.sock")) - kept:
            connection = _connect(path)
            if connection is not None:
                log.info("killing %s, which is no longer needed", path.stem)
                _kill(connection)
            else:
                path.unlink(missing_ok=True)
            self._on_progress()


def _connect(path: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        return None
    return connection


def _kill(connection: socket.socket) -> None:
    """Kill the worker at the other end; one that does not answer in time exits when it continues."""
    with connection, contextlib.suppress(OSError, ValueError):
        connection.settimeout(_ANSWER_S)
        try:
            with connection.makefile("rb") as reports:
                pidfd = os.pidfd_open(WorkerReport.from_line(reports.readline()).pid)
                try:
                    connection.send(PING)
                    if reports.readline():  # the pid is still that of the worker
                        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                finally:
                    os.close(pidfd)
        finally:
            connection.send(EXIT)


def _ignore() -> None:
    """The worker of this event is no longer watched."""
