"""A worker's server: receives requests, batches them, computes them and sends the replies; worker process.

It has two threads with the same role. Both wait for messages, of which one gets each. A thread queues the requests of
its message; then it computes what is queued and sends the replies, unless the other thread computes: in that case the
other one takes them as soon as it is free. So a single request is computed by the thread that received it, without a
switch of threads, and requests are also received while the network computes. Requests that wait together are computed
together; a request that can no longer meet its deadline is dropped before it is computed. If a thread ends by anything
but `close`, or the network fails on every input, the process exits: otherwise it would queue requests that are never
computed.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import msgspec
import numpy as np
from numpy.typing import NDArray

from podium.ensemble.protocol.prediction_messages import (
    Frames,
    ReplyBundle,
    Request,
    WireError,
    concatenate,
    unpack_requests,
)
from podium.ensemble.worker.batching import DynamicBatcher
from podium.ensemble.worker.control_messages import TlsListening
from podium.ensemble.worker.failing_network_detector import FailureTracker
from podium.ensemble.worker.input_queue import InputQueue, QueueCounts, QueuedRequest
from podium.ensemble.worker.message_server import MessageServer
from podium.ensemble.worker.neural_network_interface import Network, NetworkOutputs
from podium.ensemble.worker.tls_message_server import TlsMessageServer

_MESSAGE_CHARACTERS = 500
CRASH_EXIT_CODE = 70
_THREADS = 2  # one computes, one receives
log = logging.getLogger("podium.worker")


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """Limits of a worker's queue and batches. A request that exceeds a limit by itself is computed alone."""

    queue_requests: int = 256
    queue_bytes: int = 128 << 20
    batch_rows: int = 1024
    batch_wait_ms: float = 0.0  # how long a request may wait for others; 0: compute what is queued


class _Computed(msgspec.Struct, frozen=True, eq=False):
    """The result of one computation: outputs or an error."""

    outputs: NetworkOutputs | None
    error: str
    started_s: float
    seconds: float

    @property
    def failed(self) -> frozenset[int]:
        """The positions of failed members, if others may have succeeded."""
        return frozenset(self.outputs.failed) if self.outputs else frozenset()


