"""How a trial speaks to its slot: one JSON document a line, both ways; trial process."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

from podium.sweep.values.errors import BadReportError

MAX_LINE_BYTES = 1 << 20


class Channel:
    """The socket to the slot: one JSON document a line, both ways."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""
        self.cut_short = False  # in the middle of a message, when this process was stopped: no other may follow

    def send(self, **message: Any) -> None:
        """Send one message; waits while the slot does not listen. Raises `BadReportError` over 1 MB."""
        line = json.dumps(message).encode() + b"\n"
        if len(line) > MAX_LINE_BYTES:
            raise BadReportError(f"{len(line)} bytes in one call of report, log or keep; {MAX_LINE_BYTES} are the most")
        self._connection.settimeout(None)
        self.cut_short = True
        self._connection.sendall(line)
        self.cut_short = False

    def receive(self, timeout_s: float | None) -> dict[str, Any] | None:
        """The next message, or None when none came in time or the slot is gone."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return None
            self._connection.settimeout(left)
            try:
                content = self._connection.recv(65536)
            except TimeoutError:
                return None
            if not content:
                return None
            self._buffer += content
        line, self._buffer = self._buffer.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message
