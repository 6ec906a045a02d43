"""Waits for the slot's answer to a request of the trial; trial process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from podium.sweep.protocol.slot_commands import TrialAnswer
from podium.sweep.protocol.trial_messages import SlotMessage
from podium.sweep.trial_process.slot_channel import Channel
from podium.sweep.values.errors import UserCodeError

Answer = TypeVar("Answer", bound=TrialAnswer)


class SlotAnswers:
    """Matches answers to requests. An answer that arrives while another is awaited is kept for its own request."""

    def __init__(self, channel: Channel, rank: int = 0) -> None:
        """`rank`: of this process; only rank 0 gets answers."""
        self._channel = channel
        self._rank = rank
        self._unread: SlotMessage | None = None

    def wait(self, timeout_s: float, kind: type[Answer], matches: Callable[[Answer], bool]) -> Answer | None:
        """The first answer of type `kind` that `matches`; None after `timeout_s` seconds.

        Raises `UserCodeError` in a rank above 0.
        """
        if self._rank > 0:
            raise UserCodeError(
                f"rank {self._rank} cannot suggest a parameter that the sweep file does not name, or read the study; "
                "name it under parameters, or broadcast what rank 0 gets"
            )
        unread, self._unread = self._unread, None
        if isinstance(unread, kind) and matches(unread):
            return unread
        end_s = time.monotonic() + timeout_s
        while (left_s := end_s - time.monotonic()) > 0:
            message = self._channel.receive(left_s)
            if message is None:
                break
            if isinstance(message, kind) and matches(message):
                self._unread = unread
                return message
            unread = message
        self._unread = unread
        return None
