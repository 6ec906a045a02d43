"""The aggregator's counters; gateway process.

Two identities hold at all times: admitted = sum of the outcomes + in flight, and for each replica
sent = ok + late + error + died + dropped + pending.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from podium.ensemble.serving.latency_histogram import Histogram
from podium.ensemble.values.prediction import MemberStatus, Outcome


@dataclass(slots=True)
class EnsembleCounts:
    """Requests to one version of an ensemble."""

    admitted: int = 0
    in_flight: int = 0
    outcomes: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(Outcome, 0))
    total_ms: Histogram = field(default_factory=Histogram)


@dataclass(slots=True)
class MemberCounts:
    """Requests sent to one replica."""

    sent: int = 0
    ok: int = 0
    late: int = 0
    error: int = 0  # failed, or the reply was invalid
    died: int = 0
    dropped: int = 0  # refused or expired at the worker, or no longer needed
    pending: int = 0
    skipped: int = 0  # not sent: circuit breaker open, or queue full
    hedges: int = 0  # included in `sent`
    probes: int = 0  # not included in `sent`
    latency_ms: Histogram = field(default_factory=Histogram)

    def record(self, status: MemberStatus | None) -> None:
        """Count the end of a sent request; None: it is no longer needed."""
        self.pending -= 1
        if status is MemberStatus.OK:
            self.ok += 1
        elif status is MemberStatus.LATE:
            self.late += 1
        elif status in (MemberStatus.ERROR, MemberStatus.INVALID):
            self.error += 1
        elif status is MemberStatus.DIED:
            self.died += 1
        else:
            self.dropped += 1


@dataclass(slots=True)
class AggregatorCounts:
    """All counters since the process started."""

    ensembles: defaultdict[tuple[int, int], EnsembleCounts] = field(default_factory=lambda: defaultdict(EnsembleCounts))
    members: defaultdict[int, MemberCounts] = field(default_factory=lambda: defaultdict(MemberCounts))  # by replica id
    dropped: Counter[str] = field(default_factory=Counter)  # replies: late, duplicate, unknown, stale_epoch, garbled

    def ensemble(self, ensemble_id: int, version: int) -> EnsembleCounts:
        return self.ensembles[ensemble_id, version]

    def member(self, replica_id: int) -> MemberCounts:
        return self.members[replica_id]
