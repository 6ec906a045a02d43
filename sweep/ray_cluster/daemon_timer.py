"""Calls a function later, in a thread that does not keep its process running; scheduler."""

from __future__ import annotations

import threading
from collections.abc import Callable


def call_later(seconds: float, action: Callable[[], None]) -> None:
    """Call `action` in a thread of its own after some time."""
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
