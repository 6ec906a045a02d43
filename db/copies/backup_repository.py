"""A backup in a folder or an object store: contents by their hash, and snapshots that name them.

The processes of `podium backup` and `podium restore`. A content is stored once, however many snapshots have it. The
manifest of a snapshot is written last: without it, there is no snapshot.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from podium.db.copies.backup_manifest import BackedUpFile, Manifest
from podium.sweep.file_store.fsspec_folder import FsspecFolder
from podium.sweep.file_store.object_store_url import ArtifactUrl
from podium.sweep.runtime.safe_file_reads import open_regular, sha256_of
from podium.sweep.values.errors import DamagedFileError, DatabaseError

PATIENCE_S = 120.0
STALE_S = 86_400.0
MARK = "podium-backup.json"  # the service whose backup it is
_SNAPSHOTS = "snapshots"
_OBJECTS = "objects"
_SUFFIX = ".json"
_SPOOL = ".backup-"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Stored:
    """A file in the backup."""

    file: BackedUpFile
    is_new: bool  # its content was not there before


class BackupRepository:
    """The snapshots of one service. All methods raise `FileStoreError` if the place cannot be used."""

    def __init__(self, folder: FsspecFolder) -> None:
        self._folder = folder
        self.name = folder.name
        self._known: dict[str, int] = {}  # size by hash

    @classmethod
    def open(cls, place: str, *, patience_s: float = PATIENCE_S) -> BackupRepository:
        """The backup in a folder, or at a URL. Raises `ServiceError` or `MissingExtraError`."""
        is_url = "://" in place
        url = ArtifactUrl.parse(place, "the place") if is_url else ArtifactUrl("file", str(Path(place).absolute()))
        return cls(FsspecFolder.open(url, patience_s=patience_s))

    def claim(self, service: str) -> None:
        """Make it the backup of this service. Raises `DatabaseError` if it is that of another, or of something else."""
        try:
            found = json.loads(self._folder.read(MARK))["service"]
        except FileNotFoundError:
            if not all(name.startswith(_SPOOL) for name in self._folder.names()):
                raise DatabaseError(f"{self.name} has other files; give an empty folder, or that of a backup") from None
            self._folder.write(MARK, json.dumps({"service": service}).encode())
            return
        except (ValueError, KeyError, TypeError) as error:
            raise DatabaseError(f"{self.name}/{MARK} is damaged: {error}; give another folder") from error
        if found != service:
            raise DatabaseError(f"{self.name} has the backups of another service; give this one a folder of its own")

    def scan(self) -> None:
        """Find the contents that are there already."""
        for name, about in self._folder.entries(_OBJECTS, below=True):
            self._known[name.rpartition("/")[2]] = int(about["size"])

    def has(self, sha256: str, size_bytes: int) -> bool:
        """Whether a content is there; only after `scan`."""
        return self._known.get(sha256) == size_bytes

    @contextmanager
    def spool(self, root: Path) -> Iterator[Path]:
        """A folder for files that are being copied: in the backup if that is on this machine, else in `root`."""
        parent = self._folder.local or root
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for left in parent.glob(f"{_SPOOL}*"):  # by a backup that was killed
            if time.time() - left.stat().st_mtime > STALE_S:
                shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=_SPOOL, suffix=f".{os.getpid()}.tmp", dir=parent))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def add(self, path: Path, key: str, spool: Path, *, expected: str | None = None) -> Stored:
        """Store a file, and return what was stored: a file that grows meanwhile is stored as far as it was read.

        Raises `OSError` if it cannot be read, and `DamagedFileError` if it does not have the `expected` hash.
        """
        copied = spool / secrets.token_hex(8)
        try:
            file = _spooled(path, key, copied)
            if expected not in (None, file.sha256):
                raise DamagedFileError(f"{key} is damaged: its content has changed since it was saved")
            if self.has(file.sha256, file.size_bytes):
                return Stored(file, is_new=False)
            self._folder.move(_object(file.sha256), copied)
            self._known[file.sha256] = file.size_bytes
            return Stored(file, is_new=True)
        finally:
            copied.unlink(missing_ok=True)

    def fetch(self, file: BackedUpFile, path: Path) -> None:
        """Write a content to `path`, complete. Raises `DamagedFileError` if it is missing or has another hash."""
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary.touch(mode=0o600)
            self._folder.get(_object(file.sha256), temporary)
            if sha256_of(temporary) != file.sha256:
                raise DamagedFileError(f"{self.name}: {file.key} is damaged: its content has another SHA-256")
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            temporary.replace(path)
        except FileNotFoundError as error:
            raise DamagedFileError(f"{self.name}: the content of {file.key} is missing") from error
        finally:
            temporary.unlink(missing_ok=True)

    def snapshots(self) -> list[str]:
        """The names of the snapshots, oldest first."""
        names = (name.rpartition("/")[2] for name, _ in self._folder.entries(_SNAPSHOTS))
        return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))

    def save(self, manifest: Manifest) -> str:
        """Complete a snapshot; returns its name."""
        name = time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime(manifest.created_at))
        while name in self.snapshots():
            name += "-2"
        self._folder.write(f"{_SNAPSHOTS}/{name}{_SUFFIX}", manifest.to_json())
        return name

    def manifest(self, name: str | None) -> tuple[str, Manifest]:
        """A snapshot, by default the newest, with its name. Raises `DatabaseError` if there is none."""
        names = self.snapshots()
        if not names:
            raise DatabaseError(f"there is no snapshot in {self.name}; give the folder or URL of `podium backup`")
        if name is not None and name not in names:
            raise DatabaseError(f"{self.name} has no snapshot {name!r}; it has {', '.join(names[-5:])}")
        chosen = names[-1] if name is None else name
        content = self._folder.read(f"{_SNAPSHOTS}/{chosen}{_SUFFIX}")
        return chosen, Manifest.from_json(content, f"the snapshot {chosen} in {self.name}")


def _object(sha256: str) -> str:
    return f"{_OBJECTS}/{sha256[:2]}/{sha256}"


def _spooled(path: Path, key: str, copy: Path) -> BackedUpFile:
    digest, size = hashlib.sha256(), 0
    with open_regular(path) as reading, copy.open("xb") as writing:
        while chunk := reading.read(_CHUNK):
            digest.update(chunk)
            writing.write(chunk)
            size += len(chunk)
    return BackedUpFile(key, digest.hexdigest(), size)
