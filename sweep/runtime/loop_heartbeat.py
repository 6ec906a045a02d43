"""Heartbeats of a loop whose turns wait for disks, databases and other processes; scheduler, host and other loops."""

from __future__ import annotations

import threading
from collections.abc import Callable

from podium.sweep.runtime.component_startup_and_heartbeats import send_heartbeat


class LoopHeartbeat:
    """Sends heartbeats at the start of each turn, and between the parts of a turn, such as two database statements.

    Only from the thread of the loop: another thread would send them while the loop hangs. None before the first turn,
    so that the start of a component, which may take longer, is not watched.
    """

    def __init__(self, send: Callable[[], None] = send_heartbeat) -> None:
        self._send = send
        self._loop: int | None = None  # its thread

    def on_turn(self) -> None:
        """A turn begins; to be called in the loop."""
        self._loop = threading.get_ident()
        self._send()

    def on_progress(self) -> None:
        """A part of something has ended, in any thread."""
        if threading.get_ident() == self._loop:
            self._send()
