"""A listener of a gateway's connection that records what it hears."""

from __future__ import annotations

import asyncio

PATIENCE_S = 30.0


class MessageRecorder:
    """Messages, and the events `connect` and `disconnect`."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[list[bytes]] = asyncio.Queue()
        self.events: asyncio.Queue[str] = asyncio.Queue()

    def on_message(self, frames: list[bytes]) -> None:
        self.messages.put_nowait(frames)

    def on_disconnect(self) -> None:
        self.events.put_nowait("disconnect")

    def on_reconnect(self) -> None:
        self.events.put_nowait("connect")

    async def event(self) -> str:
        return await asyncio.wait_for(self.events.get(), PATIENCE_S)

    async def message(self) -> list[bytes]:
        return await asyncio.wait_for(self.messages.get(), PATIENCE_S)
