"""The object store of a data directory, as `podium serve` has recorded it; every process that reads such files."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.layout import DataDirectory


@dataclass(frozen=True, slots=True)
class ObjectStoreConfig:
    """Where the files of nodes are. It stays when the service stops: the files are still there."""

    url: str
    store_id: str  # also in the store: two services must not share a folder
    socket: str  # of the server of the last service, which has the credentials

    def save(self, data: DataDirectory) -> None:
        """Write it into the data directory. Raises `OSError`."""
        write_atomic(data.artifact_store, json.dumps(asdict(self)).encode(), mode=0o600)


def recorded(data: DataDirectory) -> ObjectStoreConfig | None:
    """The object store of a data directory; None without one. Raises `OSError`."""
    try:
        content = Path(data.artifact_store).read_bytes()
    except FileNotFoundError:
        return None
    return ObjectStoreConfig(**json.loads(content))
