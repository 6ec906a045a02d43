"""A worker: its own input queue, its network, its prediction queue; in the process that Ray placed.

Two threads. One owns the socket: it stamps and queues what comes, also while the network computes. The other owns the
network: it takes its next batch from the queue the moment it is free. Requests that wait together are computed
together; one that can no longer make its deadline is dropped before it costs anything. If either thread ends of
anything but `close`, the process ends: it must not queue for ever what nobody will compute. So it does when the network
fails whatever it is given.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import zmq
from numpy.typing import NDArray

from podium.ensemble.protocol.wire import Reply, Request, WireError
from podium.ensemble.worker.batching import DynamicBatcher, quantile
from podium.ensemble.worker.input_queue import InputQueue, QueueCounts, QueuedRequest
from podium.ensemble.worker.network import Network, NetworkOutputs
from podium.ensemble.worker.network_failures import FailureTracker

_COPY_BELOW_BYTES = 65536  # to lend ZeroMQ a small buffer costs more than to copy it
_MESSAGE_CHARACTERS = 500
_TIMES = 512  # batches, of which the quantiles are
_CRASHED = 70
log = logging.getLogger("podium.member")

Frames = list[bytes | memoryview]


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """What a worker holds and takes at once. A request that is larger than a limit by itself goes alone."""

    queue_requests: int = 256
    queue_bytes: int = 128 << 20
    batch_rows: int = 1024
    batch_wait_ms: float = 0.0  # how long a request may wait for company; 0: what waits is taken


@dataclass(frozen=True, slots=True)
class _Computed:
    """What became of one computation: a prediction or an error."""

    predicted: NetworkOutputs | None
    error: str
    began_s: float
    seconds: float

    @property
    def failed(self) -> frozenset[int]:
        """The members that failed where others may not have."""
        return frozenset(self.predicted.failed) if self.predicted else frozenset()


class MemberServer:
    """Serves one network on one endpoint, until closed."""

    def __init__(
        self, endpoint: str, epoch: int, network: Network, limits: WorkerLimits | None = None,
        *, end_process: Callable[[], None] | None = None, known_row: NDArray[np.float32] | None = None,
    ) -> None:  # fmt: skip
        limits = limits or WorkerLimits()
        self._endpoint = endpoint
        self._epoch = epoch
        self._network = network
        self._end_process = end_process or _end_process
        self._queue = InputQueue(limits.queue_requests, limits.queue_bytes)
        self._batcher = DynamicBatcher(limits.batch_rows, limits.batch_wait_ms / 1000)
        self._statistics = _Statistics()
        self._known_failed: frozenset[int] = frozenset()
        self._failing = FailureTracker()
        self._known_row = known_row  # (1, features) that the network takes; None: zeros will do
        self._width: int | None = None  # of the last rows that could be computed
        self._outbox: deque[Frames] = deque()
        self._bell, self._button = socket.socketpair()
        for end in (self._bell, self._button):
            end.setblocking(False)
        self._context = zmq.Context()
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._guard, args=(target,), name=name, daemon=True)
            for name, target in (("member-io", self._io), ("member-compute", self._compute))
        ]

    def start(self) -> None:
        """Bind and serve; a socket file that a dead worker left is replaced.

        Raises `zmq.ZMQError` when the endpoint cannot be bound.
        """
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.SNDHWM, 1024)  # above it a ROUTER drops: room for a full queue, and for refusals
        self._socket.setsockopt(zmq.RCVHWM, 256)
        self._socket.bind(self._endpoint)
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop serving, at once; what waits is not answered. A computation under way is awaited for 2 s at most."""
        self._closing.set()
        self._queue.close()
        self._ring()
        io, compute = self._threads
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(timeout=2)
        if not io.is_alive():
            self._context.destroy(linger=0)
        if not io.is_alive() and not compute.is_alive():
            self._bell.close()
            self._button.close()

    @property
    def counts(self) -> QueueCounts:
        """What became of the requests so far."""
        return self._queue.counts

    def health(self) -> dict[str, int | float | None]:
        """The counts and how computing goes, for whoever asks how the worker does; times in milliseconds."""
        return {**asdict(self.counts), "batch_limit_rows": self._batcher.limit_rows, **self._statistics.summary()}

    def _guard(self, run: Callable[[], None]) -> None:
        try:
            run()
        except BaseException:
            log.critical("%s ended; so does the process", threading.current_thread().name, exc_info=True)
            self._end_process()

    # The thread that owns the socket.

    def _io(self) -> None:
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._bell, zmq.POLLIN)
        while not self._closing.is_set():
            ready = dict(poller.poll())
            if self._bell.fileno() in ready:
                self._bell.recv(4096)
            while self._outbox:
                self._send(self._outbox.popleft())
            if self._socket in ready:  # one at a time: answers come first, and to try in vain costs more than to poll
                self._accept(self._socket.recv_multipart())
        self._socket.close()

    def _accept(self, frames: list[bytes]) -> None:
        sender, *rest = frames
        try:
            request = Request.parse(rest)
        except WireError as error:
            self._queue.garbled()
            log.warning("garbled request: %s", error)
            return
        if request.epoch != self._epoch:
            self._queue.refuse()
            self._refuse(sender, request, "stale epoch")
            return
        now_s = time.monotonic()
        if not self._queue.put(QueuedRequest(sender, request, now_s, now_s + request.left_ms / 1000)):
            self._refuse(sender, request, "queue full")

    def _refuse(self, sender: bytes, request: Request, message: str) -> None:
        self._send([sender, *Reply(request.request_id, self._epoch, "refused", message=message).frames()])

    def _send(self, frames: Frames) -> None:
        with contextlib.suppress(zmq.Again):  # a gateway that does not read loses its answers, not us
            self._socket.send_multipart(frames, zmq.NOBLOCK, copy=memoryview(frames[-1]).nbytes < _COPY_BELOW_BYTES)

    # The thread that owns the network.

    def _compute(self) -> None:
        waiting: list[QueuedRequest] = []
        wait_s: float | None = None
        while (came := self._queue.take(timeout_s=wait_s)) is not None:
            for request in came:
                self._batcher.came(request)
            batch = self._batcher.next([*waiting, *came], time.monotonic())
            for expired in batch.expired:
                self._queue.expired(expired)
                self._reply(expired, "expired")
            if batch.expired:
                self._ring()
            if batch.chosen:
                self._serve(batch.chosen)
            waiting = batch.left
            wait_s = batch.wait_s if waiting else None

    def _serve(self, batch: Sequence[QueuedRequest]) -> None:
        """One computation for all. If it fails, once more one by one, so that only the culprit fails."""
        for request in batch:
            self._queue.began(request)
        computed = self._predict(batch)
        worked = not computed.error
        if len(batch) > 1 and (computed.predicted is None or computed.failed - self._known_failed):
            worked |= self._serve_each(batch)
        else:
            self._known_failed &= computed.failed
            self._hand_over(batch, computed)
        self._judge(batch[0].width, worked)

    def _judge(self, width: int, worked: bool) -> None:
        """End the process when the network fails for good; one client's rows that it cannot take are no such sign."""
        if worked:
            self._failing.worked()
            self._width = width
        elif self._failing.failed(time.monotonic()):
            self._try_known(self._width or width)

    def _try_known(self, width: int) -> None:
        row = np.zeros((1, width), np.float32) if self._known_row is None else self._known_row
        try:
            error = _all_failed(self._network.predict(row))
        except Exception as raised:  # noqa: BLE001 - as when it is asked
            error = f"{type(raised).__name__}: {raised}"
        if error:
            log.critical("the network fails whatever it is given (%s); the process ends", error[:_MESSAGE_CHARACTERS])
            self._end_process()
        self._failing.worked()

    def _serve_each(self, batch: Sequence[QueuedRequest]) -> bool:
        """Whether any could be computed.

        A member that fails whatever it is given is remembered: it is no reason to try every batch twice.
        """
        failed, worked = [], False
        for request in batch:
            if request.due_s <= time.monotonic():
                self._queue.ended("expired")
                self._reply(request, "expired")
                continue
            computed = self._predict([request])
            failed.append(computed.failed)
            worked |= not computed.error
            self._hand_over([request], computed)
        self._ring()
        self._known_failed = frozenset.intersection(*failed) if failed else frozenset()
        return worked

    def _predict(self, batch: Sequence[QueuedRequest]) -> _Computed:
        began_s = time.monotonic()
        try:
            inputs = _together(batch)
            predicted = _checked(self._network.predict(inputs), len(inputs))
        except Exception as error:  # noqa: BLE001 - whatever the network raised is the request's answer
            return _Computed(None, f"{type(error).__name__}: {error}"[:_MESSAGE_CHARACTERS], began_s, 0.0)
        now_s = time.monotonic()
        self._statistics.count(len(inputs), now_s - began_s)
        return _Computed(predicted, _all_failed(predicted), began_s, now_s - began_s)

    def _hand_over(self, batch: Sequence[QueuedRequest], computed: _Computed) -> None:
        """To each its rows."""
        start = 0
        for request in batch:
            end = start + request.rows
            if computed.predicted is None or computed.error:
                self._queue.ended("errors")
                self._reply(request, "error", message=computed.error)
            else:
                self._queue.ended("answered")
                self._outbox.append(self._answer(request, computed, computed.predicted, start, end))
            start = end
        self._ring()
        if computed.predicted is not None:  # learned while the answers are on their way
            self._batcher.computed(start, computed.seconds, computed.began_s + computed.seconds)

    def _answer(
        self, waiting: QueuedRequest, computed: _Computed, predicted: NetworkOutputs, start: int, end: int
    ) -> Frames:
        reply = Reply(
            waiting.request.request_id,
            self._epoch,
            "ok",
            queue_ms=(computed.began_s - waiting.arrived_s) * 1000,
            compute_ms=computed.seconds * 1000,
            failed={str(i): message[:_MESSAGE_CHARACTERS] for i, message in predicted.failed.items()},
            predictions=predicted.predictions[:, start:end],
            combined=None if predicted.combined is None else predicted.combined[start:end],
        )
        return [waiting.sender, *reply.frames()]

    def _reply(self, waiting: QueuedRequest, status: str, message: str = "") -> None:
        reply = Reply(waiting.request.request_id, self._epoch, status, message=message)
        self._outbox.append([waiting.sender, *reply.frames()])

    def _ring(self) -> None:
        """Wake the other thread to send what lies in the outbox."""
        with contextlib.suppress(BlockingIOError):  # it has been rung for often enough
            self._button.send(b"\0")


