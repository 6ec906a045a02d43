"""Opens the kept files of trials for downloads and previews; api."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import BinaryIO

from podium.api.http.service_context import ServiceContext
from podium.db.queries import trial_artifact_rows
from podium.db.queries.trial_artifact_rows import ArtifactRow
from podium.db.stores import trial_reader
from podium.db.stores.trial_reader import TrialRow
from podium.sweep.file_store import object_store_fetch_client
from podium.sweep.runtime.attempt_directory import ARTIFACTS
from podium.sweep.runtime.safe_file_reads import open_regular_in
from podium.sweep.values import logged_image_names
from podium.sweep.values.errors import NotFoundError

# Trials choose the names of their files: no path is allowed, except the folder of artifacts and that of images.
_NAME = re.compile(
    rf"({ARTIFACTS}/)?[A-Za-z0-9][A-Za-z0-9._-]{{0,199}}|{ARTIFACTS}/{logged_image_names.FOLDER}/[A-Za-z0-9._~-]{{1,220}}"
)


@dataclass(frozen=True, slots=True)
class KeptFile:
    """An open file of a trial."""

    trial: TrialRow
    row: ArtifactRow
    file: BinaryIO


def open_kept(service: ServiceContext, trial_id: int, name: str) -> KeptFile:
    """Raises `NotFoundError`, also if a trial has replaced part of it with a link, and `FileStoreError`."""
    with service.database.read() as connection:
        trial = trial_reader.get(connection, trial_id)
        artifacts = {each.name: each for each in trial_artifact_rows.artifacts_of(connection, trial_id)}
    if name not in artifacts or not _NAME.fullmatch(name):
        raise NotFoundError(f"trial {trial_id} has no file {name!r}")
    row = artifacts[name]
    if row.removed is not None:
        raise NotFoundError(f"{name} of trial {trial_id} has been removed: {row.removed}")
    folder = service.settings.data.attempt(trial.sweep_id, trial.number, row.attempt, row.nonce)
    object_store_fetch_client.ensure(service.settings.data, folder / name)
    try:
        return KeptFile(trial, row, open_regular_in(folder, name))
    except OSError as error:
        raise NotFoundError(f"{name} of trial {trial_id} is missing from the disk") from error
