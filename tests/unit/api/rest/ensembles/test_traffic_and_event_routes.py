"""Traffic and events of an ensemble over REST."""

from __future__ import annotations

import time

from starlette.testclient import TestClient

from podium.db.stores import event_outbox
from podium.db.stores.event_outbox import NewEvent
from podium.ensemble.serving.aggregator_counts import EnsembleCounts
from podium.ensemble.serving.gateway_metrics import NO_FIGURES, GatewayCounters
from podium.ensemble.serving.traffic_history import TrafficHistory
from podium.ensemble.values.prediction import Outcome
from tests.service_rig import AT, ServiceRig, assert_problem


def ensemble(service: ServiceRig) -> int:
    sweep_id = service.sweep()
    return service.ensemble(sweep_id, [service.trial(sweep_id, number, 0.5) for number in range(2)])


def test_traffic_has_an_interval_for_each_minute_or_quarter(service: ServiceRig, client: TestClient) -> None:
    ensemble_id = ensemble(service)
    history, counts = TrafficHistory(), EnsembleCounts(admitted=3)
    counts.outcomes[Outcome.OK] = 3
    for _ in range(3):
        counts.total_ms.observe(2.5)
    now_s = time.time()
    history.record(NO_FIGURES, {}, now_s)
    history.record(GatewayCounters({(ensemble_id, 1): counts}, {}, NO_FIGURES.dropped, {}, {}), {}, now_s)
    service.settings.data.traffic_history.write_bytes(history.to_json())
    recent = client.get(f"/api/v1/ensembles/{ensemble_id}/traffic").json()
    assert (recent["interval_s"], len(recent["points"])) == (60, 15)
    assert sum(point["requests"] for point in recent["points"]) == 3
    day = client.get(f"/api/v1/ensembles/{ensemble_id}/traffic", params={"minutes": 1440}).json()
    assert (day["interval_s"], len(day["points"])) == (900, 96)
    last = next(point for point in reversed(day["points"]) if point["requests"])
    assert last["requests"] == 3 and 2 < last["p99_ms"] <= 3 and last["late_share"] is None
    assert day["points"][0] | {"at": ""} == {
        "at": "", "requests": 0, "degraded": 0, "failed": 0, "late_share": None, "p50_ms": None, "p99_ms": None,
    }  # fmt: skip


def test_unreadable_traffic_is_empty(service: ServiceRig, client: TestClient) -> None:
    ensemble_id = ensemble(service)
    service.settings.data.traffic_history.write_bytes(b"[1]")
    found = client.get(f"/api/v1/ensembles/{ensemble_id}/traffic").json()
    assert {point["requests"] for point in found["points"]} == {0}


def test_events_are_listed_newest_first(service: ServiceRig, client: TestClient) -> None:
    ensemble_id, other = ensemble(service), ensemble(service)
    with service.database.write() as connection:
        payload = {"version": 1, "members": [1], "reason": "killed by SIGKILL"}
        kind = "ensemble.member_restarting"
        event_outbox.add(connection, [NewEvent(AT + 5, kind, ensemble_id=ensemble_id, payload=payload)])
    client.post(f"/api/v1/ensembles/{ensemble_id}/stop")
    found = client.get(f"/api/v1/ensembles/{ensemble_id}/events").json()
    assert [event["kind"] for event in found] == ["stopped", "member_restarting", "building"]
    assert (found[1]["version"], found[1]["members"], found[1]["reason"]) == (1, [1], "killed by SIGKILL")
    assert len(client.get(f"/api/v1/ensembles/{ensemble_id}/events", params={"limit": 1}).json()) == 1
    assert [event["kind"] for event in client.get(f"/api/v1/ensembles/{other}/events").json()] == ["building"]
    assert_problem(client.get("/api/v1/ensembles/99/events"), 404, "99")
    assert_problem(client.get("/api/v1/ensembles/99/traffic"), 404, "99")
