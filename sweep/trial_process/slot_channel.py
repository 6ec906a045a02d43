"""The trial process's end of its connection to the slot; trial process."""

from __future__ import annotations

import socket
import time

from podium.sweep.protocol.message_limits import MAX_PACKET_BYTES
from podium.sweep.protocol.trial_messages import SlotMessage, TrialMessage, encode_from_trial, parse_to_trial


class Channel:
    """Sends messages to the slot and receives its answers; for the main thread only."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""
        self.is_truncated = False  # this process was stopped in the middle of a message: no other may follow

    def send(self, message: TrialMessage) -> None:
        """Send one message; blocks while the slot does not read. Raises `BadReportError` over 1 MB."""
        line = encode_from_trial(message)
        self._connection.settimeout(None)
        self.is_truncated = True
        self._connection.sendall(line)
        self.is_truncated = False

    def receive(self, timeout_s: float | None) -> SlotMessage | None:
        """The next message; None after `timeout_s` seconds, or when the slot is gone."""
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            left_s = None if end_s is None else end_s - time.monotonic()
            if left_s is not None and left_s <= 0:
                return None
            self._connection.settimeout(left_s)
            try:
                content = self._connection.recv(MAX_PACKET_BYTES)
            except TimeoutError:
                return None
            if not content:
                return None
            self._buffer += content
        line, self._buffer = self._buffer.split(b"\n", 1)
        return parse_to_trial(line)
