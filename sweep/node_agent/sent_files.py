"""Sends the files of one attempt to the head: its log and checkpoints while it runs, the others at its end; agent."""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

from podium.sweep.file_store.file_keys import is_checkpoint
from podium.sweep.file_store.head_store import HeadFileStore
from podium.sweep.file_store.store_interface import FileStore
from podium.sweep.runtime.layout import AttemptDirectory, DataDirectory
from podium.sweep.runtime.regular_files import open_regular, sha256_of
from podium.sweep.values.assignment import Assignment
from podium.sweep.values.errors import PodiumError, RefusedFileError

LOG_S = 2.0  # between two looks at what an attempt has written
LOG_PART_BYTES = 1 << 20
_Version = tuple[int, int, int]  # inode, modification time and size of a file
log = logging.getLogger("podium.node_agent")


class SentFiles:
    """The files of one attempt, and what the head has of them."""

    def __init__(
        self, store: HeadFileStore, data: DataDirectory, assignment: Assignment, *, look_s: float = LOG_S
    ) -> None:
        """`look_s`: seconds between two looks at what the attempt has written."""
        self._store = store
        self._data = data
        self._directory = AttemptDirectory(Path(assignment.directory))
        self._look_s = look_s
        self._log_inode = 0
        self._log_sent = 0
        self._sent: dict[str, _Version] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="attempt", daemon=True)

    @property
    def folder(self) -> str:
        """The key of the attempt's folder."""
        return self._key(self._directory.root)

    def start(self) -> None:
        """Begin to send the log and checkpoints."""
        self._thread.start()

    def stop(self) -> None:
        """Send nothing more than what is on its way."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def send_all(self, *, checkpoints: bool) -> None:
        """Send what the attempt has left, after its end; nothing if it is over for the head.

        Raises `FileStoreError` and `OSError`.
        """
        self.stop()
        try:
            self._send_log(last=True)
            if checkpoints:
                self._send_checkpoints()
            for path in self._saved():
                self._send(path)
        except RefusedFileError as error:
            log.warning("%s", error)

    def _follow(self) -> None:
        while not self._stopped.wait(self._look_s):
            try:
                self._send_log()
                self._send_checkpoints()
            except RefusedFileError as error:
                log.warning("%s", error)
                return
            except (PodiumError, OSError) as error:
                log.info("sending again later: %s", error)

    def _send_log(self, *, last: bool = False) -> None:
        """Append what is new; all of a log that was shortened, which is another file then."""
        try:
            file = open_regular(self._directory.log)
        except FileNotFoundError:
            return
        with file:
            status = os.fstat(file.fileno())
            if status.st_ino != self._log_inode:
                self._log_inode, self._log_sent = status.st_ino, 0
            key = self._key(self._directory.log)
            while self._log_sent < status.st_size:
                file.seek(self._log_sent)
                content = file.read(LOG_PART_BYTES)
                patience_s = None if last else 0.0
                self._log_sent = self._store.append_log(key, self._log_sent, content, patience_s=patience_s)

    def _send_checkpoints(self) -> None:
        if self._directory.checkpoint.exists():
            self._send(self._directory.checkpoint)
        numbers = [path for path in _folders(self._directory.checkpoint_folders) if path.name.isdecimal()]
        if not numbers:
            return
        newest = max(numbers, key=lambda path: int(path.name))
        for path in sorted(_files(newest), key=lambda path: path.name == "podium.json" and path.parent == newest):
            self._send(path)  # the file that makes the folder valid is the last
        folders, within = f"{self._key(self._directory.checkpoint_folders)}/", f"{self._key(newest)}/"
        others = [key for key in self._sent if key.startswith(folders) and not key.startswith(within)]
        self._store.remove(others)
        for key in others:
            del self._sent[key]

    def _saved(self) -> Iterator[Path]:
        """The files that stay, but the log and checkpoints."""
        for path in _files(self._directory.root):
            name = path.relative_to(self._directory.root)
            if name.parts[0] not in ("log", "work", "tmp") and not is_checkpoint(self._key(path)):
                yield path

    def _send(self, path: Path) -> None:
        """Send a file unless the head has it. A link keeps its content if the trial replaces it meanwhile."""
        key = self._key(path)
        link = self._data.outbox / secrets.token_hex(8)
        try:
            os.link(path, link, follow_symlinks=False)
        except FileNotFoundError:
            return  # replaced by a newer one, which follows
        try:
            status = link.lstat()
            version = (status.st_ino, status.st_mtime_ns, status.st_size)
            if self._sent.get(key) != version:
                self._store.put(key, link, sha256_of(link))
                self._sent[key] = version
        finally:
            link.unlink()

    def _key(self, path: Path) -> str:
        return self._data.relative(path)


def remove(store: FileStore, data: DataDirectory, directory: AttemptDirectory) -> list[str]:
    """Remove the checkpoints of a trial that is over from the head; returns their keys. Raises `FileStoreError`."""
    prefix = f"{Path(data.relative(directory.root)).parent}/"
    keys = [stored.key for stored in store.list(prefix) if is_checkpoint(stored.key)]
    store.remove(keys)
    return keys


def _folders(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError:
        return []


def _files(folder: Path) -> list[Path]:
    """The files below a folder, without links and temporary ones, by path."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _is_temporary(name)]
        found += [Path(parent, name) for name in names if not _is_temporary(name)]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def _is_temporary(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")
