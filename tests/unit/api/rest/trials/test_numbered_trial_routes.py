"""Trials by their numbers: the trial itself, and ids for names and names for ids."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.service_rig import ServiceRig, assert_problem

V1 = "/api/v1"


@pytest.fixture
def two_sweeps(service: ServiceRig) -> None:
    first, second = service.sweep(), service.sweep()
    service.trial(first, 0, 0.5)
    service.trial(second, 0, 0.4)
    service.trial(second, 1, 0.3)


@pytest.mark.usefixtures("two_sweeps")
def test_a_trial_is_read_by_its_number(client: TestClient) -> None:
    found = client.get(f"{V1}/sweeps/2/trials/1").json()
    assert found == client.get(f"{V1}/trials/3").json()
    assert (found["id"], found["sweep_id"], found["number"]) == (3, 2, 1)


@pytest.mark.usefixtures("two_sweeps")
@pytest.mark.parametrize("path", ["sweeps/2/trials/2", "sweeps/9/trials/0"])
def test_a_missing_number_is_not_found(client: TestClient, path: str) -> None:
    assert_problem(client.get(f"{V1}/{path}"), 404, "there is no trial")


@pytest.mark.usefixtures("two_sweeps")
def test_names_and_ids_are_answered_in_order_and_once(client: TestClient) -> None:
    asked = {"trial": ["2.1", "1", "3", "9.9", "77", "2.01"]}
    found = client.get(f"{V1}/trial-names", params=asked).json()
    assert found == [{"id": 3, "sweep_id": 2, "number": 1}, {"id": 1, "sweep_id": 1, "number": 0}]


@pytest.mark.parametrize("name", ["", "x", "1.", ".1", "1.2.3", "-1"])
def test_what_names_no_trial_is_refused(client: TestClient, name: str) -> None:
    assert client.get(f"{V1}/trial-names", params={"trial": name}).status_code == 422
