"""The timeline by trial over REST: queue and running time of each attempt, and the size of a large one."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert

from podium.db.schema.tables import attempt_ranks, attempts, trials
from podium.sweep.values.failure_causes import Cause
from tests.service_rig import AT, ServiceRig, assert_problem


def timeline(service: ServiceRig, sweep_id: int, **query: Any) -> dict[str, Any]:
    answer = service.client().get(f"/api/v1/sweeps/{sweep_id}/trial-timeline", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert len({len(column) for column in found["columns"].values()}) == 1
    return found


def add(service: ServiceRig, sweep_id: int, number: int, state: str, *rows: dict[str, Any], **changes: Any) -> int:
    """A trial in this state with these attempts; times are seconds after `AT`."""
    trial_id = sweep_id * 100_000 + number
    times = {name: None if value is None else AT + value for name, value in changes.items()}
    trial = {"id": trial_id, "sweep_id": sweep_id, "number": number, "state": state, "attempt": len(rows)}
    trial |= {"sampler": "random", "created_at": AT, "started_at": None, "ended_at": None, **times}
    with service.database.write() as connection:
        connection.execute(insert(trials), trial)
        for place, row in enumerate(rows, start=1):
            connection.execute(insert(attempts), {"trial_id": trial_id, "number": place, "device_id": "cpu-0", **row})
    return trial_id


def test_attempts_have_queue_start_and_end_relative_to_the_first_trial(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    first = service.trial(sweep_id, 0, 0.5)
    service.trial(sweep_id, 1, None, cause=Cause.NON_FINITE, device="cpu-1")
    service.trial(sweep_id, 2, None)
    found = timeline(service, sweep_id)
    assert (found["matching"], found["shown"], found["from_s"]) == (3, 3, AT)
    assert found["now_s"] > AT
    columns = found["columns"]
    assert columns["id"][0] == first
    assert columns["number"] == [0, 1, 2]
    assert columns["attempt"] == [1, 1, 1]
    assert columns["state"] == ["finished", "failed", "running"]
    assert columns["cause"] == [None, "non_finite", None]
    assert columns["device"] == ["cpu-0", "cpu-1", "cpu-0"]
    assert (columns["queued_s"], columns["start_s"]) == ([0.0] * 3, [1.0] * 3)
    assert columns["end_s"] == [3.0, 3.0, None]


def test_a_repeated_attempt_waits_from_the_end_of_the_one_before(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    lost = {"started_at": AT + 1, "ended_at": AT + 9, "device_s": 4.0, "state": "failed", "cause": "node_lost"}
    again = {"started_at": AT + 12, "ended_at": AT + 20, "device_s": 8.0, "state": "finished"}
    add(service, sweep_id, 0, "finished", lost, again, started_at=1, ended_at=20)
    add(service, sweep_id, 1, "waiting", lost, started_at=1)
    columns = timeline(service, sweep_id)["columns"]
    assert columns["number"] == [0, 0, 1, 1]
    assert columns["attempt"] == [1, 2, 1, 2]
    assert columns["state"] == ["failed", "finished", "failed", "waiting"]
    assert columns["queued_s"] == [0.0, 9.0, 0.0, 9.0]
    assert columns["start_s"] == [1.0, 12.0, 1.0, None]
    assert columns["end_s"] == [5.0, 20.0, 5.0, None], "an attempt ends when it leaves its device"


def test_trials_without_attempts_are_waiting_cancelled_or_imported(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    add(service, sweep_id, 0, "waiting")
    add(service, sweep_id, 1, "cancelled", ended_at=5)
    add(service, sweep_id, 2, "finished", started_at=2, ended_at=4)
    columns = timeline(service, sweep_id)["columns"]
    assert columns["attempt"] == [0, 0, 0]
    assert columns["device"] == [None] * 3
    assert columns["start_s"] == [None, None, 2.0]
    assert columns["end_s"] == [None, 5.0, 4.0]


def test_all_devices_of_an_attempt_are_named(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    gang = {"started_at": AT + 1, "devices": 2.0, "device_id": "gpu-1"}
    trial_id = add(service, sweep_id, 0, "running", gang, started_at=1)
    ranks = [("gpu-0", 1), ("gpu-1", 0)]
    with service.database.write() as connection:
        for device_id, rank in ranks:
            row = {"trial_id": trial_id, "number": 1, "rank": rank, "device_id": device_id, "started_at": AT + 1}
            connection.execute(insert(attempt_ranks), row)
    assert timeline(service, sweep_id)["columns"]["device"] == ["gpu-1, gpu-0"]


def test_the_filter_selects_trials(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(4):
        service.trial(sweep_id, number, number / 10, params={"lr": number + 1.0})
    assert timeline(service, sweep_id, filter="lr>2.5")["columns"]["number"] == [2, 3]
    assert timeline(service, sweep_id, filter="lr>9")["columns"]["number"] == []
    assert_problem(service.client().get("/api/v1/sweeps/99/trial-timeline"), 404, "99")


def test_ten_thousand_trials_are_small_and_more_are_a_sample_with_the_running_ones(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    count = 10_000
    ids = range(sweep_id * 100_000, sweep_id * 100_000 + count)
    planned: list[dict[str, Any]] = [
        {
            **{"id": id_, "sweep_id": sweep_id, "number": place, "state": "finished", "attempt": 1},
            **{"sampler": "tpe", "created_at": AT + 1.37 * place},
            **{"started_at": AT + 1.37 * place + 0.721, "ended_at": AT + 1.41 * place + 9.123},
        }
        for place, id_ in enumerate(ids)
    ]
    planned[-1] |= {"state": "running", "ended_at": None}
    ran: list[dict[str, Any]] = [
        {
            **{"trial_id": row["id"], "number": 1, "device_id": f"gpu-{row['number'] % 8}", "devices": 1.0},
            **{"started_at": row["started_at"], "ended_at": row["ended_at"], "state": row["ended_at"] and "finished"},
        }
        for row in planned
    ]
    with service.database.write() as connection:
        connection.execute(insert(trials), planned)
        connection.execute(insert(attempts), ran)
    path = f"/api/v1/sweeps/{sweep_id}/trial-timeline"
    with service.client().stream("GET", path) as answer:
        packed = b"".join(answer.iter_raw())
        assert answer.headers["content-encoding"] == "gzip"
    assert len(packed) < 200_000
    sample = timeline(service, sweep_id, max=1_000)
    assert (sample["matching"], sample["shown"]) == (count, 1_001)
    assert sample["columns"]["number"][:2] == [0, 10]
    assert sample["columns"]["state"][-1] == "running"
