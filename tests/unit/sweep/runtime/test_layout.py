"""The layout of the data directory: private folders, one per attempt, and files that are written atomically."""

from __future__ import annotations

import itertools
import stat
from pathlib import Path

import pytest

from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.layout import DATASETS, DataDirectory, default_data_directory
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.values.errors import DataDirectoryError


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_data_directory_is_private_to_its_owner(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path / "deep" / "data")
    data.prepare()
    data.prepare()
    for folder in (data.root, data.logs, data.bundles, data.data_cache, data.trials):
        assert _mode(folder) == 0o700


def test_data_directory_that_is_a_file_is_rejected_with_fix(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(DataDirectoryError, match=r"cannot write to .*/data: .*; choose another with --data-dir"):
        DataDirectory(tmp_path / "data").prepare()


def test_every_attempt_has_its_own_folder() -> None:
    data = DataDirectory(Path("data"))
    keys = itertools.product((1, 11), (1, 11), (1, 11), ("", "00000001", "00000011"))
    assert len({data.attempt(*key) for key in keys}) == 24
    assert data.attempt(1, 2, 3, "0123abcd") == data.trials / "1" / "2" / "3-0123abcd"
    assert data.attempt(1, 2, 3, "") == data.trials / "1" / "2" / "3", "the folder of an earlier version"


def test_relative_paths_are_those_of_the_folders() -> None:
    data = DataDirectory(Path("some/data"))
    for nonce in ("0123abcd", ""):
        assert data.relative_attempt(1, 2, 3, nonce) == data.relative(data.attempt(1, 2, 3, nonce))
    assert data.relative_bundle("ab" * 32) == data.relative(data.bundle("ab" * 32))
    assert data.relative(data.data_cache) == DATASETS


@pytest.mark.parametrize(("variable", "expected"), [("/somewhere", "/somewhere"), ("", "podium-data")])
def test_default_data_directory_comes_from_environment(
    monkeypatch: pytest.MonkeyPatch, variable: str, expected: str
) -> None:
    monkeypatch.setenv("PODIUM_DATA_DIR", variable)
    assert default_data_directory() == Path(expected)


def test_file_is_written_atomically_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "token"
    write_atomic(path, b"old")
    write_atomic(path, b"new", mode=0o600)
    assert (path.read_bytes(), _mode(path)) == (b"new", 0o600)
    assert sha256_of(path) == "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"
    assert list(tmp_path.iterdir()) == [path]


def test_failed_write_keeps_old_file_and_leaves_no_other(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    (target / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="folder"):
        write_atomic(target, b"content")
    assert list(tmp_path.iterdir()) == [target]
