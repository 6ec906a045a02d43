"""Atomic writes: readers see the old or the new content, and threads that write one file do not disturb each other."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from podium.sweep.runtime.atomic_files import open_atomic, write_atomic


def test_threads_may_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([letter]) * 10_000 for letter in range(8)]
    with ThreadPoolExecutor(len(contents)) as pool:
        for _ in range(10):
            list(pool.map(lambda content: write_atomic(path, content), contents))
            assert path.read_bytes() in contents
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_error_leaves_the_old_content_and_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old", mode=0o600)
    with pytest.raises(RuntimeError, match="as planned"), open_atomic(path) as file:
        file.write(b"new")
        raise RuntimeError("as planned")
    assert path.read_bytes() == b"old"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
