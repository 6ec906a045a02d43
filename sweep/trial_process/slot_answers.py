"""Waits for the slot's answer to a question of the trial; trial process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from podium.sweep.trial_process.channel import Channel


class Answers:
    """Matches answers to questions. An answer that arrives while another is awaited is kept for its own question."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._unread: dict[str, Any] | None = None

    def wait(self, timeout_s: float, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
        """The first message that `fits`, or None after `timeout_s` seconds."""
        unread, self._unread = self._unread, None
        if unread is not None and fits(unread):
            return unread
        end = time.monotonic() + timeout_s
        while (left := end - time.monotonic()) > 0:
            message = self._channel.receive(left)
            if message is None:
                break
            if fits(message):
                self._unread = unread
                return message
            unread = message
        self._unread = unread
        return None
