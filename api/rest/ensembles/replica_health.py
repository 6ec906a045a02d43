"""Reads the health of replicas from any gateway process, which answers for all of them; api."""

from __future__ import annotations

import random
from pathlib import Path

import httpx2

from podium.api.http.service_context import ServiceContext
from podium.api.rest.ensembles.ensemble_schemas import Health
from podium.ensemble.protocol.gateway_http_client import BASE_URL, GatewayTransport

TIMEOUT_S = 0.5  # the gateway waits for the others for half of it


def replica_health(service: ServiceContext, timeout_s: float = TIMEOUT_S) -> Health:
    """The health of each replica by id; empty if no gateway process answers. `timeout_s`: for each process."""
    sockets = service.settings.gateway_sockets
    for socket in random.sample(sockets, len(sockets)):  # one that hangs does not delay every answer
        try:
            return _ask(service, socket, timeout_s)
        except (httpx2.HTTPError, OSError):
            continue
    return {}


def _ask(service: ServiceContext, socket: Path, timeout_s: float) -> Health:
    """What one process answers. Raises `httpx2.HTTPError` and `OSError`."""
    with httpx2.Client(
        transport=GatewayTransport([socket]), base_url=BASE_URL, timeout=timeout_s, trust_env=False
    ) as client:
        token = service.settings.data.admin_token.read_text().strip()
        answer = client.get("/api/v1/replicas", headers={"Authorization": f"Bearer {token}"})
    answer.raise_for_status()
    found: Health = answer.json()
    return found
