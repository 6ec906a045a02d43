"""What is shown of a trial with several attempts is that of the last one: device, cause, message and peak memory."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from podium.db.schema.dialect import insert
from podium.db.schema.tables import attempts, trials
from podium.sweep.values.failure_causes import Cause
from tests.service_rig import ServiceRig

MB = 1 << 20
LAST = {
    "number": 2, "device_id": "gpu-7", "cause": Cause.DEVICE_MEMORY.value, "message": "the second one",
    "peak_memory_bytes": 700 * MB,
}  # fmt: skip


@pytest.fixture
def trial_id(service: ServiceRig) -> int:
    """A failed trial with two attempts, whose first one differs in everything."""
    trial_id = service.trial(service.sweep(), 0, None, cause=Cause.USER_ERROR, message="the first one")
    with service.database.write() as connection:
        first = connection.execute(select(attempts).where(attempts.c.trial_id == trial_id)).mappings().one()
        connection.execute(insert(attempts).values({**first, **LAST}))
        connection.execute(update(trials).where(trials.c.id == trial_id).values(attempt=2))
    return trial_id


def test_table_has_the_last_attempt(client: TestClient, trial_id: int) -> None:
    columns = client.get("/api/v1/sweeps/1/table").json()["columns"]
    shown = {name: columns[name] for name in ("id", "device", "cause", "error", "peak_memory_mb")}
    assert shown == {
        "id": [trial_id], "device": ["gpu-7"], "cause": ["device_memory"], "error": ["the second one"],
        "peak_memory_mb": [700.0],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("term", "matching"),
    [
        ("device:gpu-7", 1),
        ("device!=gpu-7", 0),
        ("cause:device_memory", 1),
        ("cause:user_error", 0),
        ('error:"the second one"', 1),
        ('error:"the first one"', 0),
        ("peak_memory_mb:700", 1),
    ],
)
@pytest.mark.usefixtures("trial_id")
def test_filters_apply_to_the_last_attempt(client: TestClient, term: str, matching: int) -> None:
    assert client.get("/api/v1/sweeps/1/table", params={"filter": term}).json()["matching"] == matching


def test_groups_of_failures_have_the_last_attempt(client: TestClient, trial_id: int) -> None:
    (group,) = client.get("/api/v1/sweeps/1/failures").json()["groups"]
    assert (group["cause"], group["message"], group["trial_ids"]) == ("device_memory", "the second one", [trial_id])
