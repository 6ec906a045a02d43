"""Downloads of a trial over REST: its log, its models, checkpoints and artifacts; api."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from podium.api.http.authentication import viewer
from podium.api.http.route_dependencies import RowId, context
from podium.api.http.service_context import ServiceContext
from podium.api.rest.schemas.query_parameters import AttemptNumber, Rank
from podium.api.rest.trials.trial_file_access import open_kept
from podium.db.queries import attempt_reader
from podium.db.stores import trial_reader
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.safe_file_reads import open_regular_in
from podium.sweep.values.errors import NotFoundError

router = APIRouter(prefix="/api/v1/trials", tags=["trials"])
CHUNK_BYTES = 256 << 10


@router.get("/{trial_id}/log/whole", dependencies=[viewer], response_class=StreamingResponse)
def download_log(
    trial_id: RowId,
    attempt: AttemptNumber = None,
    rank: Rank = 0,
    service: ServiceContext = context,
) -> StreamingResponse:
    """The stored output of an attempt as a file; by default of the current attempt."""
    with service.database.read() as connection:
        row = trial_reader.get(connection, trial_id)
        number = row.attempt if attempt is None else attempt
        nonce = attempt_reader.nonce_of(connection, trial_id, number)
    missing = f"attempt {number} of trial {trial_id} has no output yet"
    if nonce is None:
        raise NotFoundError(missing)
    log = AttemptDirectory(service.settings.data.attempt(row.sweep_id, row.number, number, nonce), rank).log
    of_rank = f"-rank-{rank}" if rank else ""
    name = f"sweep-{row.sweep_id}-trial-{row.number}-attempt-{number}{of_rank}.log"
    return _download(log.parent, log.name, saved_as=name, media_type="text/plain", missing=missing)


@router.get("/{trial_id}/files/{name:path}", dependencies=[viewer], response_class=StreamingResponse)
def download_file(trial_id: RowId, name: str, service: ServiceContext = context) -> StreamingResponse:
    """A file of a trial: its model, its predictions, or `artifacts/NAME`. 503 if its object store fails."""
    kept = open_kept(service, trial_id, name)
    saved_as = f"sweep-{kept.trial.sweep_id}-trial-{kept.trial.number}-{name.rpartition('/')[2]}"
    return _streamed(kept.file, saved_as=saved_as, media_type="application/octet-stream")


def _download(folder: Path, name: str, *, saved_as: str, media_type: str, missing: str) -> StreamingResponse:
    """The file up to its current size. Raises `NotFoundError`, also if a trial has replaced part of it with a link."""
    try:
        file = open_regular_in(folder, name)
    except OSError as error:
        raise NotFoundError(missing) from error
    return _streamed(file, saved_as=saved_as, media_type=media_type)


def _streamed(file: BinaryIO, *, saved_as: str, media_type: str) -> StreamingResponse:
    headers = {
        "Content-Disposition": f'attachment; filename="{saved_as}"',
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(_chunks(file), headers=headers, media_type=media_type)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        left = os.fstat(file.fileno()).st_size
        while left > 0 and (chunk := file.read(min(CHUNK_BYTES, left))):
            left -= len(chunk)
            yield chunk
