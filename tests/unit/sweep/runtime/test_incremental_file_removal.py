"""Removal of a trial's files: any kind of file is removed, and nothing outside its folders."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from podium.sweep.runtime.incremental_file_removal import advance, finish, removal_steps, unfinished


def deep(folder: Path, depth: int) -> None:
    """A file at the end of a path that is longer than the maximum path length."""
    folder.mkdir()
    where = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("deeper", dir_fd=where)
        below = os.open("deeper", os.O_RDONLY, dir_fd=where)
        os.close(where)
        where = below
    os.close(os.open("file", os.O_CREAT, dir_fd=where))
    os.close(where)


def test_deep_folder_is_removed(tmp_path: Path) -> None:
    depth = 3000
    assert depth > sys.getrecursionlimit() and depth * len("/deeper") > os.pathconf(tmp_path, "PC_PATH_MAX")
    deep(tmp_path / "work", depth)
    finish(removal_steps([tmp_path / "work"]))
    assert list(tmp_path.iterdir()) == []


def test_any_file_type_is_removed_and_link_targets_remain(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    paths = [tmp_path / name for name in ("file", "link", "folder", "pipe", "not there", "no/where")]
    paths[0].touch()
    paths[1].symlink_to(kept)
    (paths[2] / "in" / "it").mkdir(parents=True)
    (paths[2] / "in" / "link").symlink_to(kept)
    (paths[2] / "link").symlink_to(kept)
    os.mkfifo(paths[3])
    finish(removal_steps(paths))
    assert list(tmp_path.iterdir()) == [kept] and (kept / "file").exists()


def test_folders_without_permissions_are_removed(tmp_path: Path) -> None:
    inner = tmp_path / "work" / "inner" / "most"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent, inner.parent.parent):
        folder.chmod(0)
    finish(removal_steps([tmp_path / "work"]))
    assert list(tmp_path.iterdir()) == []


def test_failure_to_remove_one_file_does_not_stop_removal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        (folder / "file").touch()
        (folder / "stuck").touch()
    unlink = os.unlink

    def refused(name: str, **where: int) -> None:
        if name == "stuck":
            raise OSError(5, "Input/output error")
        unlink(name, **where)

    monkeypatch.setattr(os, "unlink", refused)
    finish(removal_steps(folders))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["one", "stuck", "stuck", "two"]


def test_removal_advances_step_by_step(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / str(number)).touch()
    steps = removal_steps([tmp_path])
    assert advance(steps, 4)
    assert len(list(tmp_path.iterdir())) in (6, 7)
    assert not advance(steps, 100) and not tmp_path.exists()


def test_empty_folder_takes_no_step(tmp_path: Path) -> None:
    assert not advance(removal_steps([tmp_path]), 1)


def test_unfinished_files_are_recognized(tmp_path: Path) -> None:
    for name in (".model.5.tmp", "model", ".hidden", "a.tmp"):
        (tmp_path / name).touch()
    assert unfinished(tmp_path) == [tmp_path / ".model.5.tmp"]
    assert unfinished(tmp_path / "nothing") == []
