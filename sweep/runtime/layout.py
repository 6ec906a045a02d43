"""All paths of the data directory, the runtime directory and the folders of attempts; every process.

No other module builds such paths, except `service_directory`, which has those of one service. Input of clients never
becomes part of a path: folders are named by numbers and hashes of the service.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from podium.sweep.runtime.ray_tls import RayTls
from podium.sweep.runtime.service_directory import SERVICES, ServiceDirectory
from podium.sweep.values.errors import DataDirectoryError

_FIGURES = ".figures.json"
ARTIFACTS = "artifacts"  # folder of an attempt, and prefix of the names of its files
_ATTEMPT = re.compile(r"([1-9][0-9]*)(-[0-9a-f]{8})?")  # the name of the folder of an attempt; group 1: its number


@dataclass(frozen=True, slots=True)
class DataDirectory(ServiceDirectory):
    """Persistent data: database, tokens, code, data sets, and the files of trials."""

    def services(self) -> list[DataDirectory]:
        """The services that have a folder of their own."""
        try:
            names = sorted(path.name for path in (self.root / SERVICES).iterdir())
        except OSError:
            return []
        return [DataDirectory(self.root, name) for name in names]

    @property
    def database(self) -> Path:
        return self.root / "podium.sqlite3"

    @property
    def database_binding(self) -> Path:
        """The PostgreSQL database of this directory, if it has one; see `podium.db.schema.database_binding`."""
        return self.root / "database.json"

    @property
    def backups(self) -> Path:
        """Backups of the database, by `podium db backup` and before upgrades."""
        return self.root / "backups"

    @property
    def unfinished_restore(self) -> Path:
        """What `podium restore` is restoring; removed when all files and the database are there."""
        return self.root / "restore.json"

    @property
    def scheduler_epoch(self) -> Path:
        """The epoch of the last scheduler; see `podium.sweep.scheduling.scheduler_epoch_file`."""
        return self.root / "scheduler.epoch"

    @property
    def creation_lock(self) -> Path:
        """Held while a service creates what all services of the directory use: token, certificate, store id."""
        return self.root / "creation.lock"

    @property
    def weights_lock(self) -> Path:
        """Held while an ensemble is being built; see `podium.sweep.runtime.weights_lock`."""
        return self.root / "weights.lock"

    @property
    def migration_lock(self) -> Path:
        return self.root / "migration.lock"

    @property
    def admin_token(self) -> Path:
        return self.root / "admin.token"

    @property
    def ray_token(self) -> Path:
        return self.root / "ray.token"

    @property
    def node_token(self) -> Path:
        """The token that the nodes of a Ray cluster of others get; made by `podium serve --ray-address`."""
        return self.root / "node.token"

    @property
    def cluster_certificate(self) -> Path:
        """Of the port for nodes; made by `podium serve --cluster`, and trusted by its SHA-256."""
        return self.root / "cluster.crt"

    @property
    def cluster_key(self) -> Path:
        return self.root / "cluster.key"

    @property
    def ray_tls(self) -> RayTls:
        """Certificates of Ray on this machine, with `--ray-tls`."""
        return RayTls(self.root / "ray.crt", self.root / "ray.key", self.root / "ray-authority.crt")

    @property
    def ray_authority_key(self) -> Path:
        """Of the authority that signs the certificates of Ray; on the head only."""
        return self.root / "ray-authority.key"

    @property
    def artifact_store(self) -> Path:
        """The object store that has files of attempts, if any; see `podium.sweep.file_store.object_store_record`."""
        return self.root / "artifact-store.json"

    @property
    def outbox(self) -> Path:
        """Of a node: files on their way to the head."""
        return self.root / "outbox"

    @property
    def models(self) -> Path:
        """Of a node: model files of members, by their hash."""
        return self.root / "models"

    def model(self, sha256: str) -> Path:
        """A model file on a node."""
        return self.models / f"{sha256}.safetensors"

    @property
    def node_certificate(self) -> Path:
        """Of a node: for connections of the head; the head knows its SHA-256 by the reports of the node."""
        return self.root / "node.crt"

    @property
    def node_key(self) -> Path:
        return self.root / "node.key"

    @property
    def uploads(self) -> Path:
        """Files that nodes have sent in part."""
        return self.root / "uploads"

    @property
    def bundles(self) -> Path:
        return self.root / "bundles"

    @property
    def data_cache(self) -> Path:
        return self.root / "datasets"

    @property
    def trials(self) -> Path:
        return self.root / "trials"

    @property
    def evaluations(self) -> Path:
        return self.root / "evaluations"

    @property
    def demo_figures(self) -> Path:
        """The latest measurements of `podium demo`, as JSON."""
        return self.root / "demo.json"

    def probabilities(self, evaluation_id: int) -> Path:
        """The predictions of an ensemble for each row of an evaluation, in numpy's format."""
        return self.evaluations / f"{evaluation_id}.npy"

    def posted_rows(self, evaluation_id: int) -> Path:
        """The rows posted with an evaluation request."""
        return self.evaluations / f"{evaluation_id}.rows.safetensors"

    def bundle(self, sha256: str) -> Path:
        return self.bundles / sha256

    def bundle_archive(self, sha256: str) -> Path:
        """The bundle as it was uploaded; other machines fetch it, and check its hash."""
        return self.bundles / f"{sha256}.zip"

    @staticmethod
    def attempt_key(sweep_id: int, number: int, attempt: int, nonce: str) -> str:
        """The folder of an attempt relative to `trials`.

        The nonce distinguishes it from an attempt that had the same numbers before a backup of the database was
        restored; attempts of earlier versions have none.
        """
        return f"{sweep_id}/{number}/{attempt}-{nonce}" if nonce else f"{sweep_id}/{number}/{attempt}"

    def attempt(self, sweep_id: int, number: int, attempt: int, nonce: str) -> Path:
        return self.trials / self.attempt_key(sweep_id, number, attempt, nonce)

    def relative(self, path: Path) -> str:
        """A path below the data directory, relative to it, so that it means the same file on each machine."""
        return str(path.relative_to(self.root))

    def prepare(self) -> None:
        """Create missing folders with mode 0700. Raises `DataDirectoryError` on failure."""
        try:
            for folder in dict.fromkeys((self.root, self.own.parent if self.service else self.root, self.own)):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for folder in (self.logs, self.bundles, self.data_cache, self.trials, self.evaluations):
                folder.mkdir(exist_ok=True, mode=0o700)
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as error:
            raise DataDirectoryError(
                f"cannot write to the data directory {self.root}: {error.strerror}; choose another with --data-dir"
            ) from error


