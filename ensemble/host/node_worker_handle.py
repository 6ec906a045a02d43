"""A worker on another machine, followed through the agent of its node; host process, one thread per worker.

Neither a launch nor a poll waits for the network. A worker counts as exited when its agent says so, or when its node
has been silent for some seconds: then the worker exits by itself, since it misses its host as well.
"""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from podium.ensemble.host.node_worker_messages import (
    PING_S,
    SILENT_S,
    FindWorker,
    LaunchWorker,
    NodeRequest,
    decode_status,
    encode_request,
)
from podium.ensemble.host.worker_launcher_interface import OnChange, WorkerConfig, WorkerStatus
from podium.ensemble.worker.control_messages import EXIT, PING, Phase
from podium.sweep.values.errors import PodiumError

Connect = Callable[[], ssl.SSLSocket]  # raises `OSError` and `PodiumError`
_ENDED = frozenset({Phase.EXITED, Phase.LOAD_FAILED})
log = logging.getLogger("podium.node_worker_handle")


@dataclass(frozen=True, slots=True)
class FollowTimes:
    """When a node is lost, and how often it is checked."""

    ping_s: float = PING_S
    silent_s: float = SILENT_S
    check_interval_s: float = 0.2
    retry_s: float = 0.5
    kill_s: float = 5.0  # for the agent to kill the worker


TIMES = FollowTimes()


class NodeWorkerHandle:
    """Implements `podium.ensemble.host.worker_launcher_interface.WorkerHandle`."""

    def __init__(
        self, config: WorkerConfig, connect: Connect, on_change: OnChange, *, launch: bool, times: FollowTimes = TIMES
    ) -> None:
        """`launch`: whether to start the process, or to follow the one of an earlier host."""
        self._config = config
        self._connect = connect
        self._on_change = on_change
        self._times = times
        self._request: NodeRequest = LaunchWorker(config) if launch else FindWorker(config)
        self._status = WorkerStatus(Phase.STARTING)
        self._answered_s = time.monotonic()
        self._killed = threading.Event()
        threading.Thread(target=self._run, name=config.assignment.name, daemon=True).start()

    @property
    def config(self) -> WorkerConfig:
        return self._config

    def poll(self) -> WorkerStatus:
        return self._status

    def kill(self) -> None:
        """Ask the agent for it. If the node cannot be reached, the worker exits because its host is silent."""
        self._killed.set()

    def _run(self) -> None:
        try:
            self._follow_until_ended()
        except Exception as error:
            log.exception("cannot follow %s", self._config.assignment.name)
            self._set(WorkerStatus(Phase.EXITED, f"{type(error).__name__}: {error}"))

    def _follow_until_ended(self) -> None:
        reason = ""
        while not (self._killed.is_set() and isinstance(self._request, LaunchWorker)):
            try:
                with self._connect() as connection:
                    if self._follow(connection):
                        return
                    reason = "the connection was closed"
            except (OSError, PodiumError) as error:
                reason = str(error)
            except (ValueError, KeyError, TypeError) as error:
                reason = f"its answer cannot be read: {type(error).__name__}: {error}"
            silent_s = time.monotonic() - self._answered_s
            if silent_s > self._times.silent_s:
                name = self._config.node_name
                self._set(WorkerStatus(Phase.EXITED, f"node {name} has not answered for {silent_s:.0f} s: {reason}"))
                return
            if self._killed.is_set():
                time.sleep(self._times.retry_s)
            else:
                self._killed.wait(self._times.retry_s)

    def _follow(self, connection: ssl.SSLSocket) -> bool:
        """Follow the worker; returns whether it has ended. Raises `OSError`, and as `decode_status`."""
        connection.sendall(encode_request(self._request))
        self._request = FindWorker(self._config)  # a second one would be a second process
        connection.settimeout(self._times.check_interval_s)
        unread, pinged_s = b"", time.monotonic()
        while True:
            if self._killed.is_set():
                _exit(connection, self._times.kill_s)
                return True
            try:
                content = connection.recv(1 << 16)
            except TimeoutError:
                pass
            else:
                if not content:
                    return self._status.phase in _ENDED
                *lines, unread = (unread + content).split(b"\n")
                for line in lines:
                    status = decode_status(line)
                    self._answered_s = time.monotonic()
                    self._set(status)
            now_s = time.monotonic()
            if now_s - self._answered_s > self._times.silent_s:
                return False
            if now_s - pinged_s >= self._times.ping_s:
                pinged_s = now_s
                connection.sendall(PING)

    def _set(self, status: WorkerStatus) -> None:
        changed = status.phase is not self._status.phase or status.plan != self._status.plan
        self._status = status
        if changed:
            self._on_change()


def _exit(connection: ssl.SSLSocket, timeout_s: float) -> None:
    """Wait until the agent has killed the worker."""
    connection.settimeout(timeout_s)
    connection.sendall(EXIT)
    while connection.recv(1 << 16):
        pass
