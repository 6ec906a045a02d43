"""The process of one slot: answers the calls of the scheduler; forked by the process template.

The slot relay of its node passes them on. On the head, it also listens on a Unix socket, where the scheduler calls it
directly. It exits when its connection to the relay closes. Then its fork servers end as well, and its attempt with
them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Sequence
from typing import NoReturn, cast

import uvloop

from podium.sweep.process_template.template_forked_process import template_socket
from podium.sweep.protocol.slot_process_messages import (
    HELLO,
    Frames,
    OpenCall,
    SlotIdentity,
    decode_call,
    encode_error,
    encode_pid,
    encode_result,
    frame,
)
from podium.sweep.runtime import forked_process_logging
from podium.sweep.runtime.process_title import name_process
from podium.sweep.slots.placed_slot import PlacedSlot
from podium.sweep.slots.slot import Slot

SLOT_PROCESS = "podium-slot"
log = logging.getLogger("podium.slot")


def run_forked(arguments: Sequence[str], descriptors: Sequence[int], owner: int) -> int:
    """Serve the slot relay at the other end of the socket `descriptors[0]`; the only argument is a `SlotIdentity`."""
    os.close(owner)  # this process exits with its relay
    name_process(SLOT_PROCESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    identity = SlotIdentity.from_json(arguments[0])
    pattern = f"%(asctime)s %(levelname)s slot {identity.name} %(name)s: %(message)s"
    forked_process_logging.log_to(forked_process_logging.handler_of(pattern))
    uvloop.run(_run(identity, socket.socket(fileno=descriptors[0])))
    return 1  # not reached


async def _run(identity: SlotIdentity, connection: socket.socket) -> NoReturn:
    loop = asyncio.get_running_loop()
    slot = PlacedSlot(identity, template_socket)
    if identity.socket:
        slot.socket = await _listen(slot, identity.socket)
    relay = _Calls(slot)
    await loop.create_connection(lambda: relay, sock=connection)
    await relay.closed
    os._exit(0)  # without cancelling the tasks of the slot, which would see their attempt end


async def _listen(slot: PlacedSlot, path: str) -> str:
    """Accept connections of the scheduler at a path, in place of a slot that has ended; "" if that is impossible."""
    try:
        await asyncio.get_running_loop().create_unix_server(lambda: _Calls(slot), path)
    except OSError as error:
        log.warning("cannot listen on %s, so calls go through the slot relay: %s", path, error)
        return ""
    return path


class _Calls(asyncio.Protocol):
    """Answers the calls of a connection."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._frames = Frames()
        self._answering: set[asyncio.Task[None]] = set()
        self._transport: asyncio.Transport | None = None
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(frame(HELLO, encode_pid(os.getpid())))

    def data_received(self, data: bytes) -> None:
        for number, body in self._frames.feed(data):
            task = asyncio.get_running_loop().create_task(self._answer(number, body))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set_result(None)

    async def _answer(self, number: int, body: bytes) -> None:
        try:
            call = decode_call(body)
            if isinstance(call, OpenCall):
                answer = encode_result(await self._slot.open(call.epoch, *call.times_s))
            else:
                answer = encode_result(
                    await self._slot.exchange(call.session, call.call, call.acknowledged, call.commands)
                )
        except Exception as error:  # noqa: BLE001 - the caller gets it
            answer = encode_error(error)
        if self._transport is not None:
            self._transport.write(frame(number, answer))
