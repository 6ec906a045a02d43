"""/metrics: Prometheus' own parser reads it, the identities hold in it, and removed versions disappear."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from podium.api.gateway.gateway_counter_totals import GatewayShare, summed
from podium.api.gateway.prometheus_metrics import DROPPED, ProcessReading, Reading, exposition, served_versions
from podium.ensemble.serving.aggregator import Aggregator
from podium.ensemble.serving.gateway_metrics import GatewayCounters
from podium.ensemble.values.ensemble_spec import Mode
from podium.ensemble.values.ensemble_states import MemberState
from podium.ensemble.values.prediction import MemberStatus, Outcome
from tests.inference_fakes import TOKEN, ScriptedAggregator, metrics_text, serving, snapshot, traffic

Labels = frozenset[tuple[str, str]]
Samples = dict[tuple[str, Labels], float]


def read(aggregator: Aggregator) -> Samples:
    """Every sample by its name and labels."""
    return samples_of(metrics_text(aggregator))


def samples_of(text: bytes) -> Samples:
    families = text_string_to_metric_families(text.decode())
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def total(samples: Samples, name: str, **labels: str) -> float:
    """The sum over all samples of a name that have these labels."""
    return sum(value for (found, having), value in samples.items() if found == name and set(labels.items()) <= having)


def values(samples: Samples, label: str, name: str) -> set[str]:
    return {dict(having)[label] for found, having in samples if found == name}


def request(aggregator: Aggregator, outcome: Outcome | None, total_ms: float = 7.0, version: int = 1) -> None:
    """One request as counted by the aggregator; None: still in flight."""
    counts = aggregator.counts.ensemble(1, version)
    counts.admitted += 1
    if outcome is None:
        counts.in_flight += 1
    else:
        counts.outcomes[outcome] += 1
        counts.total_ms.observe(total_ms)


def sent(aggregator: Aggregator, replica_id: int, status: MemberStatus | None) -> None:
    """One request to a replica and its status; UNAVAILABLE stands for a pending request."""
    counts = aggregator.counts.member(replica_id)
    counts.sent += 1
    counts.pending += 1
    if status is not MemberStatus.UNAVAILABLE:
        counts.record(status)


@pytest.fixture
def aggregator() -> ScriptedAggregator:
    """One ensemble of three members."""
    return ScriptedAggregator(traffic(snapshot('a "b"\n\\', members=3, up=2)))


def test_idle_gateway_has_zero_counts(aggregator: ScriptedAggregator) -> None:
    samples = read(aggregator)
    assert values(samples, "ensemble", "podium_ensemble_admitted_total") == {'a "b"\n\\'}
    assert values(samples, "outcome", "podium_ensemble_requests_total") == {outcome.value for outcome in Outcome}
    assert values(samples, "reason", "podium_dropped_replies_total") == set(DROPPED)
    assert total(samples, "podium_ensemble_requests_total") == 0
    assert total(samples, "podium_ensemble_quorum") == 2
    assert total(samples, "podium_ensemble_members") == 3
    assert total(samples, "podium_member_up") == 2
    assert total(samples, "process_resident_memory_bytes") > 0


def test_times_are_in_seconds(aggregator: ScriptedAggregator) -> None:
    for total_ms in (7.0, 7.0, 700_000.0):
        request(aggregator, Outcome.OK, total_ms)
    name = "podium_ensemble_request_duration_seconds"
    samples = read(aggregator)
    assert total(samples, f"{name}_sum") == pytest.approx(700.014)
    assert total(samples, f"{name}_count") == 3
    found = {le: total(samples, f"{name}_bucket", le=le) for le in ("0.006", "0.008", "600.0", "+Inf")}
    assert found == {"0.006": 0, "0.008": 2, "600.0": 2, "+Inf": 3}


@given(
    st.lists(st.sampled_from([*Outcome, None])),
    st.lists(st.tuples(st.sampled_from([110, 111, 112]), st.sampled_from([*MemberStatus, None]))),
)
def test_guarantee_15_identities_hold_in_the_metrics(
    outcomes: Iterable[Outcome | None], statuses: Iterable[tuple[int, MemberStatus | None]]
) -> None:
    aggregator = ScriptedAggregator(traffic(snapshot()))
    for outcome in outcomes:
        request(aggregator, outcome)
    for replica_id, status in statuses:
        sent(aggregator, replica_id, status)
    samples = read(aggregator)
    assert total(samples, "podium_ensemble_admitted_total") == (
        total(samples, "podium_ensemble_requests_total") + total(samples, "podium_ensemble_requests_in_flight")
    )
    for replica in ("110", "111", "112"):
        assert total(samples, "podium_member_sent_total", replica=replica) == (
            total(samples, "podium_member_replies_total", replica=replica)
            + total(samples, "podium_member_pending", replica=replica)
        )


def test_dropped_replies_are_counted_by_reason(aggregator: ScriptedAggregator) -> None:
    aggregator.counts.dropped["stale_epoch"] += 2
    aggregator.counts.dropped["a new reason"] += 1
    samples = read(aggregator)
    assert total(samples, "podium_dropped_replies_total", reason="stale_epoch") == 2
    assert total(samples, "podium_dropped_replies_total") == 3


def test_scrape_does_not_change_the_metrics(aggregator: ScriptedAggregator) -> None:
    reading = Reading(list(served_versions(aggregator)), GatewayCounters.of(aggregator))
    before = exposition(reading).decode()
    request(aggregator, Outcome.OK)
    sent(aggregator, 110, MemberStatus.OK)
    aggregator.counts.dropped["late"] += 1
    assert exposition(reading).decode() == before
    assert len(aggregator.counts.ensembles) == 1


def test_removed_version_is_not_listed() -> None:
    aggregator = ScriptedAggregator(traffic(snapshot(version=1), snapshot(version=2)))
    request(aggregator, Outcome.OK, version=1)
    assert values(read(aggregator), "version", "podium_ensemble_admitted_total") == {"1", "2"}
    aggregator.update([traffic(snapshot(version=2))])
    samples = read(aggregator)
    assert values(samples, "version", "podium_ensemble_admitted_total") == {"2"}
    assert values(samples, "replica", "podium_member_sent_total") == {"120", "121", "122"}


def test_in_graph_process_is_listed_once() -> None:
    samples = read(ScriptedAggregator(traffic(snapshot(mode=Mode.IN_GRAPH))))
    assert values(samples, "member", "podium_member_sent_total") == {"all"}
    assert values(samples, "replica", "podium_member_sent_total") == {"110"}


def test_open_breaker_is_reported(aggregator: ScriptedAggregator) -> None:
    aggregator.states = {110: MemberState.HALF_OPEN}
    samples = read(aggregator)
    assert total(samples, "podium_member_breaker_open", replica="110") == 1
    assert total(samples, "podium_member_up", replica="110") == 0
    assert total(samples, "podium_member_up") == 1


def test_several_gateways_are_summed_and_their_processes_labeled(aggregator: ScriptedAggregator) -> None:
    other = ScriptedAggregator(traffic(snapshot('a "b"\n\\', members=3, up=2)))
    for gateway in (aggregator, other):
        request(gateway, Outcome.OK)
        sent(gateway, 110, MemberStatus.OK)
        gateway.counts.dropped["late"] += 2
    other.states = {110: MemberState.OPEN}
    shares = [
        GatewayShare("gateway-1", os.getpid(), True, GatewayCounters.of(aggregator)),
        GatewayShare("gateway-2", None, False, GatewayCounters.of(other)),
    ]
    text = exposition(Reading(list(served_versions(aggregator)), summed(shares)), ProcessReading(shares))
    samples = samples_of(text)
    assert total(samples, "podium_ensemble_admitted_total") == 2
    assert total(samples, "podium_ensemble_request_duration_seconds_count") == 2
    assert total(samples, "podium_member_sent_total", replica="110") == 2
    assert total(samples, "podium_dropped_replies_total", reason="late") == 4
    assert (total(samples, "podium_ensemble_members"), total(samples, "podium_ensemble_quorum")) == (3, 2)
    assert total(samples, "podium_member_breaker_open", replica="110") == 1
    assert total(samples, "podium_member_up", replica="110") == 0
    assert total(samples, "podium_gateway_up", gateway="gateway-1") == 1
    assert total(samples, "podium_gateway_up") == 1
    assert values(samples, "gateway", "process_resident_memory_bytes") == {"gateway-1"}
    assert total(samples, "process_resident_memory_bytes", gateway="gateway-1") > 0


def test_route_requires_viewer_and_has_its_content_type(aggregator: ScriptedAggregator) -> None:
    stranger = TestClient(serving(aggregator))
    assert stranger.get("/metrics").status_code == 401
    answer = stranger.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert b"podium_ensemble_admitted_total" in answer.content
