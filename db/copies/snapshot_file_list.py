"""The files that a snapshot of the database names, and why some are gone; `podium backup`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from podium.db.copies.backup_manifest import RemovedFile
from podium.sweep.runtime.atomic_files import is_temporary
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.layout import DataDirectory

_NAMED = (
    "SELECT t.sweep_id, t.number, f.attempt, coalesce(a.nonce, '') AS nonce, f.trial_id, f.name, f.sha256, f.size_bytes"
    " FROM artifacts f JOIN trials t ON t.id = f.trial_id"
    " LEFT JOIN attempts a ON a.trial_id = f.trial_id AND a.number = f.attempt ORDER BY f.trial_id, f.name"
)
_ATTEMPTS = (
    "SELECT t.sweep_id, t.number, a.number AS attempt, a.nonce FROM attempts a JOIN trials t ON t.id = a.trial_id"
    " ORDER BY a.trial_id, a.number"
)
_REMOVED = "SELECT attempt, reason, at FROM removed_artifacts WHERE trial_id = :trial_id AND name = :name"
_REPLACED = "SELECT attempt FROM artifacts WHERE trial_id = :trial_id AND name = :name AND sha256 <> :sha256"


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file of a trial, with what the database says of it."""

    key: str
    trial_id: int
    name: str
    sha256: str
    size_bytes: int


def named_files(connection: Connection, data: DataDirectory) -> list[NamedFile]:
    """Models, predictions and artifacts of trials."""
    return [
        NamedFile(
            data.relative(data.attempt(row.sweep_id, row.number, row.attempt, row.nonce) / row.name),
            row.trial_id, row.name, row.sha256, row.size_bytes,
        )
        for row in connection.execute(text(_NAMED))
    ]  # fmt: skip


def other_files(connection: Connection, data: DataDirectory, *, datasets: bool) -> Iterator[Path]:
    """Other files of attempts (logs, checkpoints) and of evaluations, code, and with `datasets` prepared data."""
    for row in connection.execute(text(_ATTEMPTS)).all():
        folder = AttemptDirectory(data.attempt(*row))
        yield from _below(folder.root, {path.name for path in folder.leftovers()})
    for evaluation_id in connection.execute(text("SELECT id FROM evaluations ORDER BY id")).scalars().all():
        paths = (data.probabilities(evaluation_id), data.posted_rows(evaluation_id))
        yield from (path for path in paths if path.exists())
    for sha256 in sorted(_bundles(connection)):
        yield from (path for path in (data.bundle_archive(sha256),) if path.exists())
        yield from _below(data.bundle(sha256))
    if datasets:
        yield from _below(data.data_cache)


def data_sets(connection: Connection) -> Sequence[dict[str, Any]]:
    """The blocks `data` of the sweep files, each once: the data of the sweeps, and the state of its files."""
    blocks = (spec.get("program", {}).get("data") or spec.get("data") for spec in _specs(connection))
    return [json.loads(block) for block in sorted({json.dumps(block, sort_keys=True) for block in blocks if block})]


def removal_of(connection: Connection, file: NamedFile) -> RemovedFile | None:
    """Why the service has removed a file since the snapshot; None if it has not. `connection`: to the service's."""
    which = {"trial_id": file.trial_id, "name": file.name, "sha256": file.sha256}
    row = connection.execute(text(_REMOVED), {"trial_id": file.trial_id, "name": file.name}).first()
    if row is not None:
        return RemovedFile(file.key, row.reason, row.at, file.trial_id, file.name)
    if connection.execute(text(_REPLACED), which).first() is not None:
        return RemovedFile(file.key, "replaced by a later attempt", time.time(), file.trial_id, file.name)
    return None


def _bundles(connection: Connection) -> set[str]:
    found = (spec.get("program", {}).get("bundle") for spec in _specs(connection))
    return {bundle for bundle in found if bundle}


def _specs(connection: Connection) -> Iterator[dict[str, Any]]:
    for spec in connection.execute(text("SELECT spec FROM sweeps ORDER BY id")).scalars():
        yield json.loads(spec)


def _below(folder: Path, left_out: set[str] | None = None) -> Iterator[Path]:
    """The regular files below a folder, without temporary ones, and without the folders `left_out` in it."""
    for parent, folders, names in os.walk(folder):
        skipped = (left_out or set()) if Path(parent) == folder else set()
        folders[:] = sorted(name for name in folders if name not in skipped and not is_temporary(name))
        for name in sorted(names):
            path = Path(parent, name)
            if not is_temporary(name) and path.is_file() and not path.is_symlink():
                yield path
