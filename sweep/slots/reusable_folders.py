"""Empty folders that the attempts of a slot use one after the other; slot.

An attempt has two folders that are removed after it. To move them to the next one is cheaper than to remove and to
create them: ext4 without a journal, for example, gives no inode away again for minutes, and passes over each of those
that were removed meanwhile whenever it looks for a free one.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple


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
            kept = self._folder / name
            with contextlib.suppress(OSError):  # something else is at `path`, or the kept folder is gone
                if _Owned.of(kept) == self._new[name]:
                    kept.rename(path)
                    return
        try:
            path.mkdir()
        except FileExistsError:
            if not path.is_dir():
                raise
        else:  # otherwise an attempt is started again, and its folder may have been changed
            self._new[name] = _Owned.of(path)

    def keep(self, path: Path) -> bool:
        """Keep the folder at `path` for the next attempt if it is as new; returns whether it was moved away."""
        name = path.name
        try:
            if not self._is_as_new(path):
                return False
            try:
                path.rename(self._folder / name)
            except FileNotFoundError:
                self._folder.mkdir(parents=True, exist_ok=True)
                path.rename(self._folder / name)
        except OSError:  # `path` is gone, or something is in its way
            return False
        self._kept.add(name)
        return True

    def _is_as_new(self, path: Path) -> bool:
        if _Owned.of(path) != self._new.get(path.name) or os.listxattr(path, follow_symlinks=False):
            return False
        with os.scandir(path) as entries:
            return not any(entries)


class _Owned(NamedTuple):
    """The type, the permissions and the owner of a folder."""

    mode: int
    user: int
    group: int

    @classmethod
    def of(cls, path: Path) -> _Owned:
        """Those of a path, of the link itself if it is one. Raises `OSError`."""
        status = os.lstat(path)
        return cls(status.st_mode, status.st_uid, status.st_gid)
