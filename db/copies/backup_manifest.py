"""What a snapshot in a backup consists of, as JSON; the processes of `podium backup` and `podium restore`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from podium.sweep.values.errors import DatabaseError

FORMAT = 1


@dataclass(frozen=True, slots=True)
class BackedUpFile:
    """A file, whose content is the object of this hash."""

    key: str  # path relative to the data directory
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class RemovedFile:
    """A file of a trial that the service removed after the snapshot of the database, before the file was copied."""

    key: str
    reason: str
    at: float
    trial_id: int
    name: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """One snapshot: the database, and the files that it names."""

    service: str  # its name, see the table `service`
    created_at: float  # of the snapshot of the database
    podium_version: str
    schema: str
    kind: str  # of the database: sqlite or postgresql
    database: BackedUpFile
    files: tuple[BackedUpFile, ...]
    removed: tuple[RemovedFile, ...]
    problems: tuple[str, ...]  # files that are missing or damaged in the service itself
    data: tuple[dict[str, Any], ...]  # the data sets of the sweeps, which are not part of a backup
    format: int = FORMAT

    def to_json(self) -> bytes:
        """Write it."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, content: bytes, name: str) -> Manifest:
        """Read it. Raises `DatabaseError` if it was written by a later version, or is damaged."""
        try:
            values = json.loads(content)
            if values["format"] != FORMAT:
                raise DatabaseError(f"{name} was written by a newer Podium {values['podium_version']}; upgrade Podium")
            return cls(
                **{
                    **values,
                    "database": BackedUpFile(**values["database"]),
                    "files": tuple(BackedUpFile(**each) for each in values["files"]),
                    "removed": tuple(RemovedFile(**each) for each in values["removed"]),
                    "problems": tuple(values["problems"]),
                    "data": tuple(values["data"]),
                }
            )
        except (ValueError, KeyError, TypeError) as error:
            raise DatabaseError(f"{name} is damaged: {error}; restore another snapshot") from error
