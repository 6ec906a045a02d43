"""Free disk space: the reserve depends on the file system, and the error names the folder and the amounts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podium.sweep.runtime.disk_space_check import RESERVE_BYTES, DiskSpace, check_disk_space, disk_space
from podium.sweep.values.errors import StorageFullError

GB = 1 << 30


def _play(monkeypatch: pytest.MonkeyPatch, size: int, free: int) -> None:
    found = os.statvfs_result((4096, 4096, size // 4096, free // 4096, free // 4096, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: found)


@pytest.mark.parametrize(
    ("size", "free", "needed", "enough"),
    [
        (100 * GB, GB, RESERVE_BYTES, True),
        (100 * GB, RESERVE_BYTES, RESERVE_BYTES, True),
        (100 * GB, RESERVE_BYTES - 4096, RESERVE_BYTES, False),
        (200 << 20, 10 << 20, 10 << 20, True),
        (200 << 20, 9 << 20, 10 << 20, False),
    ],
)
def test_reserve_is_64_mb_or_a_twentieth_of_a_smaller_file_system(
    monkeypatch: pytest.MonkeyPatch, size: int, free: int, needed: int, enough: bool
) -> None:
    _play(monkeypatch, size, free)
    found = disk_space(Path("/data"))
    assert (found, found.is_sufficient) == (DiskSpace("/data", free, needed), enough)


def test_missing_folder_has_no_room(tmp_path: Path) -> None:
    assert not disk_space(tmp_path / "gone").is_sufficient


def test_full_disk_error_names_folder_and_amounts(monkeypatch: pytest.MonkeyPatch) -> None:
    _play(monkeypatch, 100 * GB, 3_000_000 // 4096 * 4096)
    with pytest.raises(StorageFullError, match=r"no space left in /data: 3 MB are free, but 67 MB are required"):
        check_disk_space(Path("/data"))
