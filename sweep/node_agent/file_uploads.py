"""Sends the files of one attempt: its log and checkpoints while it runs, the others at its end; node agent.

The log goes to the head, where it can be followed; the others to the head or to an object store.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from podium.sweep.file_store.file_store_interface import FileStore, never
from podium.sweep.file_store.head_and_object_store import NodeFileStore
from podium.sweep.file_store.https_store import HeadFileStore
from podium.sweep.file_store.validated_file_keys import is_checkpoint
from podium.sweep.runtime.atomic_files import is_temporary
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.safe_file_reads import open_regular, sha256_of
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.errors import PodiumError, RefusedFileError

CHECK_INTERVAL_S = 2.0  # between two checks of what an attempt has written
LOG_PART_BYTES = 1 << 20
_Version = tuple[int, int, int]  # inode, modification time and size of a file
log = logging.getLogger("podium.node_agent")


class FileUploads:
    """The files of one attempt, and what has been sent of them."""

    def __init__(
        self,
        head: HeadFileStore,
        store: NodeFileStore,
        data: DataDirectory,
        assignment: Assignment,
        *,
        check_interval_s: float = CHECK_INTERVAL_S,
    ) -> None:
        """`store`: for all files but the log; `check_interval_s`: between two checks for new ones."""
        self._head = head
        self._store = store
        self._data = data
        self._directory = AttemptDirectory(Path(assignment.directory), assignment.rank)
        self._check_interval_s = check_interval_s
        self._log: BinaryIO | None = None  # kept open: the inode of a removed file would be given to another one
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
        """Send nothing more than the part of a file that is on its way."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def close(self) -> None:
        """Stop, and close the log."""
        self.stop()
        self._close_log()

    def send_all(self, *, checkpoints: bool) -> None:
        """Send what the attempt has left, after its end; nothing if it is over for the head.

        Raises `FileStoreError` and `OSError`.
        """
        self.stop()
        try:
            self._send_log(last=True)
            if checkpoints:
                self._send_checkpoints()
            for path in self._saved() if self._directory.rank == 0 else ():
                self._send(path)
        except RefusedFileError as error:
            log.warning("%s", error)

    def _follow(self) -> None:
        while not self._stopped.wait(self._check_interval_s):
            try:
                self._send_log()
                self._send_checkpoints(self._stopped.is_set)
            except RefusedFileError as error:
                log.warning("%s", error)
                return
            except (PodiumError, OSError, ValueError) as error:  # `ValueError`: a name that is not UTF-8
                log.info("sending again later: %s", error)

    def _send_log(self, *, last: bool = False) -> None:
        """Append what is new; all of a log that was shortened, which is another file then."""
        try:
            file = open_regular(self._directory.log)
        except FileNotFoundError:
            return
        if self._log is not None and os.path.sameopenfile(file.fileno(), self._log.fileno()):
            file.close()
        else:
            self._close_log()
            self._log, self._log_sent = file, 0
        key = self._key(self._directory.log)
        while content := os.pread(self._log.fileno(), LOG_PART_BYTES, self._log_sent):
            patience_s = None if last else 0.0
            self._log_sent = self._head.append_log(key, self._log_sent, content, patience_s=patience_s)

    def _close_log(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def _send_checkpoints(self, stopped: Callable[[], bool] = never) -> None:
        if self._directory.checkpoint.exists():
            self._send(self._directory.checkpoint, stopped)
        numbers = [path for path in _folders(self._directory.checkpoint_folders) if path.name.isdecimal()]
        if not numbers:
            return
        newest = max(numbers, key=lambda path: int(path.name))
        for path in sorted(_files(newest), key=lambda path: path.name == "podium.json" and path.parent == newest):
            self._send(path, stopped)  # the file that makes the folder valid is the last
        folders, within = f"{self._key(self._directory.checkpoint_folders)}/", f"{self._key(newest)}/"
        others = [key for key in self._sent if key.startswith(folders) and not key.startswith(within)]
        self._store.remove(others)
        for key in others:
            del self._sent[key]

    def _saved(self) -> Iterator[Path]:
        """The files that stay, but the log and checkpoints."""
        for path in _files(self._directory.root):
            name = path.relative_to(self._directory.root)
            if name.parts[0].split("-")[0] not in ("log", "work", "tmp") and not is_checkpoint(self._key(path)):
                yield path

    def _send(self, path: Path, stopped: Callable[[], bool] = never) -> None:
        """Send a file unless it was sent. A link keeps its content if the trial replaces it meanwhile."""
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
                self._store.put(key, link, sha256_of(link), stopped=stopped)
                self._sent[key] = version
        finally:
            link.unlink()

    def _key(self, path: Path) -> str:
        return self._data.relative(path)


def remove_checkpoints(store: FileStore, data: DataDirectory, directory: AttemptDirectory) -> None:
    """Remove the checkpoints of a trial that is over from the store. Raises `FileStoreError`."""
    prefix = f"{Path(data.relative(directory.root)).parent}/"
    store.remove([stored.key for stored in store.list(prefix) if is_checkpoint(stored.key)])


def _folders(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError:
        return []


def _files(folder: Path) -> list[Path]:
    """The files below a folder, without links and temporary ones, by path."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not is_temporary(name)]
        found += [Path(parent, name) for name in names if not is_temporary(name)]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())
