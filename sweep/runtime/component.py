"""What every part of the service does alike: begin, say that it is ready, wake another; parts of the service."""

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
    """The settings from the command line; from now on this process dies with `serve`."""
    parent = os.environ.pop(PARENT_PID, None)
    if parent is not None:
        die_with_parent(int(parent))
    _to_serve()  # while there is one thread
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    return ServiceSettings.from_json(sys.argv[1])


def say_ready() -> None:
    """Tell `serve` that this part does its work; nothing without `serve`."""
    _tell(b"ready\n")


def beat() -> None:
    """Tell `serve` that this part goes on; for the loop of a part, at each turn: it tells once a second.

    A part that has told so once, and falls silent, is ended and started again. Nothing without `serve`.
    """
    now_s = time.monotonic()
    if now_s - _told.beat_s >= BEAT_S:
        _told.beat_s = now_s
        _tell(b".")


class _Told:
    """When this process last told `serve` that it goes on."""

    beat_s = 0.0


_told = _Told()


def _tell(what: bytes) -> None:
    descriptor = _to_serve()
    if descriptor is not None:
        with contextlib.suppress(OSError):  # gone, or stopped and its pipe is full
            os.write(descriptor, what)


@functools.cache
def _to_serve() -> int | None:
    """The pipe to `serve`: nobody whom this process starts gets it, and writing never waits."""
    descriptor = os.environ.pop(READY_FD, None)
    if descriptor is None:
        return None
    os.set_inheritable(int(descriptor), False)
    os.set_blocking(int(descriptor), False)
    return int(descriptor)


def wake(socket_path: Path) -> None:
    """Tell a part that the database holds news for it; one that is away will look by itself when it is back."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        sender.sendto(b"!", str(socket_path))


def on_wake(socket_path: Path, callback: Callable[[], None]) -> None:
    """Call back, from a thread, whenever somebody wakes this part."""
    socket_path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(socket_path))

    def listen() -> None:
        while True:
            listener.recv(16)
            callback()

    threading.Thread(target=listen, name="wake", daemon=True).start()
