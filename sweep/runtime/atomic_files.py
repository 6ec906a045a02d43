"""Files that appear whole or not at all, and are read as what they are; pure, in every process that shares files."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def write_whole(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write beside the target, sync, and rename: a reader sees the old file or the new one."""
    with appearing(path, mode=mode) as file:
        file.write(content)


@contextlib.contextmanager
def appearing(path: Path, *, mode: int = 0o644) -> Iterator[BinaryIO]:
    """A file to write to, which is at its place, whole, when the block ends; nothing is there if it is left early."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def opened(path: Path) -> BufferedReader:
    """A plain file, to read. Raises `OSError` for a link, a pipe or a device that a trial's code put in its place."""
    return _plain(os.open(path, _FILE))


def _plain(descriptor: int) -> BufferedReader:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no plain file")
    return os.fdopen(descriptor, "rb")


def opened_in(folder: Path, name: str) -> BufferedReader:
    """A plain file of a folder, or of a folder in it: no link on the way is followed. Raises `OSError`."""
    *parents, last = name.split("/")
    where = os.open(folder, _FOLDER)
    try:
        for parent in parents:
            inner = os.open(parent, _FOLDER | os.O_NOFOLLOW, dir_fd=where)
            os.close(where)
            where = inner
        return _plain(os.open(last, _FILE, dir_fd=where))
    finally:
        os.close(where)


def check_plain(path: Path) -> None:
    """Raises `OSError` for what `opened` would refuse; before a library opens it by its name."""
    opened(path).close()


def named(path: Path) -> str:
    """A file of the data directory as clients are told of it: `trials/3/0/1/model.safetensors`, not where that lies."""
    return "/".join(path.parts[-5:])


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
