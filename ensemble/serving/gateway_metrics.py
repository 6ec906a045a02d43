"""The figures of one or several gateway processes: counters and the health of replicas; gateway process.

Plain values that can be added up, sent to another gateway process and saved for the successor of one that died.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import orjson

from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.aggregator_counts import AggregatorCounts, EnsembleCounts, MemberCounts
from podium.ensemble.serving.latency_histogram import Histogram
from podium.ensemble.serving.replica_latency import LatencyWindow, quantiles
from podium.ensemble.serving.replica_link import LinkHealth
from podium.ensemble.values.ensemble_states import MemberState
from podium.ensemble.values.prediction import Outcome

_BEST_FIRST = (
    MemberState.READY, MemberState.SUSPECT, MemberState.HALF_OPEN, MemberState.OPEN, MemberState.RESTARTING
)  # fmt: skip
_MEMBER_COUNTS = tuple(field.name for field in fields(MemberCounts) if field.name != "latency_ms")


@dataclass(frozen=True, slots=True)
class GatewayCounters:
    """Counters by ensemble version and by replica, and the health and recent latencies of each replica."""

    ensembles: Mapping[tuple[int, int], EnsembleCounts]
    members: Mapping[int, MemberCounts]
    dropped: Counter[str]
    health: Mapping[int, LinkHealth]
    latencies: Mapping[int, LatencyWindow]

    @classmethod
    def of(cls, aggregator: Aggregator) -> GatewayCounters:
        """A consistent copy, so that the identities of `AggregatorCounts` hold."""
        counts = aggregator.counts
        return cls(
            {key: _ensemble_sum([each]) for key, each in counts.ensembles.items()},
            {key: _member_sum([each]) for key, each in counts.members.items()},
            counts.dropped.copy(),
            aggregator.health(),
            aggregator.latencies(),
        )

    def counters(self) -> GatewayCounters:
        """The same without what ends with the process: health and latencies."""
        return replace(self, health={}, latencies={})


NO_FIGURES = GatewayCounters({}, {}, Counter(), {}, {})


def merged(figures: Sequence[GatewayCounters]) -> GatewayCounters:
    """The sum of the counters, and the health of each replica as all gateways together see it."""
    if len(figures) == 1:
        return figures[0]
    ensembles = {
        key: _ensemble_sum([each.ensembles[key] for each in figures if key in each.ensembles])
        for key in {key for each in figures for key in each.ensembles}
    }
    members = {
        key: _member_sum([each.members[key] for each in figures if key in each.members])
        for key in {key for each in figures for key in each.members}
    }
    latencies = {
        key: LatencyWindow.merged([each.latencies[key] for each in _of_latest_epoch(figures, key)])
        for key in {key for each in figures for key in each.latencies}
    }
    health = {
        key: _merged_health([each.health[key] for each in figures if key in each.health], latencies.get(key))
        for key in {key for each in figures for key in each.health}
    }
    return GatewayCounters(ensembles, members, sum((each.dropped for each in figures), Counter()), health, latencies)


def adopt(counts: AggregatorCounts, figures: GatewayCounters) -> None:
    """Continue the counters of a gateway process that died.

    The requests that it had in flight got no answer: they count as canceled, and their parts as dropped.
    """
    for key, ensemble in figures.ensembles.items():
        ensemble.outcomes[Outcome.CANCELLED] += ensemble.in_flight
        ensemble.in_flight = 0
        counts.ensembles[key] = ensemble
    for replica_id, member in figures.members.items():
        member.dropped += member.pending
        member.pending = 0
        counts.members[replica_id] = member
    counts.dropped.update(figures.dropped)


def _ensemble_sum(counts: Sequence[EnsembleCounts]) -> EnsembleCounts:
    return EnsembleCounts(
        admitted=sum([each.admitted for each in counts]),
        in_flight=sum([each.in_flight for each in counts]),
        outcomes={outcome: sum([each.outcomes[outcome] for each in counts]) for outcome in Outcome},
        total_ms=_histogram_sum([each.total_ms for each in counts]),
    )


def _member_sum(counts: Sequence[MemberCounts]) -> MemberCounts:
    sums = {name: sum([getattr(each, name) for each in counts]) for name in _MEMBER_COUNTS}
    return MemberCounts(**sums, latency_ms=_histogram_sum([each.latency_ms for each in counts]))


def _histogram_sum(histograms: Sequence[Histogram]) -> Histogram:
    """The sum of histograms with the same buckets."""
    first, *others = histograms
    if not others:
        return replace(first, counts=first.counts.copy())
    counts = [sum(bucket) for bucket in zip(*[each.counts for each in histograms], strict=True)]
    return replace(first, counts=counts, sum=sum([each.sum for each in histograms]))


def _of_latest_epoch(figures: Sequence[GatewayCounters], key: int) -> list[GatewayCounters]:
    """The gateways with latencies of a replica, without those that know only an earlier process of it."""
    known = [each for each in figures if key in each.latencies]
    latest = max((each.health[key].epoch for each in known if key in each.health), default=0)
    return [each for each in known if key not in each.health or each.health[key].epoch == latest]


def _merged_health(health: Sequence[LinkHealth], window: LatencyWindow | None) -> LinkHealth:
    """The worst state, and figures over the replies to all gateways; those with an earlier epoch do not count."""
    epoch = max(each.epoch for each in health)
    known = [each for each in health if each.epoch == epoch]
    worst = max(known, key=lambda each: _BEST_FIRST.index(each.state))
    worse = sum(each.state is worst.state for each in known)
    reason = (
        f"{worst.reason} ({worse} of {len(known)} gateways)" if worst.reason and worse < len(known) else worst.reason
    )
    p50_ms, p99_ms = quantiles([] if window is None else window.times_ms, 0.5, 0.99)
    return replace(
        worst,
        reason=reason,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        late_share=0.0 if window is None else window.late_share,
        waiting=sum(each.waiting for each in known),
    )


# As JSON.


def to_json(figures: GatewayCounters) -> bytes:
    """For `from_json`, in a process of the same version."""
    return orjson.dumps(
        {
            "ensembles": [[*key, *_ensemble_values(each)] for key, each in figures.ensembles.items()],
            "members": [[key, *_member_values(each)] for key, each in figures.members.items()],
            "dropped": figures.dropped,
            "health": list(figures.health.values()),
            "latencies": [[key, each.times_ms, each.late, each.requests] for key, each in figures.latencies.items()],
        }
    )


def from_json(content: bytes) -> GatewayCounters:
    """Raises `ValueError` or `TypeError` for anything but the result of `to_json`, such as a part of it."""
    found: dict[str, Any] = orjson.loads(content)
    return GatewayCounters(
        {(ensemble_id, version): _ensemble_of(values) for ensemble_id, version, *values in found["ensembles"]},
        {replica_id: _member_of(values) for replica_id, *values in found["members"]},
        Counter(found["dropped"]),
        {each["replica_id"]: LinkHealth(**{**each, "state": MemberState(each["state"])}) for each in found["health"]},
        {replica_id: LatencyWindow(*values) for replica_id, *values in found["latencies"]},
    )


def _ensemble_values(counts: EnsembleCounts) -> Iterable[object]:
    outcomes = {outcome.value: count for outcome, count in counts.outcomes.items()}
    return counts.admitted, counts.in_flight, outcomes, counts.total_ms.counts, counts.total_ms.sum


def _ensemble_of(values: Sequence[Any]) -> EnsembleCounts:
    admitted, in_flight, outcomes, buckets, total = values
    return EnsembleCounts(
        admitted,
        in_flight,
        {outcome: outcomes[outcome.value] for outcome in Outcome},
        Histogram(counts=buckets, sum=total),
    )


def _member_values(counts: MemberCounts) -> Iterable[object]:
    return *[getattr(counts, name) for name in _MEMBER_COUNTS], counts.latency_ms.counts, counts.latency_ms.sum


def _member_of(values: Sequence[Any]) -> MemberCounts:
    *numbers, buckets, total = values
    return MemberCounts(
        **dict(zip(_MEMBER_COUNTS, numbers, strict=True)), latency_ms=Histogram(counts=buckets, sum=total)
    )
