"""Startup, readiness, heartbeats and wake-ups, common to all components of the service; every component."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from podium.sweep.runtime import fail_points
from podium.sweep.runtime.process_title import name_process
from podium.sweep.runtime.process_trees import die_with_parent
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import PodiumError, WrongDatabaseError

READY_FD = "PODIUM_READY_FD"
PARENT_PID = "PODIUM_SERVE_PID"
HEARTBEAT_S = 1.0
WRONG_DATABASE = 78  # exit status of a component whose database is not that of the service: `serve` stops


def start_component(name: str) -> ServiceSettings:
    """Initializes a component, which from now on dies with `serve`; returns the settings."""
    name_process(f"podium-{name}")
    fail_points.name_component(name)
    parent = os.environ.pop(PARENT_PID, None)
    if parent is not None:
        die_with_parent(int(parent))
    _pipe()  # before threads are started
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    return ServiceSettings.load(Path(sys.argv[1]))


def exit_with(error: PodiumError) -> NoReturn:
    """End this component with the message of an error, and with the status that tells `serve` what to do."""
    print(error, file=sys.stderr)
    sys.exit(WRONG_DATABASE if isinstance(error, WrongDatabaseError) else 1)


def report_ready() -> None:
    """Tell `serve` that this component is ready; no-op without `serve`."""
    _pipe().say_ready()


def send_heartbeat() -> None:
    """Send a heartbeat to `serve`, at most once a second; to be called in each iteration of a component's loop.

    A component is restarted if its heartbeats stop, after the first one or after it was ready. No-op without `serve`.
    """
    _pipe().beat()


def report_leadership(epoch: int) -> None:
    """Tell `serve` the epoch with which this service leads; 0: another one does. No-op without `serve`."""
    _pipe().say_epoch(epoch)


class SupervisorPipe:
    """The pipe through which a component reports to `serve`; without a descriptor, nothing is sent."""

    def __init__(
        self, descriptor: int | None, *, beat_s: float = HEARTBEAT_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Makes the pipe non-blocking, and child processes do not inherit it. `beat_s`: between two heartbeats."""
        self._descriptor = descriptor
        self._beat_s = beat_s
        self._clock = clock
        self._last_beat_s = -math.inf
        if descriptor is not None:
            os.set_inheritable(descriptor, False)
            os.set_blocking(descriptor, False)

    @classmethod
    def from_environment(
        cls, *, beat_s: float = HEARTBEAT_S, clock: Callable[[], float] = time.monotonic
    ) -> SupervisorPipe:
        """The pipe that `serve` named in the environment, from which it is removed."""
        descriptor = os.environ.pop(READY_FD, None)
        return cls(None if descriptor is None else int(descriptor), beat_s=beat_s, clock=clock)

    def say_ready(self) -> None:
        """Report that the component is ready."""
        self._send(b"ready\n")

    def say_epoch(self, epoch: int) -> None:
        """Report the epoch with which this service leads, or 0."""
        self._send(b"epoch=%d\n" % epoch)

    def beat(self) -> None:
        """Send a heartbeat, unless the last one is too recent."""
        now_s = self._clock()
        if now_s - self._last_beat_s >= self._beat_s:
            self._last_beat_s = now_s
            self._send(b".")

    def _send(self, message: bytes) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(OSError):  # `serve` has ended, or is stopped and its pipe is full
                os.write(self._descriptor, message)


@functools.cache
def _pipe() -> SupervisorPipe:
    return SupervisorPipe.from_environment(beat_s=HEARTBEAT_S)


def wake_component(socket_path: Path) -> None:
    """Notify a component of changes in the database; one that is not running reads them when it starts."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        sender.sendto(b"!", str(socket_path))


def wake_gateways(settings: ServiceSettings) -> None:
    """Notify every gateway process."""
    for name in settings.gateway_names:
        wake_component(settings.runtime.wake_socket(name))


def on_wake(socket_path: Path, callback: Callable[[], None]) -> None:
    """Call `callback`, in a thread, on each wake-up of this component."""
    socket_path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(socket_path))

    def listen() -> None:
        while True:
            listener.recv(16)
            callback()

    threading.Thread(target=listen, name="wake", daemon=True).start()
