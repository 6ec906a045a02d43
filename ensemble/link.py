"""One replica as the gateway sees it: what it owes us, how quick it is, and whether to ask it; gateway."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ensemble.breaker import Breaker
from ensemble.counts import Counts
from ensemble.prediction import MemberStatus
from ensemble.spec import MemberState
from ensemble.transport import Timer, Transport
from ensemble.wire import Reply, Request, WireError

MAX_OWED = 256  # requests that a worker has and has not answered, whether somebody still waits for them or not
MAX_OWED_BYTES = 128 << 20
OWED_FOR_S = 120.0  # a worker that has not answered by then never will
SHED_FROM = 8  # owed requests, before an estimate of the wait is believed
_REMEMBERED = 4096
_LATENCIES = 512
_QUANTILES_EVERY = 16

Heard = Callable[[Reply | None, MemberStatus, str], None]


@dataclass(frozen=True, slots=True)
class _Owed:
    """A request that the worker has not answered."""

    bytes: int
    sent_s: float


@dataclass(frozen=True, slots=True)
class LinkHealth:
    """How a replica does, over its last requests."""

    replica_id: int
    state: MemberState
    reason: str
    epoch: int
    p50_ms: float | None
    p99_ms: float | None
    late_share: float


class Link:
    """Speaks to one worker in one epoch; a restarted worker is another link.

    A reply counts only if it names a request that is pending here; everything else is dropped and counted.
    """

    def __init__(
        self, replica_id: int, endpoint: str, epoch: int, transport: Transport, timer: Timer, counts: Counts,
        died: Callable[[], None],
    ) -> None:  # fmt: skip
        self.replica_id = replica_id
        self.endpoint = endpoint
        self.epoch = epoch
        self.breaker = Breaker()
        self.counts = counts.member(replica_id)
        self.down = False
        self._dropped = counts.dropped
        self._timer = timer
        self._died = died
        self._pending: dict[int, Heard] = {}
        self._owed: OrderedDict[int, _Owed] = OrderedDict()
        self._owed_bytes = 0
        self._answered: OrderedDict[int, None] = OrderedDict()
        self._recent: deque[tuple[float, bool]] = deque(maxlen=_LATENCIES)  # (milliseconds, whether it was late)
        self._since_quantiles = 0
        self._p95_ms: float | None = None
        self._service_s = 0.0  # between two answers while it is busy, smoothed
        self._last_answer_s = 0.0
        self._wire = transport.open(endpoint, self)

    # Asking.

    def refusal(self) -> tuple[MemberStatus, str] | None:
        """Why not to ask it now, or None."""
        if self.down:
            return MemberStatus.UNAVAILABLE, "its process is gone"
        if self.breaker.is_open:
            return MemberStatus.SKIPPED_OPEN, self.breaker.reason
        if len(self._owed) >= MAX_OWED or self._owed_bytes >= MAX_OWED_BYTES:
            self._forget_the_oldest()
            if len(self._owed) >= MAX_OWED or self._owed_bytes >= MAX_OWED_BYTES:
                return MemberStatus.QUEUE_FULL, f"{len(self._owed)} requests wait for it"
        return None

    @property
    def owed(self) -> int:
        """How many requests the worker has and has not answered."""
        return len(self._owed)

    def wait_s(self) -> float:
        """How long a request would wait there, estimated; 0 while few do."""
        return len(self._owed) * self._service_s if len(self._owed) >= SHED_FROM else 0.0

    @property
    def p95_ms(self) -> float | None:
        """The latency that 95 of 100 answers stay below; None while there are too few."""
        return self._p95_ms

    def send(self, request: Request, heard: Heard) -> bool:
        """Hand a request to the worker's queue; never blocks. False: the queue is full."""
        if not self._wire.send(request.frames()):
            return False
        self._pending[request.request_id] = heard
        self._owe(request)
        self.counts.sent += 1
        self.counts.pending += 1
        return True

    def probe(self, request: Request, on_end: Callable[[bool], None]) -> bool:
        """Send a request of our own, which counts nowhere but in `probes`."""
        if not self._wire.send(request.frames()):
            return False
        self._pending[request.request_id] = lambda reply, status, message: on_end(status is MemberStatus.OK)
        self._owe(request)
        self.counts.probes += 1
        return True

    def forget(self, request_id: int, status: MemberStatus | None) -> None:
        """Nobody waits for this any more: it is late, or (None) was not needed."""
        if self._pending.pop(request_id, None) is None:
            return
        self.counts.ended(status)
        if status is MemberStatus.LATE and (owed := self._owed.get(request_id)) is not None:
            self._observe((self._timer.now_s() - owed.sent_s) * 1000, late=True)

    def forget_probe(self, request_id: int) -> bool:
        """The probe's time is over; whether it was still under way."""
        return self._pending.pop(request_id, None) is not None

    def close(self) -> None:
        """The worker is gone: what waits for it is resolved now, not at the deadline."""
        self._wire.close()
        self._end_all("its process is gone")

    @property
    def idle(self) -> bool:
        """Whether nobody waits for it."""
        return not self._pending

    # Hearing (`Listener`).

    def hear(self, frames: list[bytes]) -> None:
        try:
            reply = Reply.parse(frames)
        except WireError:
            self._dropped["garbled"] += 1
            return
        if reply.epoch != self.epoch:
            self._dropped["stale_epoch"] += 1
            return
        owed = self._owed.pop(reply.request_id, None)
        if owed is None:
            self._dropped["duplicate" if reply.request_id in self._answered else "unknown"] += 1
            return
        now_s = self._timer.now_s()
        self._settle(reply.request_id, owed, now_s)
        heard = self._pending.pop(reply.request_id, None)
        if heard is None:
            self._dropped["late"] += 1
            return
        if reply.status == "ok":
            self._observe((now_s - owed.sent_s) * 1000, late=False)
        heard(reply, *_status_of(reply))

    def lost(self) -> None:
        if not self.down:
            self.down = True
            self._end_all("its process is gone")
            self._died()

    def back(self) -> None:
        self.down = False

    def health(self) -> LinkHealth:
        """How it does now."""
        times = sorted(ms for ms, late in self._recent if not late)
        late = sum(late for _, late in self._recent) / len(self._recent) if self._recent else 0.0
        return LinkHealth(
            self.replica_id,
            MemberState.RESTARTING if self.down else self.breaker.state,
            self.breaker.reason,
            self.epoch,
            float(np.quantile(times, 0.5)) if times else None,
            float(np.quantile(times, 0.99)) if times else None,
            late,
        )

    def _end_all(self, message: str) -> None:
        pending, self._pending = self._pending, {}
        self._owed.clear()
        self._owed_bytes = 0
        for heard in pending.values():
            heard(None, MemberStatus.DIED, message)

    def _owe(self, request: Request) -> None:
        size = request.inputs.nbytes
        self._owed[request.request_id] = _Owed(size, self._timer.now_s())
        self._owed_bytes += size

    def _settle(self, request_id: int, owed: _Owed, now_s: float) -> None:
        self._owed_bytes -= owed.bytes
        self._answered[request_id] = None
        if len(self._answered) > _REMEMBERED:
            self._answered.popitem(last=False)
        spell_s = now_s - max(self._last_answer_s, owed.sent_s)
        self._service_s += 0.1 * (spell_s - self._service_s)
        self._last_answer_s = now_s

    def _forget_the_oldest(self) -> None:
        """A worker that dropped an answer must not be full for ever."""
        long_ago_s = self._timer.now_s() - OWED_FOR_S
        while self._owed and next(iter(self._owed.values())).sent_s < long_ago_s:
            _, owed = self._owed.popitem(last=False)
            self._owed_bytes -= owed.bytes

    def _observe(self, latency_ms: float, *, late: bool) -> None:
        self._recent.append((latency_ms, late))
        if not late:
            self.counts.latency_ms.observe(latency_ms)
        self._since_quantiles += 1
        if self._since_quantiles >= _QUANTILES_EVERY:
            self._since_quantiles = 0
            self._p95_ms = _p95([ms for ms, _ in self._recent])


def _p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]


def _status_of(reply: Reply) -> tuple[MemberStatus, str]:
    known = {
        "ok": MemberStatus.OK,
        "error": MemberStatus.ERROR,
        "expired": MemberStatus.EXPIRED,
        "refused": MemberStatus.REFUSED,
    }
    return known.get(reply.status, MemberStatus.INVALID), reply.message


def probe_rows(features: int) -> NDArray[np.float32]:
    """What a probe asks: one row of zeros."""
    return np.zeros((1, features), dtype=np.float32)
