"""The paths of the runtime directory: sockets, and files that exist only while the service runs; every component."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DataDirectoryError

_FIGURES = ".figures.json"


@dataclass(frozen=True, slots=True)
class RuntimeDirectory:
    """Files that exist only while the service runs: sockets and Ray's files.

    The path is short, since paths of Unix sockets are limited to 107 characters.
    """

    root: Path

    @property
    def ray(self) -> Path:
        return self.root / "ray"

    @property
    def settings_file(self) -> Path:
        """The settings of the service, for its components; see `podium.sweep.runtime.service_settings`."""
        return self.root / "settings.json"

    @property
    def database_url(self) -> Path:
        """The URL of the database, if `podium serve` got it in its environment; only the owner may read it."""
        return self.root / "database.url"

    def gateway_socket(self, name: str) -> Path:
        """The socket on which the gateway process `name` answers the other components."""
        return self.root / f"{name}.sock"

    def figures_socket(self, name: str) -> Path:
        """The socket on which the gateway process `name` tells the others its figures."""
        return self.root / f"{name}.figures.sock"

    def saved_figures(self, name: str) -> Path:
        """The figures that the gateway process `name` last saved or told, for its successor."""
        return self.root / f"{name}{_FIGURES}"

    @property
    def template_socket(self) -> Path:
        """Takes requests for processes; see `podium.sweep.process_template`."""
        return self.root / "template.sock"

    @property
    def ray_workers_socket(self) -> Path:
        """Takes the raylet's requests for workers; see `podium.sweep.ray_cluster.ray_worker_template`."""
        return self.root / "ray-workers.sock"

    @property
    def agent_socket(self) -> Path:
        """Takes the requests of slots for files; see `podium.sweep.node_agent`."""
        return self.root / "agent.sock"

    def slot_socket(self, name: str) -> Path:
        """Takes the calls of the scheduler for the slot `name`."""
        return self.root / f"{name}.sock"

    @property
    def artifacts_socket(self) -> Path:
        """Takes requests for files in the object store; see `podium.sweep.file_store.object_store_fetch_server`."""
        return self.root / "artifacts.sock"

    def wake_socket(self, part: str) -> Path:
        """A datagram socket that notifies the component `part` of changes in the database."""
        return self.root / f"{part}.wake"

    def replica_socket(self, replica_id: int, epoch: int) -> Path:
        return self.root / f"r{replica_id}-{epoch}.sock"

    def worker_socket(self, name: str) -> Path:
        """The socket on which a worker process reports its state to the host."""
        return self.root / f"{name}.sock"

    @classmethod
    def of(cls, data: DataDirectory) -> RuntimeDirectory:
        """The runtime directory of a data directory; deterministic, so that components find each other."""
        base = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
        digest = hashlib.sha256(str(data.own.resolve()).encode()).hexdigest()[:10]
        return cls(base / f"podium-{os.getuid()}-{digest}")

    def prepare(self) -> None:
        """Create it with mode 0700, or empty it of counters that an earlier service saved.

        Raises `DataDirectoryError` if it belongs to another user.
        """
        try:
            self.root.mkdir(mode=0o700, exist_ok=True)
            status = self.root.lstat()
        except OSError as error:
            raise DataDirectoryError(f"cannot create the runtime directory {self.root}: {error}") from error
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise DataDirectoryError(
                f"the runtime directory {self.root} is owned by or accessible to other users; remove it or set "
                "XDG_RUNTIME_DIR"
            )
        for leftover in self.root.glob(f"*{_FIGURES}"):
            leftover.unlink(missing_ok=True)
