"""The filter `error`: trials that failed with a message, whatever the numbers and paths in it are."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from podium.sweep.values.failure_causes import Cause
from tests.service_rig import ServiceRig, assert_problem


@pytest.fixture
def failing(service: ServiceRig) -> None:
    sweep = service.sweep()
    service.trial(sweep, 0, 0.5)
    for number, message in enumerate(
        ["cannot allocate 20 MiB", "cannot allocate 300 MiB\nand more", "KeyError: 'lr'", "a*b", ""], start=1
    ):
        service.trial(sweep, number, None, cause=Cause.USER_ERROR, message=message)


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize(
    ("term", "numbers"),
    [
        ('error:"cannot allocate <n> MiB"', [1, 2]),
        ('error:"cannot allocate 7 MiB"', [1, 2]),
        ("error:*allocate*", [1, 2]),
        ("error:\"KeyError: 'lr'\"", [3]),
        ('error:"a*b"', [4]),
        ('error:"a.b"', []),
        ('error:""', [5]),
        ("error!=*allocate*", [3, 4, 5]),
        ("-error:*allocate*", [0, 3, 4, 5]),
    ],
)
def test_trials_are_found_by_their_message(client: TestClient, term: str, numbers: list[int]) -> None:
    found = client.get("/api/v1/sweeps/1/table", params={"filter": term}).json()
    assert found["columns"]["number"] == numbers


@pytest.mark.usefixtures("failing")
def test_each_group_of_failures_is_a_filter(client: TestClient) -> None:
    for group in client.get("/api/v1/sweeps/1/failures").json()["groups"]:
        text = group["message"].replace('"', '\\"')
        found = client.get("/api/v1/sweeps/1/table", params={"filter": f'cause:{group["cause"]} error:"{text}"'}).json()
        assert sorted(found["columns"]["id"]) == sorted(group["trial_ids"])


def test_a_comparison_is_refused(service: ServiceRig, client: TestClient) -> None:
    service.sweep()
    assert_problem(client.get("/api/v1/sweeps/1/table", params={"filter": "error>3"}), 400, "error:")
