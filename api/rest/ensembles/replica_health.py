"""Reads the health of replicas from the gateway; api."""

from __future__ import annotations

import httpx2

from podium.api.http.service_context import ServiceContext
from podium.api.rest.ensembles.ensemble_schemas import EnsembleView, Health
from podium.db.stores import ensemble_reader
from podium.ensemble.protocol.no_tls import NO_TLS

TIMEOUT_S = 0.5


def replica_health(service: ServiceContext) -> Health:
    """The health of each replica by id; empty while the gateway does not answer."""
    try:
        transport = httpx2.HTTPTransport(uds=str(service.settings.runtime.gateway_socket), verify=NO_TLS)
        with httpx2.Client(
            transport=transport, base_url="http://gateway", timeout=TIMEOUT_S, trust_env=False
        ) as client:
            token = service.settings.data.admin_token.read_text().strip()
            answer = client.get("/api/v1/replicas", headers={"Authorization": f"Bearer {token}"})
        found: Health = answer.json() if answer.status_code == 200 else {}
    except (httpx2.HTTPError, OSError):
        return {}
    return found


def ensemble_view(service: ServiceContext, ensemble_id: int) -> EnsembleView:
    """One ensemble with the health of its replicas. Raises `NotFoundError`."""
    with service.database.read() as connection:
        row = ensemble_reader.get(connection, ensemble_id)
    return EnsembleView.of(row, replica_health(service))
