"""Startup, readiness, heartbeats and wake-ups, common to all components of the service; every component."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from podium.sweep.runtime.process_trees import die_with_parent
from podium.sweep.runtime.settings import ServiceSettings

READY_FD = "PODIUM_READY_FD"
PARENT_PID = "PODIUM_SERVE_PID"
BEAT_S = 1.0


def begin() -> ServiceSettings:
    """Initializes a component, which from now on dies with `serve`; returns the settings from the command line."""
    parent = os.environ.pop(PARENT_PID, None)
    if parent is not None:
        die_with_parent(int(parent))
    _to_serve()  # before threads are started
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    return ServiceSettings.from_json(sys.argv[1])


def say_ready() -> None:
    """Tell `serve` that this component is ready; no-op without `serve`."""
    _tell(b"ready\n")


def beat() -> None:
    """Send a heartbeat to `serve`, at most once a second; to be called in each iteration of a component's loop.

    A component whose heartbeats stop after the first one is restarted. No-op without `serve`.
    """
    now_s = time.monotonic()
    if now_s - _told.beat_s >= BEAT_S:
        _told.beat_s = now_s
        _tell(b".")


class _Told:
    """When this process sent its last heartbeat."""

    beat_s = 0.0


_told = _Told()


def _tell(what: bytes) -> None:
    descriptor = _to_serve()
    if descriptor is not None:
        with contextlib.suppress(OSError):  # `serve` has ended, or is stopped and its pipe is full
            os.write(descriptor, what)


@functools.cache
def _to_serve() -> int | None:
    """The pipe to `serve`: not inherited by child processes, and non-blocking."""
    descriptor = os.environ.pop(READY_FD, None)
    if descriptor is None:
        return None
    os.set_inheritable(int(descriptor), False)
    os.set_blocking(int(descriptor), False)
    return int(descriptor)


def wake(socket_path: Path) -> None:
    """Notify a component of changes in the database; one that is not running reads them when it starts."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        sender.sendto(b"!", str(socket_path))


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
