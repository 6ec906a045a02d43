"""Failures of a sweep over REST: groups by message with devices, location and log, bounded and filtered."""

from __future__ import annotations

import pytest
from sqlalchemy import true
from starlette.testclient import TestClient

from podium.db.queries.failure_groups import failure_groups
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.failure_causes import Cause
from tests.service_rig import ServiceRig, assert_problem

TRACEBACK = 'Traceback (most recent call last):\n  File "/app/train.py", line 12, in objective\nValueError: x\n'


@pytest.fixture
def sweep_id(service: ServiceRig) -> int:
    """Three failures to allocate on two devices, one other failure, one finished and one running trial."""
    sweep_id = service.sweep()
    for device in ("cpu-0", "cpu-1"):
        service.device(device)
    for number, (size, device) in enumerate([(20, "cpu-0"), (30, "cpu-1"), (4, "cpu-0")]):
        message = f"cannot allocate {size} MiB at 0x7f{number}a\nmore"
        cause = Cause.DEVICE_MEMORY
        params: Params = {"lr": 0.01, "size": size, "kind": "wide"}
        service.trial(
            sweep_id, number, None, cause=cause, device=device, message=message, traceback=TRACEBACK, params=params
        )
    service.trial(sweep_id, 3, None, cause=Cause.USER_ERROR, message="KeyError: 'lr'", params={"lr": 0.05})
    service.trial(sweep_id, 4, 0.5)
    service.trial(sweep_id, 5, None)
    return sweep_id


def test_failures_are_grouped_by_normalized_message(client: TestClient, sweep_id: int) -> None:
    found = client.get(f"/api/v1/sweeps/{sweep_id}/failures").json()

    assert (found["failed"], found["examined"]) == (4, 4)
    memory, other = found["groups"]
    assert (memory["cause"], memory["message"], memory["count"]) == (
        "device_memory",
        "cannot allocate <n> MiB at <address>",
        3,
    )
    assert memory["devices"] == {"cpu-0": 2, "cpu-1": 1}
    assert memory["params"] == {
        "lr": {"values": [0.01], "distinct": 1, "min": 0.01, "max": 0.01, "finished": None, "split": None},
        "size": {"values": [4, 30, 20], "distinct": 3, "min": 4.0, "max": 30.0, "finished": None, "split": None},
        "kind": {"values": ["wide"], "distinct": 1, "min": None, "max": None, "finished": None, "split": None},
    }
    assert (memory["first_number"], memory["first_message"]) == (0, "cannot allocate 20 MiB at 0x7f0a")
    assert memory["location"] == "train.py:12 in objective"
    assert len(memory["trial_ids"]) == 3
    assert memory["trial_ids"][-1] == memory["first_id"]
    assert (other["message"], other["count"], other["location"]) == ("KeyError: 'lr'", 1, None)


def test_the_filter_of_the_table_applies(client: TestClient, sweep_id: int) -> None:
    found = client.get(f"/api/v1/sweeps/{sweep_id}/failures", params={"filter": "lr>0.02"}).json()
    assert [group["message"] for group in found["groups"]] == ["KeyError: 'lr'"]
    assert_problem(client.get(f"/api/v1/sweeps/{sweep_id}/failures", params={"filter": "stat:x"}), 400, "stat")


