"""What attempts used in the database: coarser with age, with peaks; over REST, in tables and in the audit."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from podium.db.integrity import row_checks
from podium.db.stores import attempt_usage
from podium.sweep.lifecycle.database_changes import AttemptPlaced, TrialPlanned, UsageSampled
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.device import GangDevice
from podium.sweep.values.slot_events import Sampled
from podium.sweep.values.usage_samples import UsageSample
from tests.service_rig import AT, ServiceRig, assert_problem, nonce

V1 = "/api/v1"
MB = 1 << 20
LIMIT = 4096 * MB


def _sample(at: float, memory_mb: int = 100, span_s: float = 1.0, gpu_mb: int | None = None) -> UsageSample:
    percent = None if gpu_mb is None else 50.0
    gpu = None if gpu_mb is None else gpu_mb * MB
    return UsageSample(at, span_s, 0.5, memory_mb * MB, MB, 0, percent, gpu)


def _sampled(trial_id: int, *samples: UsageSample, attempt: int = 1, rank: int = 0) -> UsageSampled:
    return UsageSampled(Sampled(AttemptKey(trial_id, attempt), samples, rank, LIMIT, None))


def _rows(service: ServiceRig, trial_id: int, attempt: int = 1) -> list[UsageSample]:
    with service.database.read() as connection:
        return attempt_usage.of_attempt(connection, trial_id, attempt).get(0, [])


def _wrong(service: ServiceRig) -> list[str]:
    with service.database.read() as connection:
        return [breach.wrong for breach in row_checks.breaches(connection) if breach.invariant == "usage"]


def _run(service: ServiceRig, trial_id: int, seconds: int, first: float = AT) -> None:
    batch: list[UsageSampled] = []
    for start in range(0, seconds, 5):
        samples = (_sample(first + second + 1, 100 + (second == 7) * 50) for second in range(start, start + 5))
        batch.append(_sampled(trial_id, *samples))
    service.commit(*batch)


@pytest.mark.slow
@pytest.mark.sqlite
def test_newest_rows_are_fine_and_all_rows_bounded(service: ServiceRig) -> None:
    trial = service.trial(service.sweep(), 0, None)
    seconds = 26 * 3600
    _run(service, trial, seconds)
    rows = _rows(service, trial)
    assert len(rows) < 2_100
    assert [row.span_s for row in rows[-110:]] == [1.0] * 110
    assert rows[-300].span_s == 10.0
    assert rows[-1000].span_s == 60.0
    assert rows[1].span_s == 600.0
    assert sum(row.span_s for row in rows) == seconds
    assert sum(row.read_bytes for row in rows) == seconds * MB
    assert max(row.memory_bytes for row in rows) == 150 * MB
    assert [row.at for row in rows] == sorted(row.at for row in rows)
    assert _wrong(service) == []


def test_samples_that_are_sent_again_count_once(service: ServiceRig) -> None:
    trial = service.trial(service.sweep(), 0, None)
    _run(service, trial, 300)
    before = _rows(service, trial)
    _run(service, trial, 300)
    assert _rows(service, trial) == before


def test_early_attempts_of_many_become_coarse(service: ServiceRig) -> None:
    trial = service.trial(service.sweep(), 0, None)
    for attempt in range(1, 11):
        first = AT + 100 * attempt
        service.commit(_sampled(trial, *(_sample(first + second) for second in range(50)), attempt=attempt))
    counts = [len(_rows(service, trial, attempt)) for attempt in range(1, 11)]
    assert counts[2:] == [50] * 8
    assert all(count <= 2 for count in counts[:2])


def test_ranks_add_up(service: ServiceRig, client: TestClient) -> None:
    sweep_id, key, now = service.sweep(), AttemptKey(1, 1), time.time()
    devices = (GangDevice("cpu-0", "node"), GangDevice("cpu-1", "node"))
    service.commit(
        TrialPlanned(1, sweep_id, 0, {"lr": 0.01}, "random", {}, now),
        AttemptPlaced(key, sweep_id, 0, "cpu-0", "node", now, nonce(0), devices, width=2.0),
        _sampled(1, _sample(now + 1, 100), _sample(now + 2, 300)),
        _sampled(1, _sample(now + 1.5, 1000, gpu_mb=64), rank=1),
        _sampled(1, _sample(now + 3, 200)),
    )
    shown = client.get(f"{V1}/trials/1").json()
    assert (shown["peak_memory_mb"], shown["peak_gpu_memory_mb"]) == (1300.0, 64.0)
    assert [rank["peak_memory_mb"] for rank in shown["attempts"][0]["ranks"]] == [300.0, 1000.0]
    usage = client.get(f"{V1}/trials/1/usage").json()
    assert usage["total"]["memory_mb"] == [1100.0, 1300.0, 1200.0]
    assert usage["memory_limit_mb"] == 4096.0
    assert [(rank["device"], rank["samples"]["memory_mb"]) for rank in usage["ranks"]] == [
        ("cpu-0", [100.0, 300.0, 200.0]),
        ("cpu-1", [1000.0]),
    ]
    assert _wrong(service) == []


def test_usage_of_a_trial_is_shown_over_time(service: ServiceRig, client: TestClient) -> None:
    trial = service.trial(service.sweep(), 0, None)
    assert client.get(f"{V1}/trials/{trial}/usage").json()["total"]["at"] == []
    _run(service, trial, 100)
    usage = client.get(f"{V1}/trials/{trial}/usage?max_points=20").json()
    assert len(usage["total"]["at"]) == 20
    assert usage["total"]["read_mb_s"] == [1.0] * 20
    assert usage["total"]["gpu_percent"] == [None] * 20
    assert max(usage["total"]["memory_mb"]) == 150.0
    assert usage["ranks"] == []
    assert_problem(client.get(f"{V1}/trials/99/usage"), 404, "no trial 99")


def test_trials_are_filtered_and_sorted_by_peak_memory(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    ids = [service.trial(sweep_id, number, 0.5) for number in range(4)]
    for number, memory_mb in enumerate((300, 100, 200)):
        service.commit(_sampled(ids[number], _sample(AT + 1, memory_mb)))

    def numbers(**params: str) -> list[int]:
        found: list[int] = client.get(f"{V1}/sweeps/{sweep_id}/table", params=params).json()["columns"]["number"]
        return found

    assert numbers(sort="-peak_memory_mb") == [0, 2, 1, 3]
    assert numbers(filter="peak_memory_mb>=200") == [0, 2]
    assert numbers(filter="peak_memory_mb:50..150") == [1]
    assert numbers(filter="peak_gpu_memory_mb>0") == []
    table = client.get(f"{V1}/sweeps/{sweep_id}/table").json()["columns"]
    assert table["peak_memory_mb"] == [300.0, 100.0, 200.0, None]
    page = client.get(f"{V1}/sweeps/{sweep_id}/trials", params={"sort": "peak_memory_mb", "limit": 2}).json()
    rest = client.get(f"{V1}/sweeps/{sweep_id}/trials", params={"sort": "peak_memory_mb", "after": page["next"]})
    assert [item["number"] for item in page["items"] + rest.json()["items"]] == [1, 2, 0, 3]
    lines = client.get(f"{V1}/sweeps/{sweep_id}/export.csv").text.splitlines()
    assert lines[1].split(",")[lines[0].split(",").index("peak_memory_mb")] == "300.0"


def test_usage_of_devices_in_a_time_range(service: ServiceRig, client: TestClient) -> None:
    service.device("cpu-0")
    trial = service.trial(service.sweep(), 0, None)
    _run(service, trial, 100)
    answer = client.get(f"{V1}/timeline/usage", params={"from_s": AT + 20, "to_s": AT + 60, "points": 10}).json()
    (device,) = answer["devices"]
    assert device["id"] == "cpu-0"
    assert len(device["at"]) == 10
    assert [round(at - since) for since, at in zip(device["since"], device["at"], strict=True)] == [4] * 10
    assert set(device["memory_mb"]) == {100.0} and set(device["cpu_cores"]) == {0.5}
    assert client.get(f"{V1}/timeline/usage", params={"from_s": AT + 200, "to_s": AT + 210}).json()["devices"] == []
    assert_problem(client.get(f"{V1}/timeline/usage", params={"from_s": AT + 2, "to_s": AT}), 400, "before")


def test_old_samples_of_a_device_follow_each_other(service: ServiceRig, client: TestClient) -> None:
    service.device("cpu-0")
    _run(service, service.trial(service.sweep(), 0, None), 300)
    span = {"from_s": AT - 1, "to_s": AT + 600, "points": 601}
    (device,) = client.get(f"{V1}/timeline/usage", params=span).json()["devices"]
    widths = [round(at - since) for since, at in zip(device["since"], device["at"], strict=True)]
    assert 10 in widths and 1 in widths
    assert device["since"][1:] == device["at"][:-1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE attempt_usage SET number = 7", "no such attempt"),
        ("UPDATE attempt_usage SET rank = 3", "samples of rank 3"),
        ("UPDATE attempt_usage SET read_bytes = -1", "negative"),
        ("UPDATE attempts SET peak_memory_bytes = 5", "its peak is 5 bytes"),
    ],
)
def test_audit_finds_wrong_samples(service: ServiceRig, change: str, words: str) -> None:
    trial = service.trial(service.sweep(), 0, None)
    service.commit(_sampled(trial, _sample(AT + 1)))
    assert _wrong(service) == []
    with service.database.write() as connection:
        connection.execute(text(change))
    assert any(words in wrong for wrong in _wrong(service))
