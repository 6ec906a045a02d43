"""The view of one trial with its attempts and artifacts, which several routes answer; api."""

from __future__ import annotations

from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.trial_schemas import TrialDetail
from podium.db.queries import attempt_reader, trial_artifact_rows
from podium.db.queries.trial_artifact_rows import ArtifactRow
from podium.db.stores import multi_device_attempt_ranks, trial_reader
from podium.db.stores.trial_reader import TrialRow
from podium.ensemble.building import saved_trial_outputs
from podium.sweep.runtime.attempt_directory import AttemptDirectory


def detail_of(service: ServiceContext, trial_id: int) -> TrialDetail:
    """One trial, with its attempts and artifacts. Raises `NotFoundError`."""
    with service.database.read() as connection:
        row = trial_reader.get(connection, trial_id)
        attempts = attempt_reader.attempts_of(connection, trial_id)
        ranks = multi_device_attempt_ranks.of_trial(connection, trial_id)
        artifacts = trial_artifact_rows.artifacts_of(connection, trial_id)
        cloned_from = trial_reader.cloned_from(connection, trial_id)
        times = attempt_reader.running_and_queued_s(connection, [trial_id])[trial_id]
    unfit = _unfit(service, row, artifacts)
    return TrialDetail.whole(row, attempts, ranks, artifacts, times=times, cloned_from=cloned_from, unfit=unfit)


def _unfit(service: ServiceContext, row: TrialRow, artifacts: list[ArtifactRow]) -> str | None:
    """Why the trial's network cannot join an ensemble; None if it can, or if there is none."""
    for artifact in artifacts:
        folder = service.settings.data.attempt(row.sweep_id, row.number, artifact.attempt, artifact.nonce)
        model = AttemptDirectory(folder).model
        if artifact.name == model.name and artifact.removed is None:
            return saved_trial_outputs.not_exportable_reason(model, service.settings.data)
    return None