class _Statistics:
    """Of the computations that ended well; written by one thread, read by another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches = 0
        self._rows = 0
        self._times_ms: deque[float] = deque(maxlen=_TIMES)

    def count(self, rows: int, seconds: float) -> None:
        with self._lock:
            self._batches += 1
            self._rows += rows
            self._times_ms.append(seconds * 1000)

    def summary(self) -> dict[str, int | float | None]:
        """Quantiles of the last times; None before the first."""
        with self._lock:
            batches, rows, times_ms = self._batches, self._rows, list(self._times_ms)
        return {
            "batches": batches,
            "rows_per_batch": rows / batches if batches else None,
            "compute_p50_ms": quantile(times_ms, 0.5) if times_ms else None,
            "compute_p95_ms": quantile(times_ms, 0.95) if times_ms else None,
        }


def _together(batch: Sequence[QueuedRequest]) -> NDArray[np.float32]:
    """(rows, features) of all."""
    if len(batch) == 1:
        return batch[0].request.inputs
    return np.concatenate([waiting.request.inputs for waiting in batch])


def _checked(predicted: NetworkOutputs, rows: int) -> NetworkOutputs:
    """Raises `ValueError` unless there is one prediction a row: else a request would get its neighbour's."""
    predictions, combined = predicted.predictions, predicted.combined
    if predictions.ndim != 3 or predictions.shape[1] != rows:
        raise ValueError(f"the network answered {rows} rows with predictions of shape {predictions.shape}")
    if combined is not None and (combined.ndim != 2 or len(combined) != rows):
        raise ValueError(f"the network answered {rows} rows with a combination of shape {combined.shape}")
    if predictions.dtype != np.float32 or (combined is not None and combined.dtype != np.float32):
        raise ValueError("the network answered in numbers other than float32")
    return predicted


def _all_failed(predicted: NetworkOutputs) -> str:
    """What to say when no member is left; empty when one is."""
    if len(predicted.failed) < len(predicted.predictions):
        return ""
    return "; ".join(predicted.failed.values())[:_MESSAGE_CHARACTERS] or "every member failed"


def _end_process() -> None:
    """Now: Ray sees it, whoever waits is told, and a new worker is started."""
    logging.shutdown()
    os._exit(_CRASHED)
