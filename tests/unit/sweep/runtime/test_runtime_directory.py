"""The runtime directory: one per data directory, private to its owner, with short socket paths."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.values.errors import DataDirectoryError

_SOCKET_PATH_BYTES = 107


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


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
