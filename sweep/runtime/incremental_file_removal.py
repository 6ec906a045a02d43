"""Removes files and folders of trials incrementally, so that large ones do not block the caller; slot, scheduler.

Handles arbitrarily deep and large folder trees without recursion and without raising. Files that cannot be removed are
logged.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import secrets
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from podium.sweep.runtime.atomic_files import is_temporary

STEPS_PER_CALL = 500  # entries: some 10 ms
_OWNER = 0o700
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
log = logging.getLogger("podium.removal")


def removal_steps(paths: Iterable[Path]) -> Iterator[None]:
    """Remove files and folder trees; one step per entry. Missing paths are ignored."""
    for path in paths:
        try:
            yield from _removing(path)
        except (OSError, ValueError) as error:
            log.warning("cannot remove %s: %s", path, error)


def advance(removal: Iterator[None], steps: int = STEPS_PER_CALL) -> bool:
    """Advance by some steps; returns whether there are more."""
    return sum(1 for _ in islice(removal, steps)) == steps


def finish(removal: Iterator[None]) -> None:
    """Run all remaining steps."""
    for _ in removal:
        pass


def unfinished(folder: Path) -> list[Path]:
    """The temporary files that killed writers left in a folder."""
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if is_temporary(entry.name)]
    except OSError:
        return []


def _removing(path: Path) -> Iterator[None]:
    try:
        path.rmdir()  # most folders are empty
        return
    except FileNotFoundError:
        return
    except NotADirectoryError:
        path.unlink(missing_ok=True)
        yield
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    top = _open(str(path), None)
    try:
        yield from _emptying(top)
    finally:
        os.close(top)
    path.rmdir()


def _emptying(top: int) -> Iterator[None]:
    """Empty a folder. Nested folders are moved to its top level, which bounds path lengths and open descriptors."""
    folders = ["."]
    while folders:
        name = folders.pop()
        with contextlib.suppress(OSError):  # reported when the top folder cannot be removed
            yield from _emptying_one(name, top, folders)
            if name != ".":
                os.rmdir(name, dir_fd=top)


def _emptying_one(name: str, top: int, folders: list[str]) -> Iterator[None]:
    """Remove the files of one folder, and append its subfolders to the list."""
    folder = _open(name, top)
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                yield
                with contextlib.suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.name, dir_fd=folder)
                    elif name == ".":
                        folders.append(entry.name)
                    else:
                        folders.append(_moved_up(entry.name, folder, top))
    finally:
        os.close(folder)


def _moved_up(name: str, folder: int, top: int) -> str:
    """Move a nested folder to the top level of `top`; returns its new name."""
    moved = f".{secrets.token_hex(16)}"
    os.close(_open(name, folder))  # makes it writable: a read-only folder cannot be moved
    os.rename(name, moved, src_dir_fd=folder, dst_dir_fd=top)
    return moved


def _open(name: str, where: int | None) -> int:
    """Open a folder and give its owner all permissions."""
    try:
        folder = os.open(name, _FOLDER, dir_fd=where)
    except PermissionError:
        os.chmod(name, _OWNER, dir_fd=where)
        folder = os.open(name, _FOLDER, dir_fd=where)
    if os.fstat(folder).st_mode & _OWNER != _OWNER:
        os.fchmod(folder, _OWNER)
    return folder
