"""The connection to the process of an attempt: reads its messages, and sends it answers; slot."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from podium.sweep.protocol.message_limits import MAX_LINE_BYTES
from podium.sweep.slots.condition_variable import Changes
from podium.sweep.slots.event_queue import EventQueue
from podium.sweep.slots.running_attempt import RunningAttempt

READ_BYTES = 64 << 10


async def read_messages(
    running: RunningAttempt,
    events: EventQueue,
    changes: Changes,
    *,
    on_line: Callable[[RunningAttempt, bytes], None],
    on_too_long: Callable[[RunningAttempt], None],
) -> None:
    """Handle messages until the process has closed its end of the connection; none while `events` is full.

    Args:
        running: The attempt.
        events: What the messages become.
        changes: Announces that `events` has room, or that the process has exited.
        on_line: Called with each message.
        on_too_long: Called for a message of more than `MAX_LINE_BYTES`, which is dropped.
    """
    loop = asyncio.get_running_loop()
    buffer = b""
    while True:
        if events.is_full:
            running.reading_paused = True
            await changes.wait_until(lambda: not events.is_full or running.exited is not None)
            running.reading_paused = False
        try:
            content = await loop.sock_recv(running.connection, READ_BYTES)
        except OSError:
            return
        if not content:
            return
        running.last_message_s = time.monotonic()
        *lines, buffer = (buffer + content).split(b"\n")
        for line in lines:
            on_line(running, line)
        if len(buffer) > MAX_LINE_BYTES:
            on_too_long(running)
            buffer = b""


async def send_answers(running: RunningAttempt) -> None:
    """Send the answers whole and in order: a page of a study is larger than the socket's buffer."""
    with contextlib.suppress(OSError):
        while running.unsent:
            await asyncio.get_running_loop().sock_sendall(running.connection, running.unsent[0])
            running.unsent.popleft()
