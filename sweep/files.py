"""Files that appear whole or not at all; pure, in every process that leaves a file for another."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


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


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
