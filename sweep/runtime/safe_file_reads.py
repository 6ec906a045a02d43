"""Safe reads of files in folders that trials can write to: regular files only; every process."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from io import BufferedReader
from pathlib import Path

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading. Raises `OSError` for a link, pipe or device that a trial may have created."""
    return _open_descriptor(os.open(path, _FILE))


def _open_descriptor(descriptor: int) -> BufferedReader:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    return os.fdopen(descriptor, "rb")


def open_regular_in(folder: Path, name: str) -> BufferedReader:
    """Open a regular file below a folder without following links. Raises `OSError`."""
    *parents, last = name.split("/")
    where = os.open(folder, _FOLDER)
    try:
        for parent in parents:
            inner = os.open(parent, _FOLDER | os.O_NOFOLLOW, dir_fd=where)
            os.close(where)
            where = inner
        return _open_descriptor(os.open(last, _FILE, dir_fd=where))
    finally:
        os.close(where)


def check_regular(path: Path) -> None:
    """Raises `OSError` if it is not a regular file; for use before a library opens it by path."""
    open_regular(path).close()


def display_path(path: Path) -> str:
    """The path of a trial's file relative to the data directory, as shown to clients: `trials/3/0/1-…/log`."""
    return "/".join(path.parts[-5:])


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
