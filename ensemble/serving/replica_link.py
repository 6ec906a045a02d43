"""One replica as the gateway sees it: what it owes us, how quick it is, and whether to ask it; gateway."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.ensemble.protocol.wire import Reply, Request, WireError
from podium.ensemble.serving.aggregator_counts import Counts
from podium.ensemble.serving.circuit_breaker import Breaker
from podium.ensemble.serving.transport import Timer, Transport
from podium.ensemble.values.ensemble_spec import MemberState
from podium.ensemble.values.prediction import MemberStatus

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
    is_probe: bool


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
    waiting: int  # requests that it has and has not answered


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
        self._recent: deque[bool] = deque(maxlen=_LATENCIES)  # whether it was late
        self._times_ms: deque[float] = deque(maxlen=_LATENCIES)  # of its answers, in time or late
        self._since_quantiles = 0
        self._p95_ms: float | None = None
        self._service_s = 0.0  # between two answers while it is busy, smoothed
        self._last_answer_s = 0.0
        self._silent_since_s: float | None = None  # while it owes answers
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

    def waited_ms(self, request_id: int) -> float:
        """How long ago this request was sent here, if the worker has not answered it; else 0."""
        owed = self._owed.get(request_id)
        return 0.0 if owed is None else (self._timer.now_s() - owed.sent_s) * 1000

    def silent_ms(self) -> float:
        """How long the worker has owed answers and given none."""
        return 0.0 if self._silent_since_s is None else (self._timer.now_s() - self._silent_since_s) * 1000

    def send(self, request: Request, heard: Heard) -> bool:
        """Hand a request to the worker's queue; never blocks. False: the queue is full."""
        if not self._wire.send(request.frames()):
            return False
        self._pending[request.request_id] = heard
        self._owe(request, is_probe=False)
        self.counts.sent += 1
        self.counts.pending += 1
        return True

    def probe(self, request: Request, heard: Heard) -> bool:
        """Send a request of our own, which counts nowhere but in `probes`."""
        self._forget_the_oldest()
        if not self._wire.send(request.frames()):
            return False
        self._pending[request.request_id] = heard
        self._owe(request, is_probe=True)
        self.counts.probes += 1
        return True

    def forget(self, request_id: int, status: MemberStatus | None) -> None:
        """Nobody waits for this any more: it is late, or (None) was not needed."""
        if self._pending.pop(request_id, None) is None:
            return
        self.counts.ended(status)
        if status is MemberStatus.LATE:
            self._recent.append(True)

    def give_up_probe(self, request_id: int) -> None:
        """The probe's time is over."""
        if (heard := self._pending.pop(request_id, None)) is not None:
            heard(None, MemberStatus.LATE, "")

    def close(self) -> None:
        """The worker is gone: what waits for it is resolved now, not at the deadline."""
        self.down = True
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
        self._settle(reply.request_id, owed)
        heard = self._pending.pop(reply.request_id, None)
        if reply.status == "ok" and not owed.is_probe:
            self._observe(owed, late=heard is None)
        if heard is None:
            self._dropped["late"] += 1
            return
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
        times_ms = sorted(self._times_ms)  # once, and no numpy: there are hundreds of replicas to tell of
        late = sum(self._recent) / len(self._recent) if self._recent else 0.0
        return LinkHealth(
            self.replica_id,
            MemberState.RESTARTING if self.down else self.breaker.state,
            self.breaker.reason,
            self.epoch,
            _quantile(times_ms, 0.5),
            _quantile(times_ms, 0.99),
            late,
            len(self._owed),
        )

    def _end_all(self, message: str) -> None:
        self._owed.clear()
        self._owed_bytes = 0
        self._silent_since_s = None
        while self._pending:  # one by one: who hears it may withdraw another
            heard = self._pending.pop(next(iter(self._pending)))
            heard(None, MemberStatus.DIED, message)

    def _owe(self, request: Request, *, is_probe: bool) -> None:
        size, now_s = request.inputs.nbytes, self._timer.now_s()
        self._owed[request.request_id] = _Owed(size, now_s, is_probe)
        self._owed_bytes += size
        if self._silent_since_s is None:
            self._silent_since_s = now_s

    def _settle(self, request_id: int, owed: _Owed) -> None:
        now_s = self._timer.now_s()
        self._owed_bytes -= owed.bytes
        self._silent_since_s = now_s if self._owed else None
        self._answered[request_id] = None
        if len(self._answered) > _REMEMBERED:
            self._answered.popitem(last=False)
        spell_s = now_s - max(self._last_answer_s, owed.sent_s)
        self._service_s += 0.1 * (spell_s - self._service_s)
        self._last_answer_s = now_s

    def _forget_the_oldest(self) -> None:
        """A worker that dropped an answer must not be full for ever; what somebody waits for stays."""
        long_ago_s = self._timer.now_s() - OWED_FOR_S
        while self._owed:
            request_id, owed = next(iter(self._owed.items()))
            if owed.sent_s >= long_ago_s or request_id in self._pending:
                return
            del self._owed[request_id]
            self._owed_bytes -= owed.bytes
        self._silent_since_s = None

    def _observe(self, owed: _Owed, *, late: bool) -> None:
        """A late answer too tells how quick it is; that nobody waited so long says nothing of it."""
        latency_ms = (self._timer.now_s() - owed.sent_s) * 1000
        self._times_ms.append(latency_ms)
        if not late:
            self._recent.append(False)
            self.counts.latency_ms.observe(latency_ms)
        self._since_quantiles += 1
        if self._since_quantiles >= _QUANTILES_EVERY:
            self._since_quantiles = 0
            self._p95_ms = _quantile(sorted(self._times_ms), 0.95)


def _quantile(ascending: list[float], q: float) -> float | None:
    """The value at rank `q` (0 to 1), rounded down; None where there is none."""
    return ascending[int(q * (len(ascending) - 1))] if ascending else None


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
