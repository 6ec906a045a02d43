"""All paths of the data directory; every process.

The paths in it of one service are in `per_service_paths`, those of an attempt in `attempt_directory`, and those outside
of it in `runtime_directory`. No other module builds such paths. Input of clients never becomes part of a path: folders
are named by numbers and hashes of the service.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from podium.sweep.runtime.per_service_paths import SERVICES, ServicePaths
from podium.sweep.runtime.ray_tls import RayTls
from podium.sweep.values.errors import DataDirectoryError

# Folders of a data directory, relative to it.
BUNDLES = "bundles"
DATASETS = "datasets"
TRIALS = "trials"


@dataclass(frozen=True, slots=True)
class DataDirectory(ServicePaths):
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
        """Held while an ensemble is being built; see `podium.sweep.runtime.weights_removal_lock`."""
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
        """The token that the nodes of an existing Ray cluster get; made by `podium serve --ray-address`."""
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
        """The object store that has files of attempts, if any.

        See `podium.sweep.file_store.recorded_object_store_config`.
        """
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
        return self.root / BUNDLES

    @property
    def data_cache(self) -> Path:
        return self.root / DATASETS

    @property
    def trials(self) -> Path:
        return self.root / TRIALS

    def slot_folder(self, name: str) -> Path:
        """Where the slot `name` has its empty folders between two attempts."""
        return self.root / "slots" / name

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

    @classmethod
    def relative_attempt(cls, sweep_id: int, number: int, attempt: int, nonce: str) -> str:
        """`relative` of the folder of an attempt, in a fraction of the time."""
        return f"{TRIALS}/{cls.attempt_key(sweep_id, number, attempt, nonce)}"

    @staticmethod
    def relative_bundle(sha256: str) -> str:
        """`relative` of the folder of a bundle, in a fraction of the time."""
        return f"{BUNDLES}/{sha256}"

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


def default_data_directory() -> Path:
    """`$PODIUM_DATA_DIR`, or `podium-data` in the working directory."""
    return Path(os.environ.get("PODIUM_DATA_DIR") or "podium-data")
