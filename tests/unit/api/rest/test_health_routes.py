"""Liveness and readiness of the api: strangers learn a status and names, viewers the details."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from podium.api.client.client import Client
from podium.db.access.tokens import Role
from podium.sweep.values.errors import UnauthorizedError
from tests.service_rig import ServiceRig

PARTS: list[dict[str, Any]] = [
    {"name": "serve", "pid": os.getpid(), "state": "ready", "restarts": 0},
    {"name": "scheduler", "pid": os.getpid(), "state": "silent", "restarts": 2},
    {"name": "host", "pid": None, "state": "waiting", "restarts": 0},
]


def components(service: ServiceRig, parts: list[dict[str, Any]]) -> None:
    """Write what `serve` writes."""
    service.data.service_file.write_text(json.dumps({"parts": parts}))


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer made-up"}, {"Authorization": "Basic x"}], ids=str)
def test_stranger_learns_which_components_are_not_ready_and_nothing_else(
    service: ServiceRig, headers: dict[str, str]
) -> None:
    client = service.client(None)
    assert client.get("/healthz", headers=headers).json() == {"status": "ok"}
    components(service, PARTS)
    answer = client.get("/readyz", headers=headers)
    assert (answer.status_code, answer.json()) == (503, {"ready": False, "not_ready": ["scheduler", "host"]})
    components(service, PARTS[:1])
    answer = client.get("/readyz", headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"ready": True, "not_ready": []})


def test_node_and_many_wrong_tokens_get_the_answer_of_strangers(service: ServiceRig) -> None:
    components(service, PARTS[:1])
    stranger = service.client(None)
    for number in range(20):  # more than are answered with 401 in a minute
        answer = stranger.get("/readyz", headers={"Authorization": f"Bearer wrong-{number}"})
        assert (answer.status_code, answer.json()) == (200, {"ready": True, "not_ready": []})
    assert service.client(Role.NODE).get("/readyz").json() == {"ready": True, "not_ready": []}


@pytest.mark.parametrize("role", [Role.VIEWER, Role.SUBMITTER, Role.ADMIN])
def test_viewer_learns_processes_and_free_space(service: ServiceRig, role: Role) -> None:
    components(service, PARTS)
    answer = service.client(role).get("/readyz")
    assert answer.status_code == 503
    body = answer.json()
    assert (body["ready"], body["parts"]) == (False, PARTS)
    assert body["storage"]["free_bytes"] > 0


def test_client_reports_an_unknown_token_instead_of_missing_details(service: ServiceRig) -> None:
    components(service, PARTS[:1])
    with Client(service.settings.url, "", http=service.client(Role.VIEWER)) as client:
        assert client.ready()["parts"] == PARTS[:1]
    with (
        Client(service.settings.url, "", http=service.client(None)) as client,
        pytest.raises(UnauthorizedError, match="unknown, expired or revoked, or its role is not viewer or higher"),
    ):
        client.ready()
