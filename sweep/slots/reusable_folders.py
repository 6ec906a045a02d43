"""Empty folders that the attempts of a slot use one after the other; slot.

An attempt has two folders that are removed after it. To move them to the next one is cheaper than to remove and to
create them: ext4 without a journal, for example, gives no inode away again for minutes, and passes over each of those
that were removed meanwhile whenever it looks for a free one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_EXECUTE = 0o111


class ReusableFolders:
    """Folders by name, which a folder of the slot has between two attempts.

    Another slot may use the same folder: each of these folders is moved to one attempt only.
    """

    def __init__(self, folder: Path) -> None:
        """`folder`: on the file system of the attempts; it is created when it is needed."""
        self._folder = folder
        self._new: dict[str, _Owned] = {}  # how new folders were, by name
        self._kept: set[str] = set()  # those that this slot has moved to the folder

    def place(self, path: Path) -> None:
        """Have an empty folder at `path`: a kept one with its name, or a new one. Raises `OSError`."""
        name = path.name
        if name in self._kept:
            self._kept.remove(name)
            try:
                (self._folder / name).rename(path)
            except OSError:  # something else is at `path`, or the kept folder is gone
                pass
            else:
                return
        path.mkdir(exist_ok=True)
        self._new[name] = _Owned.of(os.lstat(path))

    def keep(self, path: Path, files: Sequence[str] = ()) -> bool:
        """Keep the folder at `path` for the next attempt if it is as new; returns whether it is kept, and moved away.

        `files`: the names of files that it may have, which the next attempt overwrites.
        """
        name = path.name
        try:
            if not self._is_as_new(path, files):
                return False
            try:
                path.rename(self._folder / name)
            except FileNotFoundError:
                self._folder.mkdir(parents=True, exist_ok=True)
                path.rename(self._folder / name)
        except OSError:  # `path` is gone, or a file system without attributes
            return False
        self._kept.add(name)
        return True

    def _is_as_new(self, path: Path, files: Sequence[str]) -> bool:
        new = self._new.get(path.name)
        if new is None or _Owned.of(os.lstat(path)) != new or os.listxattr(path, follow_symlinks=False):
            return False
        file = new._replace(mode=stat.S_IFREG | stat.S_IMODE(new.mode) & ~_EXECUTE)
        with os.scandir(path) as entries:
            return all(
                entry.name in files and _is_only_name(entry.stat(follow_symlinks=False), file) for entry in entries
            )


class _Owned(NamedTuple):
    """The type, the permissions and the owner of a file or folder."""

    mode: int
    user: int
    group: int

    @classmethod
    def of(cls, status: os.stat_result) -> _Owned:
        return cls(status.st_mode, status.st_uid, status.st_gid)


def _is_only_name(status: os.stat_result, new: _Owned) -> bool:
    """Whether a file is as a new one, and has one name only."""
    return _Owned.of(status) == new and status.st_nlink == 1
