"""Builds, previews and changes ensembles; api."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import Connection

from podium.api.http.service_context import ServiceContext
from podium.db.stores import devices, ensemble_reader, ensemble_writer, member_candidates, sweeps
from podium.db.stores.ensemble_reader import EnsembleRow, VersionRow
from podium.ensemble.building.ensemble_preview import ROWS, Preview, preview
from podium.ensemble.building.version_building import VersionBuilder
from podium.ensemble.values.ensemble_spec import EnsembleOptions, EnsembleRequest, VersionRequest, float16_problem
from podium.ensemble.values.member_candidate import TrialFiles
from podium.ensemble.values.new_version import NewVersion
from podium.sweep.runtime.weights_removal_lock import hold_weights
from podium.sweep.values.errors import EnsembleError


def build_ensemble(service: ServiceContext, request: EnsembleRequest) -> EnsembleRow:
    """Choose the members and store the ensemble, which the host then builds.

    Raises `NotFoundError` for an unknown sweep or trial, `EnsembleError`, and `ConflictError` for a name in use.
    """
    with hold_weights(service.settings.data):
        version = _decide(service, request)
        with service.database.write() as connection:
            sweep_id = _sweep_of(connection, request)
            ensemble_id = ensemble_writer.create(connection, request.name, sweep_id, version, at=time.time())
            row = ensemble_reader.get(connection, ensemble_id)
    service.wake("host")
    return row


def preview_ensemble(service: ServiceContext, request: EnsembleRequest, max_rows: int = ROWS) -> Preview:
    """What `build_ensemble` would choose, with its scores on at most `max_rows` rows; nothing is stored."""
    return preview(VersionBuilder(service.settings.data), request, _candidates(service, request), max_rows)


def add_version(service: ServiceContext, ensemble_id: int, request: VersionRequest) -> EnsembleRow:
    """Build another version of an ensemble. Raises as `build_ensemble` does."""
    with service.database.read() as connection:
        active = ensemble_reader.get(connection, ensemble_id).active
    with hold_weights(service.settings.data):
        version = _decide(service, request)
        _check_compatible(active, version)
        return change_ensemble(
            service,
            ensemble_id,
            lambda connection, at: ensemble_writer.add_version(
                connection, ensemble_id, version, request.canary_share, at=at
            ),
        )


def change_ensemble(
    service: ServiceContext, ensemble_id: int, change: Callable[[Connection, float], object]
) -> EnsembleRow:
    """Apply `change(connection, now)` and notify host and gateway. Raises what `change` raises."""
    with service.database.write() as connection:
        change(connection, time.time())
        row = ensemble_reader.get(connection, ensemble_id)
    service.wake("host")
    service.wake_gateways()
    return row


def check_precision(connection: Connection, options: EnsembleOptions) -> None:
    """Raises `EnsembleError` for a precision that no device of the service has."""
    has_gpu = any(device.kind == "gpu" for device in devices.all_of(connection))
    if problem := float16_problem(options, has_gpu=has_gpu):
        raise EnsembleError(f"precision: {problem}")


def _decide(service: ServiceContext, request: EnsembleRequest) -> NewVersion:
    with service.database.read() as connection:
        check_precision(connection, request)
    return VersionBuilder(service.settings.data).build(request, _candidates(service, request))


def _candidates(service: ServiceContext, request: EnsembleRequest) -> list[TrialFiles]:
    """The trials to choose from. Raises `NotFoundError` for an unknown sweep or trial."""
    with service.database.read() as connection:
        if request.trial_ids is not None:
            return member_candidates.named(connection, request.trial_ids)
        assert request.sweep_id is not None
        sweeps.get(connection, request.sweep_id)
        return member_candidates.of_sweep(connection, request.sweep_id)


def _sweep_of(connection: Connection, request: EnsembleRequest) -> int | None:
    """The sweep of all candidates; None if they come from several."""
    if request.trial_ids is None:
        return request.sweep_id
    found = {trial.sweep_id for trial in member_candidates.named(connection, request.trial_ids)}
    return found.pop() if len(found) == 1 else None


def _check_compatible(active: VersionRow, version: NewVersion) -> None:
    """All versions of an ensemble have the same inputs and outputs. Raises `EnsembleError`."""
    if (active.features, active.classes) != (version.features, version.classes):
        raise EnsembleError(
            f"the new version has {version.features} inputs and {len(version.classes)} outputs, the active version "
            f"{active.features} and {len(active.classes)}, or their names differ; build another ensemble"
        )