class WorkerServer:
    """Serves one network on one endpoint until closed."""

    def __init__(
        self, endpoint: str | TlsListening, epoch: int, network: Network, limits: WorkerLimits | None = None,
        *, end_process: Callable[[], None] | None = None, known_row: NDArray[np.float32] | None = None,
        failures: FailureTracker | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        limits = limits or WorkerLimits()
        self._messages = TlsMessageServer(endpoint) if isinstance(endpoint, TlsListening) else MessageServer(endpoint)
        self._epoch = epoch
        self._network = network
        self._end_process = end_process or _end_process
        self._queue = InputQueue(limits.queue_requests, limits.queue_bytes)
        self._batcher = DynamicBatcher(limits.batch_rows, limits.batch_wait_ms / 1000)
        self._known_failed: frozenset[int] = frozenset()
        self._failures = failures or FailureTracker()
        self._clock = clock
        self._known_row = known_row  # (1, features) that the network accepts; None: zeros
        self._width: int | None = None  # of the last rows that were computed successfully
        self._closing = threading.Event()
        self._calls: deque[Callable[[], None]] = deque()  # for the thread that computes
        self.computing = threading.Lock()  # held by the thread that computes
        self._threads = [
            threading.Thread(target=self._guard, args=(self._run,), name=f"worker-{n}", daemon=True)
            for n in range(_THREADS)
        ]

    def start(self) -> None:
        """Bind and serve, replacing a socket file left by a dead worker. Raises `OSError` if it cannot bind."""
        try:
            self._messages.bind()
        except OSError:
            self._messages.close()
            raise
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop serving immediately; queued requests are not answered. Waits up to 2 s for the current computation."""
        self._closing.set()
        self._queue.close()
        self._messages.stop_receiving()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(timeout=2)
        if not any(thread.is_alive() for thread in self._threads):
            self._messages.close()

    @property
    def endpoint(self) -> str:
        """Where it listens, once it has started."""
        return self._messages.endpoint

    @property
    def counts(self) -> QueueCounts:
        """The counters of the input queue."""
        return self._queue.counts

    def call_between(self, call: Callable[[], None]) -> None:
        """Call while nothing is computed: in this thread at once, or in the thread that computes before its next batch.

        The process exits if the call raises.
        """
        self._calls.append(call)
        self._guard(self._compute_queued)

    def _guard(self, run: Callable[[], None]) -> None:
        try:
            run()
        except BaseException:
            log.critical("thread %s failed; exiting", threading.current_thread().name, exc_info=True)
            self._end_process()

    def _run(self) -> None:
        while not self._closing.is_set():
            for sender, frames in self._messages.receive():
                self.accept(sender, frames)
            self._compute_queued()

    def _compute_queued(self) -> None:
        # Again: another thread may have queued a request after the last look and before the release.
        while (self._calls or not self._queue.empty) and self.computing.acquire(blocking=False):
            try:
                self.compute()
            finally:
                self.computing.release()

    # The thread that has received.

    def accept(self, sender: int, frames: list[bytes]) -> None:
        """Queue the requests of a message, or refuse those that cannot be queued."""
        try:
            requests = unpack_requests(frames)
        except WireError as error:
            self._queue.count_malformed()
            log.warning("garbled request: %s", error)
            return
        if requests[0].epoch != self._epoch:
            self._queue.count_refused(len(requests))
            self._refuse(sender, requests, "stale epoch")
            return
        now_s = self._clock()
        refused = self._queue.put(
            [QueuedRequest(sender, request, now_s, now_s + request.left_ms / 1000) for request in requests]
        )
        if refused:
            self._refuse(sender, [each.request for each in refused], "queue full")

    def _refuse(self, sender: int, requests: Sequence[Request], message: str) -> None:
        self._messages.send(sender, _ended(requests, self._epoch, "refused", message))

    # The thread that computes.

    def compute(self) -> None:
        """Compute until no request is queued or the server is closing."""
        waiting: list[QueuedRequest] = []
        wait_s = 0.0
        self._make_calls()
        while (came := self._queue.take(timeout_s=wait_s)) is not None and (came or waiting):
            for request in came:
                self._batcher.arrived(request)
            batch = self._batcher.next([*waiting, *came], self._clock())
            for expired in batch.expired:
                self._queue.expire(expired)
            if batch.expired:
                self._reply(batch.expired, "expired")
            if batch.chosen:
                self._serve(batch.chosen)
            self._make_calls()
            waiting = batch.left
            wait_s = batch.wait_s if waiting else 0.0

    def _make_calls(self) -> None:
        while self._calls:
            self._calls.popleft()()

    def _serve(self, batch: Sequence[QueuedRequest]) -> None:
        """Compute the batch. If that fails, compute each request alone, so that only the faulty one fails."""
        self._queue.start(batch)
        computed = self._predict(batch)
        succeeded = not computed.error
        if len(batch) > 1 and (computed.outputs is None or computed.failed - self._known_failed):
            succeeded |= self._serve_each(batch)
        else:
            self._known_failed &= computed.failed
            self._send_results(batch, computed)
        self._track_failures(batch[0].width, succeeded)

    def _track_failures(self, width: int, succeeded: bool) -> None:
        """Exit when the network fails persistently; one client's invalid rows are not sufficient evidence."""
        if succeeded:
            self._failures.record_success()
            self._width = width
        elif self._failures.record_failure(self._clock()):
            self._try_known_row(self._width or width)

    def _try_known_row(self, width: int) -> None:
        row = np.zeros((1, width), np.float32) if self._known_row is None else self._known_row
        try:
            error = _all_failed(self._network.predict(row))
        except Exception as raised:  # noqa: BLE001 - any error, as in a request
            error = f"{type(raised).__name__}: {raised}"
        if error:
            log.critical("the network fails on every input (%s); exiting", error[:_MESSAGE_CHARACTERS])
            self._end_process()
        self._failures.record_success()

    def _serve_each(self, batch: Sequence[QueuedRequest]) -> bool:
        """Compute each request alone. Returns whether any succeeded.

        A member that fails on every input is remembered, so that it does not cause every batch to be computed twice.
        """
        failed, succeeded = [], False
        for request in batch:
            if request.due_s <= self._clock():
                self._queue.finish("expired")
                self._reply([request], "expired")
                continue
            computed = self._predict([request])
            failed.append(computed.failed)
            succeeded |= not computed.error
            self._send_results([request], computed)
        self._known_failed = frozenset.intersection(*failed) if failed else frozenset()
        return succeeded

    def _predict(self, batch: Sequence[QueuedRequest]) -> _Computed:
        started_s = self._clock()
        try:
            inputs = concatenate([waiting.request.inputs for waiting in batch])
            predicted = _check_prediction(self._network.predict(inputs), len(inputs))
        except Exception as error:  # noqa: BLE001 - any error of the network is sent to the client
            return _Computed(None, f"{type(error).__name__}: {error}"[:_MESSAGE_CHARACTERS], started_s, 0.0)
        seconds = self._clock() - started_s
        return _Computed(predicted, _all_failed(predicted), started_s, seconds)

    def _send_results(self, batch: Sequence[QueuedRequest], computed: _Computed) -> None:
        """Send each sender one message with the results of its requests."""
        if computed.outputs is None or computed.error:
            self._queue.finish("errors", len(batch))
            self._reply(batch, "error", computed.error)
        else:
            self._queue.finish("answered", len(batch))
            for sender, requests, rows in _by_sender(batch):
                self._messages.send(sender, self._answer(requests, computed, computed.outputs, rows).frames())
        if computed.outputs is not None:  # after the replies are sent
            rows_computed = sum(request.rows for request in batch)
            self._batcher.computed(rows_computed, computed.seconds, computed.started_s + computed.seconds)

    def _answer(
        self,
        requests: Sequence[QueuedRequest],
        computed: _Computed,
        outputs: NetworkOutputs,
        rows: NDArray[np.intp] | None,
    ) -> ReplyBundle:
        """The results of one sender's requests; `rows` are their rows in the batch, or None for all."""
        predictions, combined = outputs.predictions, outputs.combined
        if rows is not None:
            predictions = predictions[:, rows]
            combined = None if combined is None else combined[rows]
        return ReplyBundle(
            self._epoch,
            "ok",
            [each.request.request_id for each in requests],
            [each.rows for each in requests],
            [(computed.started_s - each.arrived_s) * 1000 for each in requests],
            compute_ms=computed.seconds * 1000,
            failed={str(i): message[:_MESSAGE_CHARACTERS] for i, message in outputs.failed.items()},
            predictions=predictions,
            combined=combined,
        )

    def _reply(self, ended: Sequence[QueuedRequest], status: str, message: str = "") -> None:
        """Send a status without predictions."""
        by_sender: dict[int, list[Request]] = {}
        for each in ended:
            by_sender.setdefault(each.sender, []).append(each.request)
        for sender, requests in by_sender.items():
            self._messages.send(sender, _ended(requests, self._epoch, status, message))


def _ended(requests: Sequence[Request], epoch: int, status: str, message: str) -> Frames:
    """A message with the same status for each request, without predictions."""
    none = [0] * len(requests)
    return ReplyBundle(epoch, status, [each.request_id for each in requests], none, none, message=message).frames()


def _by_sender(
    batch: Sequence[QueuedRequest],
) -> Iterator[tuple[int, Sequence[QueuedRequest], NDArray[np.intp] | None]]:
    """Each sender, its requests, and their rows in the batch; None if all rows are its own."""
    if all(each.sender == batch[0].sender for each in batch):
        yield batch[0].sender, batch, None
        return
    starts = accumulate((each.rows for each in batch), initial=0)
    found: dict[int, tuple[list[QueuedRequest], list[NDArray[np.intp]]]] = {}
    for each, start in zip(batch, starts, strict=False):
        requests, rows = found.setdefault(each.sender, ([], []))
        requests.append(each)
        rows.append(np.arange(start, start + each.rows))
    for sender, (requests, rows) in found.items():
        yield sender, requests, np.concatenate(rows)


def _check_prediction(predicted: NetworkOutputs, rows: int) -> NetworkOutputs:
    """Raise `ValueError` unless there is one prediction for each row: otherwise requests would get wrong rows."""
    predictions, combined = predicted.predictions, predicted.combined
    if predictions.ndim != 3 or predictions.shape[1] != rows:
        raise ValueError(f"the network returned predictions of shape {predictions.shape} for {rows} rows")
    if combined is not None and (combined.ndim != 2 or len(combined) != rows):
        raise ValueError(f"the network returned a combination of shape {combined.shape} for {rows} rows")
    if predictions.dtype != np.float32 or (combined is not None and combined.dtype != np.float32):
        raise ValueError("the network returned a dtype other than float32")
    return predicted


def _all_failed(predicted: NetworkOutputs) -> str:
    """The errors if all members failed; empty otherwise."""
    if len(predicted.failed) < len(predicted.predictions):
        return ""
    return "; ".join(predicted.failed.values())[:_MESSAGE_CHARACTERS] or "all members failed"


def _end_process() -> None:
    """Exit immediately: pending requests fail, and the host starts a new worker."""
    logging.shutdown()
    os._exit(CRASH_EXIT_CODE)
