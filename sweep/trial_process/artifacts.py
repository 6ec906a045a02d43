"""Files that a trial saves under names of its own: copied whole, bounded, next to its model; trial process."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from podium.sweep.runtime.layout import AttemptDirectory
from podium.sweep.values.errors import UserCodeError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
MAX_FILES = 100  # of one attempt
MAX_BYTES = 512 << 20  # of these, together
_MB = 1 << 20


def save(directory: AttemptDirectory, source: Path, name: str | None = None) -> Path:
    """Keep a copy of a file, or of a folder as a zip archive; one that is there under this name is replaced.

    Raises `UserCodeError` for a name that cannot be and for what is too much, and `OSError`.
    """
    what = f"save_artifact({str(source)!r})"
    mode = _mode(source, what)
    folder = stat.S_ISDIR(mode)
    target = directory.artifacts / _checked(name or (f"{source.name}.zip" if folder else source.name), what)
    _check_room(directory.artifacts, target, sum(map(_size, _files(source))) if folder else source.stat().st_size, what)
    directory.artifacts.mkdir(exist_ok=True)
    temporary = directory.root / f".artifact.{os.getpid()}.tmp"  # the slot removes it if this process is killed
    try:
        with temporary.open("wb") as file:
            _zip(source, file) if folder else _copy(source, file)
            file.flush()
            os.fsync(file.fileno())
        _check_room(directory.artifacts, target, temporary.stat().st_size, what)  # it may have grown meanwhile
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def folder_of_script(directory: AttemptDirectory) -> Path:
    """Where a script puts the files that are to be kept: `PODIUM_ARTIFACTS`."""
    folder = directory.temporary / "artifacts"
    folder.mkdir(exist_ok=True)
    return folder


def collect(folder: Path, keep: Callable[[Path], None]) -> None:
    """Keep what a script has put into its folder. What cannot be kept is named in the log, and fails nothing."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        try:
            keep(path)
        except (UserCodeError, OSError) as error:
            print(f"podium: the artifact is not kept: {error}", file=sys.stderr)


def _mode(source: Path, what: str) -> int:
    try:
        mode = source.stat().st_mode
    except FileNotFoundError:
        raise UserCodeError(f"{what}: there is no such file; relative paths begin at trial.dir") from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise UserCodeError(f"{what}: neither a file nor a folder")
    return mode


def _checked(name: str, what: str) -> str:
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        raise UserCodeError(
            f"{what}: {name!r:.220} cannot be the name of an artifact; pass name= with 1 to 200 letters, digits, "
            "'.', '_' and '-', a letter or digit first"
        )
    return name


def _check_room(folder: Path, target: Path, size: int, what: str) -> None:
    """Raises for one file too many, or for more bytes than a trial may save."""
    others = [path for path in folder.iterdir() if path != target] if folder.is_dir() else []
    if len(others) >= MAX_FILES:
        raise UserCodeError(f"{what}: a trial saves {MAX_FILES} files at most; a folder becomes one archive")
    total = size + sum(map(_size, others))
    if total > MAX_BYTES:
        raise UserCodeError(
            f"{what}: with it the trial's artifacts take {total / _MB:,.0f} MB, and {MAX_BYTES // _MB} MB are the most"
        )


def _size(path: Path) -> int:
    return path.lstat().st_size


def _files(folder: Path) -> Iterator[Path]:
    """The plain files of a folder, at any depth, by name; links are left out."""
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
