"""A worker: its own input queue, its network, its prediction queue; in the process that Ray placed.

Two threads. One owns the socket and stamps what comes; the other owns the network. Between them an input queue and
a prediction queue, both bounded. Requests that wait together are computed together; one that can no longer make its
deadline is dropped before it costs anything.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import zmq

from ensemble.networks import Network
from ensemble.wire import Reply, Request, WireError

QUEUE_REQUESTS = 256
BATCH_ROWS = 1024
_POLL_MS = 200
log = logging.getLogger("podium.member")


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request in the input queue: who sent it, when it came, when it is too late."""

    sender: bytes
    request: Request
    arrived_s: float
    due_s: float


@dataclass(slots=True)
class Counts:
    """What became of the requests so far; `answered + errors + expired + refused` is all that came."""

    answered: int = 0
    errors: int = 0
    expired: int = 0
    refused: int = 0
    garbled: int = 0
    batches: int = field(default=0)


class MemberServer:
    """Serves one network on one endpoint, until closed."""

    def __init__(self, endpoint: str, epoch: int, network: Network) -> None:
        self._endpoint = endpoint
        self._epoch = epoch
        self._network = network
        self._inputs: queue.Queue[_Waiting] = queue.Queue(QUEUE_REQUESTS)
        self._context = zmq.Context()
        self._closing = threading.Event()
        self.counts = Counts()
        self._threads = [
            threading.Thread(target=target, name=name, daemon=True)
            for name, target in (("member-io", self._io), ("member-compute", self._compute))
        ]

    def start(self) -> None:
        """Bind and serve. Raises `zmq.ZMQError` when the endpoint cannot be bound."""
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.SNDHWM, 4 * QUEUE_REQUESTS)  # above it a ROUTER drops: room for refusals too
        self._socket.setsockopt(zmq.RCVHWM, QUEUE_REQUESTS)
        self._socket.bind(self._endpoint)
        self._predictions = self._pair(bind=True)
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._closing.set()
        for thread in self._threads:
            thread.join(timeout=2)
        if not any(thread.is_alive() for thread in self._threads):
            self._context.term()  # every socket is closed by the thread that owned it

    def _pair(self, *, bind: bool) -> zmq.Socket[bytes]:
        """One end of the prediction queue: ZeroMQ sockets belong to one thread each."""
        pair: zmq.Socket[bytes] = self._context.socket(zmq.PAIR)
        pair.setsockopt(zmq.LINGER, 0)
        (pair.bind if bind else pair.connect)("inproc://predictions")
        return pair

    # The thread that owns the socket.

    def _io(self) -> None:
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._predictions, zmq.POLLIN)
        while not self._closing.is_set():
            ready = dict(poller.poll(_POLL_MS))
            if self._predictions in ready:
                self._send(self._predictions.recv_multipart())
            if self._socket in ready:
                self._take(self._socket.recv_multipart())
        self._socket.close()
        self._predictions.close()

    def _take(self, frames: list[bytes]) -> None:
        sender, *rest = frames
        try:
            request = Request.parse(rest)
        except WireError as error:
            self.counts.garbled += 1
            log.warning("garbled request: %s", error)
            return
        now = time.monotonic()
        if request.epoch != self._epoch:
            self._refuse(sender, request, "stale epoch")
            return
        try:
            self._inputs.put_nowait(_Waiting(sender, request, now, now + request.left_ms / 1000))
        except queue.Full:
            self._refuse(sender, request, "queue full")

    def _refuse(self, sender: bytes, request: Request, message: str) -> None:
        self.counts.refused += 1
        reply = Reply(request.request_id, self._epoch, "refused", message=message)
        self._send([sender, *map(bytes, reply.frames())])

    def _send(self, frames: list[bytes]) -> None:
        with contextlib.suppress(zmq.Again):  # a gateway that does not read loses its answers, not us
            self._socket.send_multipart(frames, flags=zmq.NOBLOCK, copy=False)

    # The thread that owns the network.

    def _compute(self) -> None:
        out = self._pair(bind=False)
        while not self._closing.is_set():
            batch = self._next_batch()
            for waiting, reply in self._answer(batch) if batch else ():
                out.send_multipart([waiting.sender, *reply.frames()])
        out.close()

    def _next_batch(self) -> list[_Waiting]:
        """What waits, oldest first, up to `BATCH_ROWS` rows of one width; waits for the first."""
        try:
            batch = [self._inputs.get(timeout=_POLL_MS / 1000)]
        except queue.Empty:
            return []
        rows = len(batch[0].request.inputs)
        while rows < BATCH_ROWS:
            try:
                batch.append(self._inputs.get_nowait())
            except queue.Empty:
                break
            rows += len(batch[-1].request.inputs)
        return batch

    def _answer(self, batch: list[_Waiting]) -> Iterator[tuple[_Waiting, Reply]]:
        now = time.monotonic()
        live = [waiting for waiting in batch if waiting.due_s > now]
        for waiting in batch:
            if waiting.due_s <= now:
                self.counts.expired += 1
                yield waiting, Reply(waiting.request.request_id, self._epoch, "expired")
        if live:
            yield from self._predict(live)

    def _predict(self, live: list[_Waiting]) -> Iterator[tuple[_Waiting, Reply]]:
        """One computation for all; if it fails, one by one, so that only the culprit fails."""
        began = time.monotonic()
        try:
            inputs = np.concatenate([waiting.request.inputs for waiting in live])
            predictions, combined = self._network.predict(inputs)
        except Exception as error:  # noqa: BLE001 - whatever the network raised is this request's answer
            if len(live) > 1:
                for waiting in live:
                    yield from self._predict([waiting])
                return
            self.counts.errors += 1
            message = f"{type(error).__name__}: {error}"[:500]
            yield live[0], Reply(live[0].request.request_id, self._epoch, "error", message=message)
            return
        compute_ms = (time.monotonic() - began) * 1000
        self.counts.batches += 1
        start = 0
        for waiting in live:
            end = start + len(waiting.request.inputs)
            self.counts.answered += 1
            yield (
                waiting,
                Reply(
                    waiting.request.request_id,
                    self._epoch,
                    "ok",
                    queue_ms=(began - waiting.arrived_s) * 1000,
                    compute_ms=compute_ms,
                    predictions=predictions[:, start:end],
                    combined=None if combined is None else combined[start:end],
                ),
            )
            start = end
