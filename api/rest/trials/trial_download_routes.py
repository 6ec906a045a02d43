"""What a trial left, as files to save: its whole log, and its models and checkpoints; api."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from podium.api.http.authentication import viewer
from podium.api.http.route_context import RowId, ServiceContext, context
from podium.db.queries import trial_pages
from podium.db.stores import trial_rows
from podium.sweep.runtime.atomic_files import opened_in
from podium.sweep.runtime.layout import ARTIFACTS, AttemptDirectory
from podium.sweep.values.errors import NotFoundError

router = APIRouter(prefix="/api/v1/trials", tags=["trials"])
CHUNK_BYTES = 256 << 10
# Trials name their files: never a path, but for the folder of what they saved as artifacts.
_NAME = re.compile(rf"({ARTIFACTS}/)?[A-Za-z0-9][A-Za-z0-9._-]{{0,199}}")


@router.get("/{trial_id}/log/whole", dependencies=[viewer], response_class=StreamingResponse)
def download_log(
    trial_id: RowId,
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    service: ServiceContext = context,
) -> StreamingResponse:
    """All that is kept of what an attempt printed, as a file to save; the current attempt by default."""
    with service.database.read() as connection:
        row = trial_rows.get(connection, trial_id)
    number = row.attempt if attempt is None else attempt
    log = AttemptDirectory(service.settings.data.attempt(row.sweep_id, row.number, number)).log
    missing = f"attempt {number} of trial {trial_id} has printed nothing yet"
    return _sent(
        log.parent, log.name, f"sweep-{row.sweep_id}-trial-{row.number}-attempt-{number}.log", "text/plain", missing
    )


@router.get("/{trial_id}/files/{name:path}", dependencies=[viewer], response_class=StreamingResponse)
def download_file(trial_id: RowId, name: str, service: ServiceContext = context) -> StreamingResponse:
    """A file that a trial left: its model, its predictions, or `artifacts/NAME`, what it saved under a name."""
    with service.database.read() as connection:
        row = trial_rows.get(connection, trial_id)
        left = {each.name: each for each in trial_pages.artifacts_of(connection, trial_id)}
    if name not in left or not _NAME.fullmatch(name):
        raise NotFoundError(f"trial {trial_id} has left no file {name!r}")
    if left[name].removed is not None:
        raise NotFoundError(f"{name} of trial {trial_id} is not there any more: {left[name].removed}")
    folder = service.settings.data.attempt(row.sweep_id, row.number, left[name].attempt)
    missing = f"{name} of trial {trial_id} is not on the disk any more"
    saved_as = f"sweep-{row.sweep_id}-trial-{row.number}-{name.rpartition('/')[2]}"
    return _sent(folder, name, saved_as, "application/octet-stream", missing)


def _sent(folder: Path, name: str, saved_as: str, kind: str, missing: str) -> StreamingResponse:
    """The file as long as it is now; what a trial put in its place to lead elsewhere is not followed."""
    try:
        file = opened_in(folder, name)
    except OSError as error:
        raise NotFoundError(missing) from error
    headers = {
        "Content-Disposition": f'attachment; filename="{saved_as}"',
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(_chunks(file), headers=headers, media_type=kind)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        left = os.fstat(file.fileno()).st_size
        while left > 0 and (chunk := file.read(min(CHUNK_BYTES, left))):
            left -= len(chunk)
            yield chunk
