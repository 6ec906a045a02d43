"""One ensemble with the health of its replicas; api."""

from __future__ import annotations

from podium.api.http.service_context import ServiceContext
from podium.api.rest.ensembles.ensemble_schemas import EnsembleView
from podium.api.rest.ensembles.replica_health import replica_health
from podium.db.stores import ensemble_reader


def ensemble_view(service: ServiceContext, ensemble_id: int) -> EnsembleView:
    """One ensemble with the health of its replicas. Raises `NotFoundError`."""
    with service.database.read() as connection:
        row = ensemble_reader.get(connection, ensemble_id)
    return EnsembleView.of(row, replica_health(service))
