"""Ensembles over REST: build, list, show, versions, start, stop; api."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query, Response
from sqlalchemy import Connection

from podium.api.http.authentication import submitter, viewer
from podium.api.http.route_dependencies import After, RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.ensembles.ensemble_response import ensemble_view
from podium.api.rest.ensembles.ensemble_schemas import EnsembleView
from podium.api.rest.ensembles.replica_health import replica_health
from podium.api.rest.schemas.base_schema import Page
from podium.api.use_cases import ensemble_building
from podium.db.stores import ensemble_reader, ensemble_writer
from podium.ensemble.values.ensemble_spec import EnsembleRequest, VersionRequest

router = APIRouter(prefix="/api/v1/ensembles", tags=["ensembles"])


@router.post("", status_code=201, dependencies=[submitter])
def build_ensemble(body: EnsembleRequest, response: Response, service: ServiceContext = context) -> EnsembleView:
    """Choose the members and build the ensemble; poll until `state` is `ready`."""
    row = ensemble_building.build_ensemble(service, body)
    response.headers["Location"] = f"/api/v1/ensembles/{row.id}"
    return EnsembleView.of(row)


@router.get("", dependencies=[viewer])
def list_ensembles(
    after: After = None, limit: Annotated[int, Query(ge=1, le=200)] = 50, service: ServiceContext = context
) -> Page[EnsembleView]:
    """List ensembles, newest first."""
    with service.database.read() as connection:
        rows = ensemble_reader.page(connection, after=after, limit=limit + 1)
    health = replica_health(service)
    items = [EnsembleView.of(row, health) for row in rows[:limit]]
    return Page(items=items, next=items[-1].id if len(rows) > limit else None)


@router.get("/{ensemble_id}", dependencies=[viewer])
def show_ensemble(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """One ensemble with its members, their replicas and their health."""
    return ensemble_view(service, ensemble_id)


# Versions and states.


@router.post("/{ensemble_id}/versions", status_code=201, dependencies=[submitter])
def add_version(ensemble_id: RowId, body: VersionRequest, service: ServiceContext = context) -> EnsembleView:
    """Build another version. It becomes active when ready, or receives a share of the requests as a canary."""
    return EnsembleView.of(ensemble_building.add_version(service, ensemble_id, body))


@router.post("/{ensemble_id}/promote", dependencies=[submitter])
def promote_canary(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """Make the canary the active version."""
    return _change(service, ensemble_id, ensemble_writer.promote)


@router.post("/{ensemble_id}/rollback", dependencies=[submitter])
def roll_back(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """Discard the version being built or the canary; otherwise return to the previous version when it is ready."""
    return _change(service, ensemble_id, ensemble_writer.roll_back)


@router.post("/{ensemble_id}/stop", dependencies=[submitter])
def stop_ensemble(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """Stop the members and release their devices. Without effect on a stopped ensemble."""
    return _change(service, ensemble_id, ensemble_writer.stop)


@router.post("/{ensemble_id}/start", dependencies=[submitter])
def start_ensemble(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """Start the members of a stopped ensemble; in a running one, restart failed replicas."""
    return _change(service, ensemble_id, ensemble_writer.start)


@router.post("/{ensemble_id}/retire", dependencies=[submitter])
def retire_ensemble(ensemble_id: RowId, service: ServiceContext = context) -> EnsembleView:
    """Stop the ensemble permanently; its evaluations are kept."""
    return _change(service, ensemble_id, ensemble_writer.retire)


def _change(
    service: ServiceContext, ensemble_id: int, change: Callable[[Connection, int, float], object]
) -> EnsembleView:
    row = ensemble_building.change_ensemble(
        service, ensemble_id, lambda connection, at: change(connection, ensemble_id, at)
    )
    return EnsembleView.of(row)
