"""Requests, latency and late replies of each ensemble by minute, over the last 24 hours; gateway process and api.

Plain values in a bounded ring, saved as JSON, so that the history survives a restart of the service.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from podium.ensemble.serving.aggregator_counts import EnsembleCounts, MemberCounts
from podium.ensemble.serving.gateway_metrics import GatewayCounters
from podium.ensemble.serving.latency_histogram import Histogram
from podium.ensemble.values.prediction import Outcome

MINUTES = 24 * 60
_FAILED = (Outcome.BELOW_QUORUM, Outcome.DEADLINE, Outcome.SHED)
_NUMBERS = ("requests", "degraded", "failed", "sent", "late")


@dataclass(slots=True)
class Traffic:
    """What an ensemble did in an interval of time."""

    requests: int = 0  # that ended
    degraded: int = 0  # answered without every member
    failed: int = 0  # not answered
    sent: int = 0  # to replicas
    late: int = 0  # replies of replicas
    latency: Counter[int] = field(default_factory=Counter)  # requests by bucket of `Histogram`

    def add(self, other: Traffic) -> None:
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.latency.update(other.latency)

    @property
    def late_share(self) -> float | None:
        return self.late / self.sent if self.sent else None

    def quantile_ms(self, share: float) -> float | None:
        """The estimated latency at a rank from 0 to 1; None without a request."""
        empty = Histogram()
        return Histogram(counts=[self.latency[bucket] for bucket in range(len(empty.counts))]).quantile(share)


class TrafficHistory:
    """A ring of minutes per ensemble; minutes without requests are absent."""

    def __init__(self) -> None:
        self._minutes: dict[int, deque[tuple[int, Traffic]]] = {}
        self._last: GatewayCounters | None = None

    def record(self, figures: GatewayCounters, owners: Mapping[int, int], at_s: float) -> bool:
        """Add what changed since the last call to the minute of `at_s`; returns whether anything did.

        `owners` has the ensemble of each replica. Counters that decreased belong to a new process and start at zero.
        """
        before, self._last = self._last, figures
        if before is None:
            return False  # counters from before the first call belong to no known minute
        changes: dict[int, Traffic] = {}
        for (ensemble_id, version), counts in figures.ensembles.items():
            changed = _requests(counts, before.ensembles.get((ensemble_id, version)))
            changes.setdefault(ensemble_id, Traffic()).add(changed)
        for replica_id, member in figures.members.items():
            if replica_id in owners:
                changes.setdefault(owners[replica_id], Traffic()).add(_replies(member, before.members.get(replica_id)))
        changes = {ensemble_id: each for ensemble_id, each in changes.items() if each.requests or each.sent}
        for ensemble_id, each in changes.items():
            self._minute(ensemble_id, int(at_s // 60)).add(each)
        return bool(changes)

    def between(self, ensemble_id: int, first_minute: int, buckets: int, minutes_each: int) -> list[Traffic]:
        """The traffic in consecutive intervals of `minutes_each` minutes, from `first_minute` (since the epoch) on."""
        found = [Traffic() for _ in range(buckets)]
        for minute, traffic in self._minutes.get(ensemble_id, ()):
            bucket = (minute - first_minute) // minutes_each
            if 0 <= bucket < buckets:
                found[bucket].add(traffic)
        return found

    def _minute(self, ensemble_id: int, minute: int) -> Traffic:
        ring = self._minutes.setdefault(ensemble_id, deque(maxlen=MINUTES))
        if not ring or ring[-1][0] < minute:
            ring.append((minute, Traffic()))
        while ring[0][0] <= minute - MINUTES:
            ring.popleft()
        return ring[-1][1]

    def to_json(self) -> bytes:
        """For `from_json`."""
        return orjson.dumps(
            {str(key): [[minute, *_values(each)] for minute, each in ring] for key, ring in self._minutes.items()}
        )

    @classmethod
    def from_json(cls, content: bytes) -> TrafficHistory:
        """Raises `ValueError`, `TypeError` or `AttributeError` for anything but the result of `to_json`."""
        history = cls()
        found: dict[str, list[list[Any]]] = orjson.loads(content)
        for key, rows in found.items():
            minutes = ((minute, _traffic(values)) for minute, *values in rows)
            history._minutes[int(key)] = deque(minutes, maxlen=MINUTES)
        return history


def _requests(counts: EnsembleCounts, before: EnsembleCounts | None) -> Traffic:
    if before is None or counts.admitted < before.admitted:
        before = EnsembleCounts()
    ended = {outcome: count - before.outcomes[outcome] for outcome, count in counts.outcomes.items()}
    buckets = zip(counts.total_ms.counts, before.total_ms.counts, strict=True)
    return Traffic(
        requests=sum(ended.values()),
        degraded=ended[Outcome.DEGRADED],
        failed=sum(ended[outcome] for outcome in _FAILED),
        latency=Counter({bucket: now - then for bucket, (now, then) in enumerate(buckets) if now > then}),
    )


def _replies(counts: MemberCounts, before: MemberCounts | None) -> Traffic:
    if before is None or counts.sent < before.sent:
        before = MemberCounts()
    return Traffic(sent=counts.sent - before.sent, late=max(0, counts.late - before.late))


def _values(traffic: Traffic) -> Iterable[Any]:
    return *[getattr(traffic, name) for name in _NUMBERS], [list(pair) for pair in traffic.latency.items()]


def _traffic(values: list[Any]) -> Traffic:
    *numbers, latency = values
    return Traffic(**dict(zip(_NUMBERS, numbers, strict=True)), latency=Counter(dict(map(tuple, latency))))
