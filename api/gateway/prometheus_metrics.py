"""`/metrics` in Prometheus' text format: the aggregator's counters and the process; gateway.

Two identities hold in every scrape, summed over the labels: admitted = requests by outcome + in flight, and for each
replica sent = replies by status + pending. Only versions that answer now are listed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from podium.api.http.authentication import viewer
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.aggregator_counts import EnsembleCounts, MemberCounts
from podium.ensemble.serving.histogram import Histogram
from podium.ensemble.serving.pending_request import workers_of
from podium.ensemble.serving.replica_link import LinkHealth
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
    text = await asyncio.to_thread(exposition, Reading(request.app.state.aggregator))
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def exposition(reading: Reading) -> bytes:
    """The whole text. Slow with hundreds of replicas: run it in a thread."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(reading)
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class Reading(Collector):
    """A consistent copy of an aggregator's counters, so that the identities hold."""

    def __init__(self, aggregator: Aggregator) -> None:
        counts, health = aggregator.counts, aggregator.health()
        snapshots = list(_snapshots(aggregator))
        self._ensembles = [
            (_labels(each), each, _ensemble_copy(counts.ensembles.get(_key(each), EnsembleCounts())))
            for each in snapshots
        ]
        self._replicas = [
            (
                labels,
                _member_copy(counts.members.get(replica.replica_id, MemberCounts())),
                health.get(replica.replica_id),
            )
            for each in snapshots
            for labels, replica in _replicas(each)
        ]
        self._dropped = counts.dropped.copy()

    def collect(self) -> Iterator[Metric]:
        yield from _of_ensembles(self._ensembles)
        yield from _of_replicas(self._replicas)
        dropped = CounterMetricFamily(
            "podium_dropped_replies", "Replies of members that were discarded.", labels=["reason"]
        )
        for reason in sorted({*DROPPED, *self._dropped}):
            dropped.add_metric([reason], self._dropped[reason])
        yield dropped


# Not `deepcopy`, which is several times slower and blocks the event loop.


def _ensemble_copy(counts: EnsembleCounts) -> EnsembleCounts:
    return replace(counts, outcomes=counts.outcomes.copy(), total_ms=_histogram_copy(counts.total_ms))


def _member_copy(counts: MemberCounts) -> MemberCounts:
    return replace(counts, latency_ms=_histogram_copy(counts.latency_ms))


def _histogram_copy(histogram: Histogram) -> Histogram:
    return replace(histogram, counts=histogram.counts.copy())


def _snapshots(aggregator: Aggregator) -> Iterator[Snapshot]:
    for traffic in aggregator.traffic():
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
    up = GaugeMetricFamily("podium_member_up", "1 if the replica receives requests.", labels=_REPLICA)
    opened = GaugeMetricFamily("podium_member_breaker_open", "1 if the circuit breaker is open.", labels=_REPLICA)
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
