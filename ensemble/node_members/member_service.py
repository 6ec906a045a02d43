"""Answers the requests of the ensemble host about workers on this node; node agent, one thread per connection.

The host proves its identity by the key of the cluster, which only the head has. While it is connected, its pings keep
the worker running; a worker exits by itself when they stop.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from podium.ensemble.host.node_worker_messages import (
    MAX_REQUEST_BYTES,
    SILENT_S,
    FindWorker,
    KillWorkersExcept,
    decode_request,
    encode_status,
)
from podium.ensemble.host.worker_launcher_interface import OnChange, WorkerConfig, WorkerStatus
from podium.ensemble.worker.control_messages import EXIT, Phase, TlsListening
from podium.ensemble.worker.model_file_spec import ModelFile
from podium.sweep.runtime.certificate_pin import fingerprint, listening_context, read_certificate
from podium.sweep.runtime.service_settings import available_cores
from podium.sweep.values.errors import DamagedFileError, EnsembleError, MissingFileError, PodiumError

HANDSHAKE_S = 5.0
MAX_CONNECTIONS = 512
_PID_S = 2.0  # in which a worker must have told its pid, so that it can be killed
log = logging.getLogger("podium.member_service")


class FollowedWorker(Protocol):
    """A worker that can also be left alone."""

    def poll(self) -> WorkerStatus: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...


class MemberLauncher(Protocol):
    """Starts workers on this machine, as `podium.ensemble.host.worker_launcher.TemplateWorkerLauncher`."""

    def launch(self, config: WorkerConfig, on_change: OnChange) -> FollowedWorker: ...

    def find(self, config: WorkerConfig, on_change: OnChange) -> FollowedWorker | None: ...

    def kill_all_except(self, names: Collection[str]) -> None: ...


class MemberService:
    """Listens for the host of the head.

    Args:
        listening: Where workers listen; this service has one port of theirs.
        launcher: Starts workers.
        fetch: Fetches a model file; see `podium.ensemble.node_members.model_file_cache`.
        silent_s: How long the host may be silent until its connection is lost.
    """

    def __init__(
        self, listening: TlsListening, launcher: MemberLauncher, fetch: Callable[[ModelFile], ModelFile], *,
        silent_s: float = SILENT_S, max_connections: int = MAX_CONNECTIONS,
    ) -> None:  # fmt: skip
        """Raises `OSError` if no port of the range is free."""
        self._workers_listening = listening
        self._launcher = launcher
        self._fetch = fetch
        self._silent_s = silent_s
        self._places = threading.BoundedSemaphore(max_connections)
        self._context = listening_context(Path(listening.certificate), Path(listening.key), listening.client)
        self._socket = _listen(listening)
        self.port: int = self._socket.getsockname()[1]
        self.fingerprint = fingerprint(read_certificate(Path(listening.certificate)))

    def start(self) -> None:
        """Serve in a daemon thread."""
        threading.Thread(target=self._accept, name="members", daemon=True).start()

    def close(self) -> None:
        """Accept no further connection."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # otherwise the thread that waits would accept another one
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._socket.accept()
            except ConnectionError:
                continue
            except OSError as error:
                if self._socket.fileno() < 0:
                    return
                log.warning("cannot accept a connection: %s", error)
                time.sleep(1.0)
                continue
            if not self._places.acquire(blocking=False):
                accepted.close()
                continue
            threading.Thread(target=self._serve, args=(accepted,), name="member", daemon=True).start()

    def _serve(self, accepted: socket.socket) -> None:
        try:
            accepted.settimeout(HANDSHAKE_S)
            with accepted, self._context.wrap_socket(accepted, server_side=True) as connection:
                self._answer(connection)
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.info("a connection has ended: %s", error)
        except Exception:
            log.exception("a request of the host failed")
        finally:
            self._places.release()

    def _answer(self, connection: ssl.SSLSocket) -> None:
        request = decode_request(_read_line(connection))
        if isinstance(request, KillWorkersExcept):
            self._launcher.kill_all_except(request.names)
            return
        woken, wake = socket.socketpair()
        with woken, wake:
            wake.setblocking(False)
            woken.setblocking(False)

            def on_change() -> None:
                try:
                    wake.send(b"!")
                except OSError:  # woken already, or the connection has ended
                    return

            worker: FollowedWorker | None
            if isinstance(request, FindWorker):
                worker = self._launcher.find(request.config, on_change)
            else:
                worker = _Launching(self._prepare, self._launcher, request.config, on_change)
            if worker is None:
                connection.sendall(encode_status(WorkerStatus(Phase.EXITED, "its process has exited")))
                return
            self._follow(connection, woken, worker)

    def _follow(self, connection: ssl.SSLSocket, woken: socket.socket, worker: FollowedWorker) -> None:
        """Tell the host the status until the worker has exited, or the host has left or is silent."""
        heard_s = time.monotonic()
        try:
            while time.monotonic() - heard_s < self._silent_s:
                readable, _, _ = select.select([connection, woken], [], [], 1.0)
                if woken in readable:
                    woken.recv(1 << 12)
                if connection in readable:
                    content = connection.recv(1 << 12)
                    if not content:
                        return
                    heard_s = time.monotonic()
                    if EXIT in content:
                        _kill(worker)
                        return
                if readable:
                    status = worker.poll()
                    connection.sendall(encode_status(status))
                    if status.phase is Phase.EXITED:
                        return
        finally:
            worker.close()

    def _prepare(self, config: WorkerConfig) -> WorkerConfig:
        """The configuration for this machine, whose files are here. Raises `PodiumError` and `OSError`."""
        assignment = config.assignment
        files = tuple(self._fetch(file) for file in assignment.files)
        threads = min(assignment.threads, available_cores())
        return replace(
            config, assignment=replace(assignment, files=files, threads=threads, tls=self._workers_listening)
        )


