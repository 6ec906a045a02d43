"""The files that `serve` removes at its start: unfinished files of dead processes, and nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from podium.api.serve import ports, startup, supervisor, temporary_file_cleanup
from podium.api.serve.service_lock import service_locked
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.values.errors import DataDirectoryError

DEAD = 4194399


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    made = DataDirectory(tmp_path / "data")
    made.prepare()
    made.backups.mkdir()
    return made


def test_unfinished_files_of_dead_processes_are_removed(data: DataDirectory) -> None:
    for path in (
        data.root / f".service.json.{DEAD}.tmp",
        data.evaluations / f".1.npy.{os.getpid()}.tmp",  # its pid is reused by this process
        data.backups / f".copy.sqlite3.{DEAD}.tmp",
        data.backups / f".copy.sqlite3.{DEAD}.tmp-journal",
        data.data_cache / "old-and-of-another-process.1.tmp",
    ):
        path.write_bytes(b"half")
        os.utime(path, (1, 1))
    folder = data.bundles / f".abc.{DEAD}.tmp"
    folder.mkdir()
    (folder / "code.py").touch()
    temporary_file_cleanup.remove(data)
    for looked_in in (data.evaluations, data.backups, data.data_cache, data.bundles):
        assert list(looked_in.iterdir()) == []
    assert not list(data.root.glob(".*"))


def test_files_of_a_running_backup_and_complete_files_are_kept(data: DataDirectory) -> None:
    stay = [data.backups / ".copy.sqlite3.1.tmp", data.backups / "copy.tmp.sqlite3", data.root / "notes.tmp"]
    for path in stay:
        path.write_bytes(b"half")
        os.utime(path, (time.time(), time.time()))
    temporary_file_cleanup.remove(data)
    assert all(path.exists() for path in stay)


def _serve(data: DataDirectory) -> None:
    settings = ServiceSettings(
        str(data.root), str(data.root.parent / "run"), port=ports.free_port(), gateway_port=ports.free_port()
    )
    mask = os.umask(0o077)
    os.umask(mask)
    try:
        startup.serve(settings, lambda _: None)
    finally:
        os.umask(mask)


@pytest.fixture
def left(data: DataDirectory) -> Path:
    """A file of a process that does not run on this machine."""
    file = data.root / f".service.json.{DEAD}.tmp"
    file.touch()
    return file


@pytest.mark.parametrize("shared", [False, True])
def test_serve_removes_them_before_it_starts_the_components_unless_others_share_the_directory(
    data: DataDirectory, left: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    seen: list[bool] = []
    monkeypatch.setattr(supervisor.Supervisor, "run", lambda *_: seen.append(left.exists()))
    if shared:
        DataDirectory(data.root, "alpha").prepare()
    _serve(data)
    assert seen == [shared]


def test_serve_starts_on_no_directory_that_a_running_standby_shares(
    data: DataDirectory, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor.Supervisor, "run", lambda *_: pytest.fail("it was started"))
    standby = DataDirectory(data.root, "alpha")
    standby.prepare()
    with (
        service_locked(standby, "stop it"),
        pytest.raises(DataDirectoryError, match="is already running on"),
    ):
        _serve(data)
    assert left.exists() and not data.database_binding.exists()
