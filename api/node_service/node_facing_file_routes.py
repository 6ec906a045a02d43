"""Files for nodes: bundles, data sets and checkpoints to read, files of running attempts to write; nodes process."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Body, Query, Request
from fastapi.responses import FileResponse, JSONResponse, Response

from podium.api.http.authentication import node
from podium.api.http.problem_details import ProblemType, problem
from podium.api.http.request_body import read_body, reads_own_body
from podium.api.http.route_dependencies import context, has_disk_space
from podium.api.http.service_context import ServiceContext
from podium.api.node_service.dataset_arrays_for_nodes import DatasetPreparation
from podium.api.node_service.file_hash_cache import FileHashes
from podium.db.queries import node_write_permission
from podium.sweep.file_store import validated_file_keys
from podium.sweep.file_store.https_store import PART_BYTES, SHA256
from podium.sweep.file_store.local_store import LocalFileStore
from podium.sweep.file_store.resumable_uploads import OffsetError, ResumableUploads, Upload
from podium.sweep.values.errors import BadRequestError, FileStoreError, MissingFileError, RefusedFileError

MAX_KEYS = 10_000  # of one removal
MAX_SIZE = 1 << 40  # bytes of a file
router = APIRouter(prefix="/internal/v1", dependencies=[node])


@router.get("/files")
def list_files(
    request: Request, prefix: Annotated[str, Query(max_length=validated_file_keys.MAX_KEY)]
) -> list[dict[str, str | int]]:
    """The files of a trial, `prefix` being `trials/SWEEP/NUMBER/`."""
    return [{"key": each.key, "size_bytes": each.size_bytes} for each in _store(request).list(prefix)]


@router.post("/files/remove")
def remove_checkpoints(
    request: Request, keys: Annotated[list[str], Body(embed=True, max_length=MAX_KEYS)]
) -> dict[str, int]:
    """Remove checkpoints: older ones of a running attempt, and those of a trial that has ended."""
    others = [key for key in keys if not validated_file_keys.is_checkpoint(key)]
    if others:
        raise BadRequestError(f"{others[0]!r} belongs to no checkpoint; nodes remove nothing else")
    _store(request).remove(keys)
    return {"removed": len(keys)}


@router.get("/files/{key:path}")
def read_file(request: Request, key: str) -> FileResponse:
    """A file, or the part that the header Range names. The header Podium-Sha256 is that of the complete file."""
    path = _store(request).path(key)
    hashes: FileHashes = request.app.state.hashes
    try:
        return FileResponse(path, headers={SHA256: hashes.sha256(path)}, media_type="application/octet-stream")
    except FileNotFoundError:
        raise MissingFileError(f"there is no file {key}") from None


@router.post("/files/permission")
def permit_file(
    key: Annotated[str, Body(embed=True, max_length=validated_file_keys.MAX_KEY)], service: ServiceContext = context
) -> dict[str, str]:
    """Whether a node may write a file to the object store. 409 if its attempt is over."""
    _check_attempt_runs(service, validated_file_keys.checked(key))
    return {"key": key}


@router.put("/files/{key:path}", dependencies=[has_disk_space])
@reads_own_body
async def write_file(
    request: Request,
    key: str,
    offset: Annotated[int, Query(ge=0, le=MAX_SIZE)],
    size_bytes: Annotated[int, Query(ge=0, le=MAX_SIZE)],
    sha256: Annotated[str, Query(pattern="[0-9a-f]{64}")],
    service: ServiceContext = context,
) -> Response:
    """One part of a file of a running attempt. 409 with `received` if it does not continue the part before."""
    content = await read_body(request, 2 * PART_BYTES, f"send parts of at most {PART_BYTES:,} bytes")
    uploads: ResumableUploads = request.app.state.uploads

    def add() -> int:
        _check_attempt_runs(service, key)
        return uploads.add(Upload(key, size_bytes, sha256), offset, content)

    try:
        return JSONResponse({"received": await asyncio.to_thread(add)})
    except OffsetError as error:
        return problem(ProblemType.CONFLICT, str(error), received=error.received)


@router.put("/logs/{key:path}", dependencies=[has_disk_space])
@reads_own_body
async def write_log(
    request: Request,
    key: str,
    offset: Annotated[int, Query(ge=0, le=MAX_SIZE)],
    service: ServiceContext = context,
) -> Response:
    """Write to a log of a running attempt from `offset` on, and end it there. 409 with `received` if it is shorter."""
    content = await read_body(request, 2 * PART_BYTES, f"send parts of at most {PART_BYTES:,} bytes")

    def write() -> int:
        _check_attempt_runs(service, key)
        path = _store(request).path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if path.exists() else "w+b") as file:
            size = file.seek(0, 2)
            if size < offset:
                raise OffsetError(size)
            file.truncate(offset)
            file.seek(offset)
            return offset + file.write(content)

    try:
        return JSONResponse({"received": await asyncio.to_thread(write)})
    except OffsetError as error:
        return problem(ProblemType.CONFLICT, str(error), received=error.received)


@router.post("/attempts/over")
def list_attempts_over(
    folders: Annotated[list[str], Body(embed=True, max_length=MAX_KEYS)], service: ServiceContext = context
) -> dict[str, list[str]]:
    """Those of these folders, like `trials/7/12/1-0a1b2c3d`, whose attempt is over, so that no node needs them."""
    attempts = [(folder, validated_file_keys.attempt_folder(f"{folder}/log")) for folder in folders]
    with service.database.read() as connection:
        over = [folder for folder, key in attempts if node_write_permission.state_on_node(connection, *key) == "over"]
    return {"over": over}


@router.post("/datasets")
async def prepare_dataset(
    request: Request, sweep_id: Annotated[int, Body(embed=True, ge=1)], service: ServiceContext = context
) -> dict[str, list[str]]:
    """The keys of the arrays of a sweep's data, which the head has read; the first request waits until it has."""
    preparation: DatasetPreparation = request.app.state.datasets
    return {"keys": await preparation.keys_of(service, sweep_id)}


def _store(request: Request) -> LocalFileStore:
    found: LocalFileStore = request.app.state.store
    return found


def _check_attempt_runs(service: ServiceContext, key: str) -> None:
    """Raises `RefusedFileError` if the attempt of a file is over: its results no longer count.

    Raises `FileStoreError` for an unknown attempt: the scheduler has not recorded it yet.
    """
    sweep_id, number, folder = validated_file_keys.attempt_folder(key)
    with service.database.read() as connection:
        state = node_write_permission.state_on_node(connection, sweep_id, number, folder)
    if state == "over":
        raise RefusedFileError(f"the attempt of {key} is over; the file is not needed")
    if state == "unknown":
        raise FileStoreError(f"the attempt of {key} is not recorded")