def attempt_of_folder(name: str) -> tuple[int, str]:
    """Number and nonce of the attempt whose folder has this name; (0, "") if it is the folder of none."""
    match = _ATTEMPT.fullmatch(name)
    return (0, "") if match is None else (int(match[1]), match[0].partition("-")[2])


@dataclass(frozen=True, slots=True)
class AttemptDirectory:
    """The paths in the folder of an attempt, as one of its ranks sees them; most attempts have rank 0 only."""

    root: Path
    rank: int = 0

    @property
    def log(self) -> Path:
        return self._of_rank("log")

    @property
    def work(self) -> Path:
        """The working directory of the process, removed after it has ended."""
        return self._of_rank("work")

    @property
    def temporary(self) -> Path:
        """TMPDIR of the process, removed after it has ended."""
        return self._of_rank("tmp")

    @property
    def shared(self) -> Path:
        """A folder for all ranks on a machine: that of rank 0, removed after it has ended."""
        return self.root / "work"

    def leftovers(self) -> list[Path]:
        """The folders of all ranks that are removed after they have ended."""
        return [path for name in ("work", "tmp") for path in (self.root / name, *self.root.glob(f"{name}-*"))]

    def _of_rank(self, name: str) -> Path:
        return self.root / (f"{name}-{self.rank}" if self.rank else name)

    @property
    def model(self) -> Path:
        return self.root / "model.safetensors"

    @property
    def checkpoint(self) -> Path:
        return self.root / "checkpoint.safetensors"

    @property
    def checkpoint_folders(self) -> Path:
        """Checkpoints that are folders, by number; see `podium.sweep.trial_process.directory_checkpoints`."""
        return self.root / "checkpoints"

    @property
    def start(self) -> AttemptDirectory:
        """On a node: a copy of the checkpoint that an interval of a population starts from, in the same form."""
        return AttemptDirectory(self.root / "start")

    @property
    def artifacts(self) -> Path:
        """The files saved with `save_artifact`, by name."""
        return self.root / ARTIFACTS

    @property
    def predictions(self) -> Path:
        return self.root / "predictions.safetensors"

    def earlier(self, attempt: int, first: int = 1) -> list[AttemptDirectory]:
        """The existing folders of the earlier attempts of the trial, newest first; `attempt` is the number of this one,
        and `first` that of the first one to return.

        Several have the same number if a backup of the database was restored; they are ordered by modification time.
        """
        found: list[tuple[int, int, str]] = []
        if attempt <= first:
            return []
        try:
            with os.scandir(self.root.parent) as entries:
                for entry in entries:
                    match = _ATTEMPT.fullmatch(entry.name)
                    if match and first <= int(match[1]) < attempt:
                        found.append((int(match[1]), entry.stat().st_mtime_ns, entry.path))
        except OSError:  # the attempt starts without a checkpoint
            return []
        return [AttemptDirectory(Path(path)) for _, _, path in sorted(found, reverse=True)]

    def prepare(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.work.mkdir(exist_ok=True)
        self.temporary.mkdir(exist_ok=True)


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

    @property
    def artifacts_socket(self) -> Path:
        """Takes requests for files in the object store; see `podium.sweep.file_store.artifact_server`."""
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


def default_data_directory() -> Path:
    """`$PODIUM_DATA_DIR`, or `podium-data` in the working directory."""
    return Path(os.environ.get("PODIUM_DATA_DIR") or "podium-data")
