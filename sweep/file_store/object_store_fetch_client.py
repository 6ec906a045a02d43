"""Makes files that are in the object store present in the data directory; every process of the head that reads them.

Only the nodes process has credentials and a client of the store: others ask it through a socket. Without an object
store, each function costs one look at the disk.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from podium.sweep.file_store.recorded_object_store_config import recorded
from podium.sweep.file_store.validated_file_keys import attempt_folder
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import FileStoreError, MissingFileError

TIMEOUT_S = 600.0  # for one request
REMOVED_AT_ONCE = 200  # paths in one request


def ensure(data: DataDirectory, path: Path) -> None:
    """Fetch a file of an attempt from the object store unless it is here; nothing if the store does not have it.

    Raises `FileStoreError` if the store cannot be used.
    """
    if os.path.lexists(path):
        return
    try:
        _ask(data, do="fetch", key=data.relative(path))
    except MissingFileError:
        return  # whoever reads it says so


def ensure_checkpoints(data: DataDirectory, folder: Path, attempt: int) -> None:
    """Fetch the checkpoint of the newest attempt before `attempt` that has one, of the trial with this `folder` of an
    attempt.

    Raises `FileStoreError`.
    """
    _ask(data, do="fetch_checkpoints", prefix=f"{data.relative(folder.parent)}/", attempt=attempt)


def header(data: DataDirectory, path: Path) -> dict[str, str] | None:
    """The metadata of a safetensors file that is only in the object store; None if it is here, or nowhere.

    Raises `FileStoreError`.
    """
    if os.path.lexists(path):
        return None
    try:
        reply = _ask(data, do="header", key=data.relative(path))
    except MissingFileError:
        return None
    return None if reply is None else dict(reply["metadata"])


def remove(data: DataDirectory, paths: Iterable[Path]) -> None:
    """Remove files, and all files in folders, from the object store. Raises `FileStoreError`."""
    if recorded(data) is None:
        return
    keys = [data.relative(path) for path in paths]
    for start in range(0, len(keys), REMOVED_AT_ONCE):
        _ask(data, do="remove", below=keys[start : start + REMOVED_AT_ONCE])


def remove_checkpoints(data: DataDirectory, folder: Path) -> None:
    """Remove all checkpoints of the trial with this `folder` of an attempt from the object store.

    Raises `FileStoreError`.
    """
    _ask(data, do="remove_checkpoints", prefix=f"{data.relative(folder.parent)}/")


def stored(data: DataDirectory, path: Path) -> tuple[int, str] | None:
    """Size and SHA-256 of a file in the object store; None if it is not there. Raises `FileStoreError`."""
    key = data.relative(path)
    sweep_id, number, _ = attempt_folder(key)
    reply = _ask(data, do="list", prefix=f"trials/{sweep_id}/{number}/")
    found = {} if reply is None else reply["files"]
    return (int(found[key][0]), str(found[key][1])) if key in found else None


def _ask(data: DataDirectory, **request: str | int | Sequence[str]) -> dict[str, Any] | None:
    """The reply of the nodes process; None without an object store. Raises `FileStoreError`."""
    record = recorded(data)
    if record is None:
        return None
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(TIMEOUT_S)
            connection.connect(record.socket)
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as answer:
                line = answer.readline()
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise FileStoreError(f"the files in {record.url} can only be read while the service runs: {reason}") from error
    if not line.endswith(b"\n"):
        raise FileStoreError(f"the process that reads {record.url} has ended; try again")
    reply: dict[str, Any] = json.loads(line)
    if "missing" in reply:
        raise MissingFileError(reply["missing"])
    if "error" in reply:
        raise FileStoreError(reply["error"])
    return reply
