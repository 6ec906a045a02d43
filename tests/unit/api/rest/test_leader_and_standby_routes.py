"""The services of one database over REST: which one leads, and which stand by."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from podium.db.access.tokens import Role
from podium.db.stores import leader_lease
from podium.db.stores.leader_lease import Contender
from tests.service_rig import ServiceRig


def services(service: ServiceRig) -> dict[str, Any]:
    answer = service.client(Role.VIEWER).get("/api/v1/services")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def test_service_on_sqlite_leads_without_a_lease(service: ServiceRig) -> None:
    found = services(service)
    assert found["standbys"] == [] and found["leader"]["answers"] and found["leader"]["epoch"] == 0


@pytest.fixture
def standby(tmp_path: Path) -> Iterator[ServiceRig]:
    """A service that stands by, as its settings say."""
    rig = ServiceRig(tmp_path)
    rig.settings = replace(rig.settings, database_url_file="/run/database.url", holder="b-1")
    yield rig
    rig.close()


def test_leader_and_standby_are_told_apart(standby: ServiceRig) -> None:
    assert services(standby) == {"leader": None, "standbys": []}
    with standby.database.write() as connection:
        assert leader_lease.take(connection, Contender("a-1", "alpha", "http://10.0.0.5:8300", "ray")) == 2
        leader_lease.stand_by(connection, Contender("b-1", "beta", "http://10.0.0.6:8300", "ray"))
    found = services(standby)
    leader, (waiting,) = found["leader"], found["standbys"]
    assert (leader["host"], leader["url"], leader["epoch"]) == ("alpha", "http://10.0.0.5:8300", 2)
    assert (leader["answers"], leader["expired"], waiting["answers"]) == (False, False, True)
    assert (waiting["host"], waiting["url"]) == ("beta", "http://10.0.0.6:8300")
    assert 0 <= leader["renewed_s"] < 10 and 0 <= waiting["seen_s"] < 10


def test_strangers_learn_nothing_of_services(service: ServiceRig) -> None:
    assert service.client(None).get("/api/v1/services").status_code == 401


def test_standby_is_ready_although_scheduler_and_host_wait(service: ServiceRig) -> None:
    parts = [
        {"name": name, "pid": os.getpid(), "state": state, "restarts": 0}
        for name, state in (("api", "ready"), ("scheduler", "standby"), ("host", "standby"))
    ]
    service.data.service_file.write_text(json.dumps({"parts": parts}))
    answer = service.client(None).get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"ready": True, "not_ready": []})
