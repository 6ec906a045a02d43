"""`/metrics` in Prometheus' text format: the counters of all gateway processes together, and each process; gateway.

Two identities hold in every scrape, summed over the labels: admitted = requests by outcome + in flight, and for each
replica sent = replies by status + pending. Only versions that answer now are listed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from podium.api.gateway.gateway_counter_totals import GatewayCounterTotals, GatewayShare, summed
from podium.api.http.authentication import viewer
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.aggregator_counts import EnsembleCounts, MemberCounts
from podium.ensemble.serving.gateway_metrics import GatewayCounters
from podium.ensemble.serving.latency_histogram import Histogram
from podium.ensemble.serving.replica_link import LinkHealth
from podium.ensemble.serving.replica_sets import workers_of
from podium.ensemble.values.ensemble_snapshot import Replica, Snapshot
from podium.ensemble.values.ensemble_states import MemberState

_ENSEMBLE = ("ensemble", "version")
_REPLICA = (*_ENSEMBLE, "member", "replica")
_STATUSES = ("ok", "late", "error", "died", "dropped")
_UP = frozenset({MemberState.READY, MemberState.SUSPECT})
_OPEN = frozenset({MemberState.OPEN, MemberState.HALF_OPEN})
DROPPED = ("late", "duplicate", "unknown", "stale_epoch", "garbled")


router = APIRouter(tags=["metrics"])


@router.get("/metrics", dependencies=[viewer])
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus, which sends the token with `authorization: {credentials_file: ...}`."""
    exchange: GatewayCounterTotals = request.app.state.gateway_counter_totals
    shares = await exchange.shares()
    snapshots = list(served_versions(request.app.state.aggregator))
    text = await asyncio.to_thread(lambda: exposition(Reading(snapshots, summed(shares)), ProcessReading(shares)))
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def exposition(*collectors: Collector) -> bytes:
    """The whole text. Slow with hundreds of replicas: run it in a thread."""
    registry = CollectorRegistry(auto_describe=False)
    for each in collectors:
        registry.register(each)
    return generate_latest(registry)


class Reading(Collector):
    """The figures of the versions that answer now."""

    def __init__(self, snapshots: Sequence[Snapshot], figures: GatewayCounters) -> None:
        self._ensembles = [
            (_labels(each), each, figures.ensembles.get(_key(each), EnsembleCounts())) for each in snapshots
        ]
        self._replicas = [
            (labels, figures.members.get(replica.replica_id, MemberCounts()), figures.health.get(replica.replica_id))
            for each in snapshots
            for labels, replica in _replicas(each)
        ]
        self._dropped = figures.dropped

    def collect(self) -> Iterator[Metric]:
        yield from _of_ensembles(self._ensembles)
        yield from _of_replicas(self._replicas)
        dropped = CounterMetricFamily(
            "podium_dropped_replies", "Replies of members that were discarded.", labels=["reason"]
        )
        for reason in sorted({*DROPPED, *self._dropped}):
            dropped.add_metric([reason], self._dropped[reason])
        yield dropped


class ProcessReading(Collector):
    """Processor time, memory and open files of each gateway process; several have the label `gateway`.

    A label, not a sum: a process that starts again would decrease it.
    """

    def __init__(self, shares: Sequence[GatewayShare]) -> None:
        self._shares = shares

    def collect(self) -> Iterator[Metric]:
        if len(self._shares) == 1:
            yield from _of_process(self._shares[0])
            return
        up = GaugeMetricFamily("podium_gateway_up", "1 if the gateway process told its figures.", labels=["gateway"])
        found: dict[str, Metric] = {}
        for share in self._shares:
            up.add_metric([share.name], share.answered)
            for metric in _of_process(share):
                labeled = found.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
                for sample in metric.samples:
                    labeled.add_sample(sample.name, {"gateway": share.name}, sample.value)
        yield up
        yield from found.values()


def _of_process(share: GatewayShare) -> Iterable[Metric]:
    """Nothing for a process that did not answer."""
    pid = share.pid
    return [] if pid is None else ProcessCollector(pid=lambda: pid, registry=None).collect()


def served_versions(aggregator: Aggregator) -> Iterator[Snapshot]:
    """The active and the canary versions."""
    for traffic in aggregator.ensembles.all():
        yield traffic.active
        if traffic.canary is not None:
            yield traffic.canary


