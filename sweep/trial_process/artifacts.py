"""Artifacts of a trial: copies of its files, written atomically, limited in number and size; trial process."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.values import logged_image_names
from podium.sweep.values.errors import UserCodeError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_MB = 1 << 20


@dataclass(frozen=True, slots=True)
class ArtifactLimits:
    """Limits on the artifacts of one attempt."""

    files: int = 100
    bytes: int = 512 << 20  # in total


LIMITS = ArtifactLimits()


def save(
    directory: AttemptDirectory, source: Path, name: str | None = None, *, limits: ArtifactLimits = LIMITS
) -> Path:
    """Save a copy of a file, or a zip archive of a folder; replaces an artifact of the same name.

    Raises `UserCodeError` for an invalid name or above a limit, and `OSError`.
    """
    what = f"save_artifact({str(source)!r})"
    mode = _mode(source, what)
    folder = stat.S_ISDIR(mode)
    target = directory.artifacts / _checked(name or (f"{source.name}.zip" if folder else source.name), what)
    size = sum(map(_size, _files(source))) if folder else source.stat().st_size
    _check_limits(target, size, what, limits)
    directory.artifacts.mkdir(exist_ok=True)
    temporary = directory.root / f".artifact.{os.getpid()}.tmp"  # removed by the slot if this process is killed
    try:
        with temporary.open("wb") as file:
            _zip(source, file) if folder else _copy(source, file)
            file.flush()
            os.fsync(file.fileno())
        _check_limits(target, temporary.stat().st_size, what, limits)  # the source may have grown in the meantime
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def folder_of_script(directory: AttemptDirectory) -> Path:
    """The folder for the artifacts of a script: `PODIUM_ARTIFACTS`."""
    folder = directory.temporary / "artifacts"
    folder.mkdir(exist_ok=True)
    return folder


def collect(folder: Path, keep: Callable[[Path], None]) -> None:
    """Save the files in the artifact folder of a script. A file that cannot be saved is logged, and is no failure."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.name == logged_image_names.FOLDER:
            continue  # see `logged_images.ScriptImages`
        try:
            keep(path)
        except (UserCodeError, OSError) as error:
            print(f"podium: failed to save an artifact: {error}", file=sys.stderr)


def _mode(source: Path, what: str) -> int:
    try:
        mode = source.stat().st_mode
    except FileNotFoundError:
        raise UserCodeError(f"{what}: no such file; relative paths are resolved against trial.dir") from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise UserCodeError(f"{what}: not a regular file or a folder")
    return mode


def _checked(name: str, what: str) -> str:
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        raise UserCodeError(
            f"{what}: invalid artifact name {name!r:.220}; pass name= with 1 to 200 letters, digits, '.', '_' and "
            "'-', starting with a letter or digit"
        )
    return name


def _check_limits(target: Path, size: int, what: str, limits: ArtifactLimits) -> None:
    """Raise `UserCodeError` above the limits of a trial."""
    found = target.parent.iterdir() if target.parent.is_dir() else ()
    others = [path for path in found if path not in (target, target.parent / logged_image_names.FOLDER)]
    if len(others) >= limits.files:
        raise UserCodeError(f"{what}: a trial can save at most {limits.files} artifacts; save a folder as one archive")
    total = size + sum(map(_size, others))
    if total > limits.bytes:
        raise UserCodeError(
            f"{what}: the artifacts of this trial would take {total / _MB:,.0f} MB; the limit is "
            f"{limits.bytes // _MB} MB"
        )


def _size(path: Path) -> int:
    return path.lstat().st_size


def _files(folder: Path) -> Iterator[Path]:
    """The regular files of a folder, recursively, by name; links are skipped."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path


def _copy(source: Path, target: BinaryIO) -> None:
    with source.open("rb") as file:
        shutil.copyfileobj(file, target)


def _zip(source: Path, target: BinaryIO) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for path in _files(source):
            archive.write(path, path.relative_to(source))
