"""Hashes of files that nodes read: computed once for each state of a file."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from podium.api.node_service.file_hash_cache import FileHashes


def test_hash_follows_the_file(tmp_path: Path) -> None:
    hashes, file = FileHashes(), tmp_path / "file"
    for content in (b"one", b"two", b"three"):
        new = tmp_path / "new"
        new.write_bytes(content)
        new.replace(file)
        assert hashes.sha256(file) == hashes.sha256(file) == hashlib.sha256(content).hexdigest()


def test_file_is_read_once(tmp_path: Path) -> None:
    hashes, file = FileHashes(), tmp_path / "file"
    file.write_bytes(b"content")
    first, status = hashes.sha256(file), file.stat()
    with file.open("r+b") as written:
        written.write(b"CONTENT")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert hashes.sha256(file) == first, "its state is the same"


def test_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FileHashes().sha256(tmp_path / "none")