def _key(snapshot: Snapshot) -> tuple[int, int]:
    return snapshot.ensemble_id, snapshot.version


def _labels(snapshot: Snapshot) -> list[str]:
    return [snapshot.name, str(snapshot.version)]


def _replicas(snapshot: Snapshot) -> Iterator[tuple[list[str], Replica]]:
    """Each process once, with its labels; `member` is `all` for a worker that runs all members."""
    for positions, replicas in workers_of(snapshot):
        member = str(snapshot.members[positions[0]].member_id) if len(positions) == 1 else "all"
        for replica in replicas:
            yield [*_labels(snapshot), member, str(replica.replica_id)], replica


def _of_ensembles(found: list[tuple[list[str], Snapshot, EnsembleCounts]]) -> Iterable[Metric]:
    admitted = CounterMetricFamily("podium_ensemble_admitted", "Requests admitted.", labels=_ENSEMBLE)
    outcomes = CounterMetricFamily("podium_ensemble_requests", "Requests by outcome.", labels=[*_ENSEMBLE, "outcome"])
    in_flight = GaugeMetricFamily("podium_ensemble_requests_in_flight", "Requests in flight.", labels=_ENSEMBLE)
    duration = HistogramMetricFamily(
        "podium_ensemble_request_duration_seconds", "From admission to outcome.", labels=_ENSEMBLE
    )
    members = GaugeMetricFamily("podium_ensemble_members", "Members of the version.", labels=_ENSEMBLE)
    quorum = GaugeMetricFamily("podium_ensemble_quorum", "Minimum number of replies for an answer.", labels=_ENSEMBLE)
    for labels, snapshot, counts in found:
        admitted.add_metric(labels, counts.admitted)
        for outcome, count in counts.outcomes.items():
            outcomes.add_metric([*labels, outcome.value], count)
        in_flight.add_metric(labels, counts.in_flight)
        duration.add_metric(labels, *_seconds(counts.total_ms))
        members.add_metric(labels, len(snapshot.members))
        quorum.add_metric(labels, snapshot.quorum)
    return (admitted, outcomes, in_flight, duration, members, quorum)


def _of_replicas(found: list[tuple[list[str], MemberCounts, LinkHealth | None]]) -> Iterable[Metric]:
    sent = CounterMetricFamily("podium_member_sent", "Requests sent.", labels=_REPLICA)
    replies = CounterMetricFamily("podium_member_replies", "Requests by reply status.", labels=[*_REPLICA, "status"])
    pending = GaugeMetricFamily("podium_member_pending", "Requests without a reply.", labels=_REPLICA)
    skipped = CounterMetricFamily(
        "podium_member_skipped", "Requests not sent: circuit breaker open, or queue full.", labels=_REPLICA
    )
    hedges = CounterMetricFamily("podium_member_hedges", "Hedged requests among those sent.", labels=_REPLICA)
    probes = CounterMetricFamily(
        "podium_member_probes", "Probes sent while the circuit breaker is open.", labels=_REPLICA
    )
    latency = HistogramMetricFamily("podium_member_latency_seconds", "From request to reply.", labels=_REPLICA)
    up = GaugeMetricFamily("podium_member_up", "1 if the replica receives requests, of every gateway.", labels=_REPLICA)
    opened = GaugeMetricFamily(
        "podium_member_breaker_open", "1 if the circuit breaker is open in any gateway.", labels=_REPLICA
    )
    for labels, counts, health in found:
        sent.add_metric(labels, counts.sent)
        for status in _STATUSES:
            replies.add_metric([*labels, status], getattr(counts, status))
        pending.add_metric(labels, counts.pending)
        skipped.add_metric(labels, counts.skipped)
        hedges.add_metric(labels, counts.hedges)
        probes.add_metric(labels, counts.probes)
        latency.add_metric(labels, *_seconds(counts.latency_ms))
        up.add_metric(labels, health is not None and health.state in _UP)
        opened.add_metric(labels, health is not None and health.state in _OPEN)
    return (sent, replies, pending, skipped, hedges, probes, latency, up, opened)


def _seconds(histogram: Histogram) -> tuple[list[tuple[str, float]], float]:
    """Cumulative counts by upper bound, and the sum, in seconds."""
    bounds = [*(repr(bound / 1000) for bound in histogram.buckets), "+Inf"]
    return list(zip(bounds, accumulate(histogram.counts), strict=True)), histogram.sum / 1000
