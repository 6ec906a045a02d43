"""Atomic writes of files: readers see either the old file or the new one; every process."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def is_temporary(name: str) -> bool:
    """Whether a file or folder of this name is not complete yet, or was left by a writer that was killed."""
    return name.startswith(".") and name.endswith(".tmp")


def write_atomic(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write a temporary file, sync it and rename it: readers see either the old file or the new one."""
    with open_atomic(path, mode=mode) as file:
        file.write(content)


@contextlib.contextmanager
def open_atomic(path: Path, *, mode: int = 0o644) -> Iterator[BinaryIO]:
    """A context manager for an atomic write: the file is renamed into place at the end, removed on an exception."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.{os.getpid()}.tmp")  # threads may write one file
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
