"""The process of one slot, for the relay of its node: start it, pass on calls, notice its end; slot relay."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import cast

from podium.sweep.process_template.template_forked_process import ForkedProcess
from podium.sweep.protocol.process_template_messages import ForkProcess
from podium.sweep.protocol.slot_process_messages import (
    HELLO,
    Frames,
    SlotDiedError,
    SlotIdentity,
    decode_pid,
    encode_error,
    frame,
)

ENTRY = "podium.sweep.slots.slot_process"
START_S = 60.0  # the template may be starting, or import the rest
EXIT_S = 1.0  # in which the template reports how the process has ended
_POLL_S = 0.01


class SlotProcess(asyncio.Protocol):
    """One process. It ends when this process does, or when `kill` is called."""

    def __init__(self, name: str, process: ForkedProcess) -> None:
        loop = asyncio.get_running_loop()
        self._name = name
        self._process = process
        self._frames = Frames()
        self._transport: asyncio.Transport | None = None
        self._waiting: dict[int, asyncio.Future[bytes]] = {}  # by the number of the call
        self._calls = HELLO
        self._greeted: asyncio.Future[int] = loop.create_future()
        self._ending: asyncio.Task[None] | None = None
        self._ended: asyncio.Future[None] = loop.create_future()
        self.end = ""  # how it has ended; "": it has not

    @classmethod
    async def start(cls, identity: SlotIdentity, template: Path, start_s: float = START_S) -> SlotProcess:
        """Have a process forked, and wait `start_s` seconds for its hello.

        Raises `OSError` if there is no process template, `SlotDiedError` if the process ends, and `TimeoutError`.
        """
        ours, theirs = socket.socketpair()
        request = ForkProcess(ENTRY, (identity.to_json(),), dict(os.environ))
        with theirs:
            try:
                process = await asyncio.to_thread(ForkedProcess.request, template, request, [theirs.fileno()])
            except BaseException:
                ours.close()
                raise
        slot = cls(identity.name, process)
        ours.setblocking(False)
        await asyncio.get_running_loop().create_connection(lambda: slot, sock=ours)
        try:
            pid = await asyncio.wait_for(asyncio.shield(slot._greeted), start_s)
        except TimeoutError:
            await slot._give_up()
            raise
        if slot.end:
            raise SlotDiedError(slot.end)
        process.identify(pid)
        return slot

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._greeted.result()

    async def call(self, body: bytes) -> bytes:
        """The answer to a call, see `slot_process_messages`; if the process ends before, that is the answer."""
        if self.end or self._transport is None or self._transport.is_closing():
            await asyncio.shield(self._ended)
            return encode_error(SlotDiedError(self.end))
        self._calls += 1
        waiting: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[self._calls] = waiting
        self._transport.write(frame(self._calls, body))
        return await waiting

    async def kill(self, timeout_s: float) -> bool:
        """Kill the process; returns whether it has ended within this time."""
        self._process.kill()
        await asyncio.wait([self._ended], timeout=timeout_s)
        return self._ended.done()

    async def _give_up(self) -> None:
        """End a process that has not greeted; the template ends it as well, if it forks it later."""
        self._process.read()  # its pid, if it exists
        assert self._transport is not None
        self._transport.abort()
        await asyncio.shield(self._ended)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        for number, body in self._frames.feed(data):
            if number == HELLO:
                self._greeted.set_result(decode_pid(body)[0])
            elif not (waiting := self._waiting.pop(number)).done():  # otherwise its caller has gone
                waiting.set_result(body)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._process.kill()  # it has exited, unless it is stopped
        self._ending = asyncio.get_running_loop().create_task(self._note_end())

    async def _note_end(self) -> None:
        self.end = f"the process of slot {self._name} {await self._how_it_ended()}"
        self._process.close()
        if not self._greeted.done():
            self._greeted.set_exception(SlotDiedError(self.end))
            self._greeted.exception()  # mark as retrieved: nobody may be waiting
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(encode_error(SlotDiedError(self.end)))
        self._ended.set_result(None)

    async def _how_it_ended(self) -> str:
        """The template reports it when the processes are gone that it has left."""
        until_s = asyncio.get_running_loop().time() + EXIT_S
        while self._process.read() and asyncio.get_running_loop().time() < until_s:
            await asyncio.sleep(_POLL_S)
        code = self._process.exit_code
        if code is None:
            return "has ended"
        return f"was killed by signal {-code}" if code < 0 else f"exited with status {code}"