class _Launching:
    """A worker whose files are being fetched, or that has been started since."""

    def __init__(
        self, prepare: Callable[[WorkerConfig], WorkerConfig], launcher: MemberLauncher, config: WorkerConfig,
        on_change: OnChange,
    ) -> None:  # fmt: skip
        self._prepare = prepare
        self._launcher = launcher
        self._config = config
        self._on_change = on_change
        self._lock = threading.Lock()
        self._worker: FollowedWorker | None = None
        self._failure: WorkerStatus | None = None
        self._left = False
        threading.Thread(target=self._run, name="member-files", daemon=True).start()

    def poll(self) -> WorkerStatus:
        with self._lock:
            if self._worker is not None:
                return self._worker.poll()
            return self._failure or WorkerStatus(Phase.STARTING)

    def kill(self) -> None:
        with self._lock:
            self._left = True
            if self._worker is not None:
                self._worker.kill()
                self._worker = None

    def close(self) -> None:
        with self._lock:
            self._left = True
            if self._worker is not None:
                self._worker.close()
                self._worker = None

    def _run(self) -> None:
        try:
            config = self._prepare(self._config)
            with self._lock:
                if not self._left:
                    self._worker = self._launcher.launch(config, self._on_change)
        except (EnsembleError, MissingFileError, DamagedFileError) as error:
            self._fail(Phase.LOAD_FAILED, str(error))
        except (PodiumError, OSError) as error:
            self._fail(Phase.EXITED, str(error))
        except Exception as error:
            log.exception("cannot start %s", self._config.assignment.name)
            self._fail(Phase.EXITED, f"{type(error).__name__}: {error}")
        self._on_change()

    def _fail(self, phase: Phase, reason: str) -> None:
        with self._lock:
            self._failure = WorkerStatus(phase, reason)


def _kill(worker: FollowedWorker) -> None:
    """Kill a worker, whose pid may be on its way."""
    end_s = time.monotonic() + _PID_S
    while (status := worker.poll()).pid is None and status.phase is not Phase.EXITED and time.monotonic() < end_s:
        time.sleep(0.01)
    worker.kill()


def _listen(where: TlsListening) -> socket.socket:
    for port in range(where.first_port, where.last_port + 1) if where.last_port else [0]:
        try:
            return socket.create_server(
                (where.host, port), family=socket.AF_INET6 if ":" in where.host else socket.AF_INET, backlog=128
            )
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    raise OSError(errno.EADDRINUSE, f"no port of {where.first_port} to {where.last_port} is free at {where.host}")


def _read_line(connection: ssl.SSLSocket) -> bytes:
    found = b""
    while not found.endswith(b"\n"):
        content = connection.recv(1 << 16)
        if not content or len(found) + len(content) > MAX_REQUEST_BYTES:
            raise ValueError("not a request")
        found += content
    return found
