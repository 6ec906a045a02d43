"""Attempts on several devices in the database: rows of ranks, recovery, devices, timeline, REST and the audit."""

from __future__ import annotations

import time

from sqlalchemy import text
from starlette.testclient import TestClient

from podium.db.integrity import row_checks
from podium.db.queries import scheduler_recovery
from podium.db.stores import attempt_totals, devices, multi_device_attempt_ranks
from podium.sweep.lifecycle.database_changes import AttemptEnded, AttemptPlaced, DeviceChanged, RankEnded, TrialPlanned
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.device import GangDevice
from podium.sweep.values.device_state import DeviceState
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import TrialState
from tests.service_rig import ServiceRig, nonce

KEY = AttemptKey(1, 1)
DEVICES = (GangDevice("cpu-0", "node"), GangDevice("cpu-1", "node"))


def _rank_end(rank: int, at: float) -> Ended:
    cause = Cause.SIGNAL if rank else Cause.CANCELLED
    state = TrialState.FAILED if rank else TrialState.CANCELLED
    return Ended(KEY, state, at, at, cause=cause, message="as played", exit="SIGKILL", pid=7)


def _gang(service: ServiceRig, at: float) -> int:
    """A running trial on two devices of a new sweep."""
    sweep_id = service.sweep()
    for position in range(3):
        change = DeviceChanged(f"cpu-{position}", "cpu", position, "node", "", None, 1, DeviceState.READY, "", at)
        service.commit(change)
    service.commit(
        TrialPlanned(1, sweep_id, 0, {"lr": 0.01}, "random", {}, at),
        AttemptPlaced(KEY, sweep_id, 0, "cpu-0", "node", at, nonce(0), DEVICES, width=2.0),
    )
    return sweep_id


def test_new_scheduler_reads_devices_and_the_ends_of_ranks(service: ServiceRig) -> None:
    now = time.time()
    sweep_id = _gang(service, now)
    service.commit(RankEnded(KEY, 1, _rank_end(1, now + 1)), RankEnded(KEY, 1, _rank_end(0, now + 2)))
    with service.database.read() as connection:
        (trial,) = scheduler_recovery.stored_trials(connection, sweep_id)
        assert [rank.device for rank in trial.ranks] == list(DEVICES)
        assert [rank.ended for rank in trial.ranks] == [None, _rank_end(1, now + 1)]
        assert multi_device_attempt_ranks.devices_of_trials(connection, [1]) == {1: ("cpu-0", "cpu-1")}
        assert [(row.id, row.trial_id) for row in devices.all_of(connection)] == [
            ("cpu-0", 1),
            ("cpu-1", 1),
            ("cpu-2", None),
        ]
        assert attempt_totals.device_s(connection, sweep_id, now + 10) == 20.0


def test_timeline_and_rest_show_all_devices_and_logs_of_ranks(service: ServiceRig, client: TestClient) -> None:
    at = time.time() - 60
    sweep_id = _gang(service, at)
    folder = service.attempt(sweep_id, 0)
    folder.prepare()
    for rank in range(2):
        AttemptDirectory(folder.root, rank).log.write_text(f"rank {rank}\n")
    service.commit(*(RankEnded(KEY, rank, _rank_end(rank, at + 10)) for rank in (1, 0)))
    ended = _rank_end(1, at + 10)
    service.commit(AttemptEnded(ended, sweep_id, 0, TrialState.FAILED, 20.0))
    with service.database.read() as connection:  # in the order of ranks, not in that of their ends
        assert multi_device_attempt_ranks.device_ids(connection, 1, 1) == ["cpu-0", "cpu-1"]
    found = client.get("/api/v1/timeline").json()["devices"]
    assert [(device["id"], device["bars"]["trial_id"]) for device in found] == [
        ("cpu-0", [1]),
        ("cpu-1", [1]),
        ("cpu-2", []),
    ]
    assert [device["busy_s"] for device in found[:2]] == [10.0, 10.0]
    (attempt,) = client.get("/api/v1/trials/1").json()["attempts"]
    assert [(rank["rank"], rank["device"], rank["state"], rank["cause"]) for rank in attempt["ranks"]] == [
        (0, "cpu-0", "cancelled", "cancelled"),
        (1, "cpu-1", "failed", "signal"),
    ]
    assert client.get("/api/v1/trials/1/log", params={"rank": 1}).text == "rank 1\n"
    assert client.get("/api/v1/trials/1/log").text == "rank 0\n"
    assert client.get("/api/v1/trials/1/log", params={"rank": 2}).status_code == 404
    whole = client.get("/api/v1/trials/1/log/whole", params={"rank": 1})
    assert (whole.text, "attempt-1-rank-1.log" in whole.headers["Content-Disposition"]) == ("rank 1\n", True)


def test_audit_finds_a_device_with_two_running_attempts_and_wrong_ranks(service: ServiceRig) -> None:
    now = time.time()
    sweep_id = _gang(service, now)
    with service.database.read() as connection:
        assert not [breach for breach in row_checks.breaches(connection) if breach.invariant == "devices"]
    other = AttemptKey(2, 1)
    service.commit(
        TrialPlanned(2, sweep_id, 1, {"lr": 0.01}, "random", {}, now),
        AttemptPlaced(other, sweep_id, 1, "cpu-1", "node", now + 1, nonce(1)),
    )
    with service.database.write() as connection:
        wrong = [breach for breach in row_checks.breaches(connection) if breach.invariant == "devices"]
        assert any(breach.rows.get("trial_id") == 2 and "before another attempt" in breach.wrong for breach in wrong)
        connection.execute(text("DELETE FROM attempt_ranks WHERE rank = 1"))
        wrong = [breach for breach in row_checks.breaches(connection) if breach.invariant == "devices"]
        assert any("devices, with 1 ranks" in breach.wrong for breach in wrong)
