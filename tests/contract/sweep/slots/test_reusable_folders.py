"""Folders that are moved from one attempt to the next, unless they differ from new ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.sweep.slots.reusable_folders import ReusableFolders


@pytest.fixture
def folders(tmp_path: Path) -> ReusableFolders:
    return ReusableFolders(tmp_path / "slots" / "cpu-0")


def attempt(tmp_path: Path, number: int) -> Path:
    folder = tmp_path / str(number)
    folder.mkdir()
    return folder / "work"


def test_folder_is_moved_to_the_next_attempt(folders: ReusableFolders, tmp_path: Path) -> None:
    first, second = attempt(tmp_path, 1), attempt(tmp_path, 2)
    folders.place(first)
    inode = first.stat().st_ino
    assert folders.keep(first) and not first.exists()
    folders.place(second)
    assert second.stat().st_ino == inode and list(second.iterdir()) == []
    third = attempt(tmp_path, 3)
    folders.place(third)
    assert third.is_dir() and third.stat().st_ino != inode, "it is in use"


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "left").write_text("1"),
        lambda folder: (folder / "left").mkdir(),
        lambda folder: folder.chmod(0o500),
        lambda folder: folder.chmod(0o1755),
        lambda folder: os.setxattr(folder, "user.left", b"1"),
        lambda folder: (folder / "left").symlink_to(folder),
    ],
)
def test_folder_that_differs_from_a_new_one_is_left_to_be_removed(
    folders: ReusableFolders, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    first, second = attempt(tmp_path, 1), attempt(tmp_path, 2)
    folders.place(first)
    change(first)
    assert not folders.keep(first) and first.exists()
    folders.place(second)
    assert list(second.iterdir()) == [] and second.stat().st_ino != first.stat().st_ino


def test_folder_that_was_replaced_by_a_link_is_left(folders: ReusableFolders, tmp_path: Path) -> None:
    first, elsewhere = attempt(tmp_path, 1), tmp_path / "elsewhere"
    folders.place(first)
    first.rmdir()
    elsewhere.mkdir()
    first.symlink_to(elsewhere)
    assert not folders.keep(first) and first.is_symlink()


def test_folder_that_is_gone_is_not_kept(folders: ReusableFolders, tmp_path: Path) -> None:
    first = attempt(tmp_path, 1)
    folders.place(first)
    first.rmdir()
    assert not folders.keep(first)


def test_slots_that_share_a_folder_never_have_the_same(tmp_path: Path) -> None:
    one, other = (ReusableFolders(tmp_path / "shared") for _ in range(2))
    paths = [attempt(tmp_path, number) for number in range(4)]
    for folders, path in ((one, paths[0]), (other, paths[1])):
        folders.place(path)
        assert folders.keep(path)
    for folders, path in ((one, paths[2]), (other, paths[3])):
        folders.place(path)
    assert paths[2].is_dir() and paths[3].is_dir()
    assert paths[2].stat().st_ino != paths[3].stat().st_ino


def test_place_with_content_keeps_it(folders: ReusableFolders, tmp_path: Path) -> None:
    """An attempt that is started again, after a scheduler has sent it twice."""
    first, second = attempt(tmp_path, 1), attempt(tmp_path, 2)
    folders.place(first)
    assert folders.keep(first)
    second.mkdir()
    (second / "left").write_text("1")
    folders.place(second)
    assert (second / "left").read_text() == "1"


def test_next_slot_keeps_folders_where_an_earlier_one_has_left_some(tmp_path: Path) -> None:
    for number in (1, 3):
        folders = ReusableFolders(tmp_path / "shared")
        first, second = attempt(tmp_path, number), attempt(tmp_path, number + 1)
        folders.place(first)
        inode = first.stat().st_ino
        assert folders.keep(first)
        folders.place(second)
        assert second.stat().st_ino == inode
        assert folders.keep(second)


def test_file_in_the_place_of_a_folder_is_an_error(folders: ReusableFolders, tmp_path: Path) -> None:
    path = attempt(tmp_path, 1)
    path.write_text("1")
    with pytest.raises(FileExistsError):
        folders.place(path)
