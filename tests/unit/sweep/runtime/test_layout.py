"""The layout of the data directory: private folders, one per attempt, and short socket paths."""

from __future__ import annotations

import itertools
import os
import stat
from pathlib import Path

import pytest

from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.layout import AttemptDirectory, DataDirectory, RuntimeDirectory, default_data_directory
from podium.sweep.runtime.regular_files import sha256_of
from podium.sweep.values.errors import DataDirectoryError

_SOCKET_PATH_BYTES = 107


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


def test_attempt_folder_contains_all_paths_of_its_process(tmp_path: Path) -> None:
    attempt = AttemptDirectory(tmp_path / "1" / "2" / "3")
    attempt.prepare()
    attempt.prepare()
    assert attempt.work.is_dir() and attempt.temporary.is_dir()
    files = [attempt.log, attempt.model, attempt.checkpoint, attempt.checkpoint_folders, attempt.predictions]
    files.append(attempt.artifacts)
    assert {file.parent for file in files} == {attempt.root} and len(set(files)) == 6


def test_folders_of_earlier_attempts_are_found_with_and_without_nonce(tmp_path: Path) -> None:
    for name in ("2", "10-00000000", "9-fedcba98", "1", "9-01234567", "11-00000000", "12"):
        (tmp_path / name).mkdir()
    for name in ("3-short", "4-0123456789", "5-ABCDEF01", "-00000000", "07", "0", "6-", "x", "٣", ".8.tmp"):
        (tmp_path / name).mkdir()
    os.utime(tmp_path / "9-fedcba98", (1, 1))  # of the same number, but older
    earlier = AttemptDirectory(tmp_path / "11-00000000").earlier(11)
    assert [folder.root.name for folder in earlier] == ["10-00000000", "9-01234567", "9-fedcba98", "2", "1"]
    assert AttemptDirectory(tmp_path / "1").earlier(1) == []
    assert AttemptDirectory(tmp_path / "missing" / "3").earlier(3) == []


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RuntimeDirectory:
    """The runtime directory of a data directory in `tmp_path`."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return RuntimeDirectory.of(DataDirectory(tmp_path / "data"))


def test_data_directory_has_one_runtime_directory(runtime: RuntimeDirectory, tmp_path: Path) -> None:
    assert RuntimeDirectory.of(DataDirectory(tmp_path / "x" / ".." / "data")) == runtime
    assert RuntimeDirectory.of(DataDirectory(tmp_path / "other")) != runtime


def test_socket_paths_are_short_for_long_data_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", f"/run/user/{2**31}")
    runtime = RuntimeDirectory.of(DataDirectory(Path("/" + "long/" * 60)))
    for path in (
        runtime.figures_socket("gateway-64"),
        runtime.wake_socket("scheduler"),
        runtime.replica_socket(10**9, 10**9),
    ):
        assert len(os.fsencode(path)) <= _SOCKET_PATH_BYTES


def test_runtime_directory_is_private(runtime: RuntimeDirectory) -> None:
    runtime.prepare()
    runtime.prepare()
    assert _mode(runtime.root) == 0o700


def test_runtime_directory_accessible_to_others_is_rejected(runtime: RuntimeDirectory) -> None:
    runtime.root.mkdir()
    runtime.root.chmod(0o755)
    with pytest.raises(DataDirectoryError, match="is owned by or accessible to other users"):
        runtime.prepare()


def test_link_as_runtime_directory_is_rejected(runtime: RuntimeDirectory, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    runtime.root.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataDirectoryError, match="is owned by or accessible to other users"):
        runtime.prepare()


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


def test_folders_of_each_rank_are_its_own_and_checkpoints_are_shared(tmp_path: Path) -> None:
    lead, other = AttemptDirectory(tmp_path), AttemptDirectory(tmp_path, 2)
    lead.prepare()
    other.prepare()
    assert [path.name for path in (other.log, other.work, other.temporary)] == ["log-2", "work-2", "tmp-2"]
    assert (other.checkpoint, other.shared) == (lead.checkpoint, lead.work)
    assert {path.name for path in lead.leftovers()} == {"work", "tmp", "work-2", "tmp-2"}
