"""Changes what users write about a sweep, and saves views; api."""

from __future__ import annotations

import time
from collections.abc import Mapping

from podium.api.http.service_context import ServiceContext
from podium.db.stores import saved_views, sweep_metadata
from podium.db.stores.saved_views import SavedView
from podium.db.stores.sweep_metadata import DetailChanges
from podium.sweep.values.sweep_metadata_checks import checked_project


def describe_sweep(service: ServiceContext, sweep_id: int, changes: DetailChanges, user: str) -> None:
    """Raises `NotFoundError`, `InvalidSpecError`, and `ConflictError` for the archive of a sweep that runs."""
    with service.database.write() as connection:
        sweep_metadata.change(connection, sweep_id, changes=changes, user=user, at=time.time())


def save_view(
    service: ServiceContext, *, project: str, name: str, tab: str, query: Mapping[str, str], owner: str
) -> SavedView:
    """Save a view; one of the same project and name is replaced. Raises `InvalidSpecError` and `ConflictError`."""
    at, project = time.time(), checked_project(project)
    with service.database.write() as connection:
        return saved_views.save(connection, project=project, name=name, tab=tab, query=query, owner=owner, at=at)


def delete_view(service: ServiceContext, view_id: int) -> SavedView:
    """Raises `NotFoundError`."""
    with service.database.write() as connection:
        return saved_views.remove(connection, view_id)
