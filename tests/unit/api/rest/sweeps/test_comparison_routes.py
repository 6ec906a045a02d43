"""Several sweeps side by side: histories of the best value, and a joined table of trials."""

from __future__ import annotations

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from podium.db.access.tokens import Role
from podium.db.schema.tables import trials
from podium.sweep.values.failure_causes import Cause
from tests.service_rig import AT, ServiceRig, assert_problem

COMPARE = "/api/v1/compare"


@pytest.fixture
def two(service: ServiceRig) -> ServiceRig:
    """Sweep 1 has the trials 1 to 4, and sweep 2 the trials 5 to 7 with another parameter."""
    first = service.sweep(name="up")
    for number, value in enumerate((0.5, 0.4, 0.7, 0.7)):
        service.trial(first, number, value)
    second = service.sweep(name="down")
    service.trial(second, 0, 0.9, params={"width": 1})
    service.trial(second, 1, 0.8, params={"width": 2}, constraints={"c": 1.0})
    service.trial(second, 2, None, params={"width": 3}, cause=Cause.USER_ERROR)
    return service


def test_history_has_only_improvements(two: ServiceRig, client: TestClient) -> None:
    first, second = client.get(f"{COMPARE}/histories?sweep=1&sweep=2&sweep=1").json()
    assert [(one["number"], one["value"]) for one in first["improvements"]] == [(0, 0.5), (2, 0.7)]
    assert (first["trials"], first["metric"], first["goal"], first["name"]) == (4, "val_accuracy", "maximize", "up")
    assert [one["number"] for one in second["improvements"]] == [0]
    assert second["trials"] == 1  # neither the infeasible nor the failed one
    assert all(0 <= one["time_s"] <= first["last_s"] for one in first["improvements"])


def test_order_of_ends_may_differ_from_that_of_numbers(service: ServiceRig, client: TestClient) -> None:
    sweep_id = service.sweep()
    late, early = service.trial(sweep_id, 0, 0.5), service.trial(sweep_id, 1, 0.7)
    with service.database.write() as connection:
        connection.execute(update(trials).where(trials.c.id == late).values(ended_at=AT + 60))
    histories = {by: client.get(f"{COMPARE}/histories?sweep={sweep_id}&by={by}").json()[0] for by in ("number", "time")}
    found = {by: [one["trial_id"] for one in each["improvements"]] for by, each in histories.items()}
    assert found == {"number": [late, early], "time": [early]}
    assert histories["time"]["last_s"] > 50
    assert histories["number"]["last_number"] == 1


def test_table_has_chosen_trials_first_and_each_once(two: ServiceRig, client: TestClient) -> None:
    two.points(7, "loss", 3.0, 2.0)
    two.points(7, "other/metric", 1.0)
    found = client.get(f"{COMPARE}/trials?trial=7&trial=3&trial=999&sweep=1&sweep=2&best=2").json()
    assert [(row["sweep_name"], row["number"]) for row in found] == [
        ("down", 2), ("up", 2), ("up", 3), ("down", 0)
    ]  # fmt: skip
    failed, best = found[0], found[1]
    assert (failed["values"], failed["metrics"]) == ({}, {"loss": 2.0, "other/metric": 1.0})
    assert (failed["state"], failed["cause"], failed["params"]) == ("failed", "user_error", {"width": 3})
    assert (best["values"], best["params"], best["metrics"]) == ({"val_accuracy": 0.7}, {"lr": 0.01}, {})


def test_unknown_sweep_is_404_and_limits_hold(two: ServiceRig, client: TestClient) -> None:
    for route in ("histories", "trials"):
        assert_problem(client.get(f"{COMPARE}/{route}?sweep=9"), 404, "no sweep 9")
        assert client.get(f"{COMPARE}/{route}").json() == []
        many = "&".join(f"sweep={number}" for number in range(1, 22))
        assert client.get(f"{COMPARE}/{route}?{many}").status_code == 422
    assert two.client(Role.VIEWER).get(f"{COMPARE}/trials?trial=1").status_code == 200
