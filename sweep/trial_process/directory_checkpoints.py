"""Checkpoints that are folders, as in Ray: written atomically, loaded by the trial's next attempt; trial process."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values.errors import UserCodeError

_METADATA = "podium.json"
_DATA = "data"


@dataclass(frozen=True, slots=True)
class CheckpointFolder:
    """A saved checkpoint."""

    path: Path  # of the content that the user's code wrote
    iteration: int  # number of reports before it
    owner: str  # the trial that saved it
    progress: Mapping[str, Any] | None = None  # the reports, constraints and user attributes before it


def save(
    source: Path,
    directory: AttemptDirectory,
    iteration: int,
    owner: str,
    progress: Mapping[str, Any] | None = None,
) -> CheckpointFolder:
    """Copy a folder into the folder of the attempt atomically; replaces the previous checkpoint. Raises `OSError`."""
    folder = directory.checkpoint_folders
    folder.mkdir(exist_ok=True)
    before = _numbers(folder)
    number = max(before, default=0) + 1
    temporary = folder / f".{number}.tmp"
    try:
        shutil.copytree(source, temporary / _DATA)
        facts = {"iteration": iteration, "owner": owner, "progress": progress}
        (temporary / _METADATA).write_text(json.dumps(facts))
        _sync(temporary)
        temporary.rename(folder / str(number))
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    _sync_one(folder)
    for older in before:
        shutil.rmtree(folder / str(older), ignore_errors=True)
    return CheckpointFolder(folder / str(number) / _DATA, iteration, owner, progress)


def newest(directory: AttemptDirectory, attempt: int, owner: str, first: int = 1) -> CheckpointFolder | None:
    """The newest checkpoint of the trial's attempts from `first` to before `attempt`, the one of `directory`.

    Skips a checkpoint of another owner: a trial of the same number before a backup of the database was restored.
    """
    for earlier in directory.earlier(attempt, first):
        for found in _complete(earlier):
            if found.owner == owner:
                return found
    return None


def of_interval(directory: AttemptDirectory) -> CheckpointFolder:
    """The checkpoint at the end of an interval of a population. Raises `UserCodeError` if there is none."""
    for found in _complete(directory):
        return found
    raise UserCodeError(
        f"the checkpoint that the interval starts from cannot be loaded: {directory.checkpoint_folders}"
    )


def _complete(directory: AttemptDirectory) -> Iterator[CheckpointFolder]:
    """The readable checkpoints of an attempt, newest first."""
    for number in sorted(_numbers(directory.checkpoint_folders), reverse=True):
        folder = directory.checkpoint_folders / str(number)
        try:
            facts = json.loads((folder / _METADATA).read_text())
            found = CheckpointFolder(
                folder / _DATA, int(facts["iteration"]), str(facts["owner"]), facts.get("progress")
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"podium: skipping the checkpoint of attempt {directory.root.name}: {error}", file=sys.stderr)
            continue
        if found.path.is_dir():
            yield found


def _numbers(folder: Path) -> list[int]:
    try:
        return [int(path.name) for path in folder.iterdir() if path.name.isdecimal()]
    except OSError:
        return []


def _sync(folder: Path) -> None:
    """Sync files first, then the folders that contain them."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            _sync_one(Path(parent, name))
        _sync_one(Path(parent))


def _sync_one(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