def test_no_failures(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    found = client.get(f"/api/v1/sweeps/{sweep_id}/failures").json()
    assert found == {"failed": 0, "examined": 0, "groups": []}
    assert_problem(client.get("/api/v1/sweeps/99/failures"), 404)


def test_the_examined_trials_groups_and_ids_are_bounded(service: ServiceRig, sweep_id: int) -> None:
    with service.database.read() as connection:
        found = failure_groups(connection, sweep_id, true(), most_examined=3, most_groups=1, most_trials=1)
    assert (found.failed, found.examined) == (4, 3)
    (group,) = found.groups
    assert (group.count, len(group.trial_ids), group.first_number) == (2, 1, 1)


def test_range_of_a_parameter_has_the_number_of_finished_trials_in_it(client: TestClient, service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(6):
        params: Params = {"lr": 1.0 + number, "width": number, "kind": f"kind {number}"}
        service.trial(sweep_id, number, None, cause=Cause.NON_FINITE, message="nan", params=params)
    for number, lr in enumerate([0.5, 1.0, 3.5, 6.0, 6.5], 6):
        service.trial(sweep_id, number, 0.5, params={"lr": lr}, model=False)
    service.trial(sweep_id, 11, None, params={"lr": 4.0})

    def ranges(**query: str) -> dict[str, int | None]:
        (group,) = client.get(f"/api/v1/sweeps/{sweep_id}/failures", params=query).json()["groups"]
        return {name: summary["finished"] for name, summary in group["params"].items()}

    assert ranges() == {"lr": 3, "width": 0, "kind": None}
    assert ranges(filter="lr>=1.5 lr<7") == {"lr": 2, "width": 0, "kind": None}
    assert ranges(filter="lr>=4") == {"lr": None, "width": None, "kind": None}


def test_only_the_newest_finished_trials_are_counted(service: ServiceRig) -> None:
    sweep_id = service.sweep()
    for number in range(5):
        service.trial(sweep_id, number, None, cause=Cause.NON_FINITE, message="nan", params={"lr": 1.0 + number})
    for number in range(5, 20):
        service.trial(sweep_id, number, 0.5, params={"lr": 2.0}, model=False)
    with service.database.read() as connection:
        (group,) = failure_groups(connection, sweep_id, true(), most_examined=7).groups
    assert group.params["lr"].finished == 7


def test_ranges_are_apart_by_the_parameter_that_separates_failed_from_finished(
    client: TestClient, service: ServiceRig
) -> None:
    sweep_id = service.sweep()
    failed = [("sgd", lr) for lr in (3.0, 5.0, 6.0, 7.0, 9.0)] + [("adam", lr) for lr in (0.5, 1.0, 2.0, 3.0, 4.0, 8.0)]
    finished = [("sgd", lr) for lr in (0.5, 0.6, 1.0, 2.0, 4.0)] + [("adam", lr) for lr in (0.1, 0.4, 7.0)]
    for number, (optimizer, lr) in enumerate(failed + finished):
        params: Params = {"optimizer": optimizer, "lr": lr, "width": (32, 64)[number % 2]}
        if number < len(failed):
            service.trial(sweep_id, number, None, cause=Cause.NON_FINITE, message="nan", params=params)
        else:
            service.trial(sweep_id, number, 0.5, params=params, model=False)

    (group,) = client.get(f"/api/v1/sweeps/{sweep_id}/failures").json()["groups"]

    lr = group["params"]["lr"]
    assert (lr["min"], lr["max"], lr["finished"]) == (0.5, 9.0, 6)
    assert lr["split"] == {
        "parameter": "optimizer",
        "ranges": [
            {"value": "adam", "min": 0.5, "max": 8.0, "failed": 6, "finished": 1},
            {"value": "sgd", "min": 3.0, "max": 9.0, "failed": 5, "finished": 1},
        ],
    }


@pytest.mark.parametrize(
    ("failed", "finished"),
    [
        pytest.param(["a"] * 6 + ["b"] * 4, ["b"] * 6 + ["a"] * 4, id="a value with four failures"),
        pytest.param(["a", "b"] * 5, ["b", "a"] * 5, id="as many finished"),
        pytest.param(["a"] * 6, ["b"] * 6, id="one value"),
        pytest.param(["a", None] * 5, ["b"] * 10, id="trials without the parameter"),
        pytest.param(["a"] * 5 + ["b"] * 5, [], id="nothing finished"),
    ],
)
def test_ranges_are_not_apart_if_that_says_little(
    client: TestClient, service: ServiceRig, failed: list[str | None], finished: list[str | None]
) -> None:
    sweep_id = service.sweep()
    for number, kind in enumerate(failed):
        params: Params = {"lr": 1.0 + number} | ({} if kind is None else {"kind": kind})
        service.trial(sweep_id, number, None, cause=Cause.NON_FINITE, message="nan", params=params)
    for number, kind in enumerate(finished):
        service.trial(sweep_id, 20 + number, 0.5, params={"lr": 1.0 + number, "kind": kind or ""}, model=False)
    (group,) = client.get(f"/api/v1/sweeps/{sweep_id}/failures").json()["groups"]
    assert group["params"]["lr"]["split"] is None
