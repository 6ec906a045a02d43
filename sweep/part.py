"""What every part of the service does alike: begin, say that it is ready, wake another; parts of the service."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from sweep.processes import die_with_parent
from sweep.settings import ServiceSettings

READY_FD = "PODIUM_READY_FD"
PARENT_PID = "PODIUM_SERVE_PID"


def begin() -> ServiceSettings:
    """The settings from the command line; from now on this process dies with `serve`."""
    parent = os.environ.pop(PARENT_PID, None)
    if parent is not None:
        die_with_parent(int(parent))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    return ServiceSettings.from_json(sys.argv[1])


def say_ready() -> None:
    """Tell `serve` that this part does its work; nothing without `serve`."""
    descriptor = os.environ.pop(READY_FD, None)
    if descriptor is not None:
        with contextlib.suppress(OSError):
            os.write(int(descriptor), b"ready\n")
            os.close(int(descriptor))


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
