"""Removes what a trial left, whatever it made of it: step by step, so that much of it keeps nobody; slot, scheduler.

Folders as deep as they are, a million of them, one where a file was expected: nothing here raises, and nothing
recurses. What the disk does not let go stays, with a line in the log.
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

AT_ONCE = 500  # entries: some 10 ms
_OWNER = 0o700
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
log = logging.getLogger("podium.removal")


def removing(paths: Iterable[Path]) -> Iterator[None]:
    """Remove files, and folders with all in them; one step an entry. What is not there is removed already."""
    for path in paths:
        try:
            yield from _removing(path)
        except (OSError, ValueError) as error:
            log.warning("cannot remove %s: %s", path, error)


def advance(removal: Iterator[None], steps: int = AT_ONCE) -> bool:
    """Go some steps on; whether there is more to do."""
    return sum(1 for _ in islice(removal, steps)) == steps


def finish(removal: Iterator[None]) -> None:
    """Go on to the end."""
    for _ in removal:
        pass


def unfinished(folder: Path) -> list[Path]:
    """What was being written in a folder, file by file, when its writer was killed."""
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.name.startswith(".") and entry.name.endswith(".tmp")]
    except OSError:
        return []


def _removing(path: Path) -> Iterator[None]:
    try:
        path.rmdir()  # most are empty
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
    """Empty a folder. A folder in another is moved up first, so that no path gets long and few are open at a time."""
    folders = ["."]
    while folders:
        name = folders.pop()
        with contextlib.suppress(OSError):  # what stays is told when the whole cannot be removed
            yield from _emptying_one(name, top, folders)
            if name != ".":
                os.rmdir(name, dir_fd=top)


def _emptying_one(name: str, top: int, folders: list[str]) -> Iterator[None]:
    """Remove the files of one folder, and put those that are in it on the list."""
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
    """Move a folder from one in `top` into `top` itself; its name there."""
    moved = f".{secrets.token_hex(16)}"
    os.close(_open(name, folder))  # a folder that its owner may not write cannot be moved
    os.rename(name, moved, src_dir_fd=folder, dst_dir_fd=top)
    return moved


def _open(name: str, where: int | None) -> int:
    """Open a folder, and let its owner do everything with it."""
    try:
        folder = os.open(name, _FOLDER, dir_fd=where)
    except PermissionError:
        os.chmod(name, _OWNER, dir_fd=where)
        folder = os.open(name, _FOLDER, dir_fd=where)
    if os.fstat(folder).st_mode & _OWNER != _OWNER:
        os.fchmod(folder, _OWNER)
    return folder
