"""The folder of Ray's control store on the head of a cluster: with it, a restarted head has its nodes again; head.

Ray's control store, the GCS, keeps its data in memory, unless it gets a folder for RocksDB. With this folder, a GCS
that starts again at the same address knows the nodes and the slots on them. Raylets and slots of nodes wait for it for
`KEEP_S`, and attempts run meanwhile. After `KEEP_S` they have ended, so the folder is of no use and is removed.

RocksDB in the GCS is new in Ray, so nothing depends on it: a store with which Ray does not start, or that was kept and
with which Ray does not run for `PROBATION_S`, is removed, and the nodes join the new GCS as new ones.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from podium.sweep.ray_cluster.ray_connection_settings import KEEP_S
from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.package_versions import versions
from podium.sweep.runtime.service_settings import ServiceSettings

PROBATION_S = 20.0
TOUCH_S = 5.0  # between two records that the head is alive
_VERSIONS = ("podium", "ray", "python")


@dataclass(frozen=True, slots=True)
class RayStore:
    """The store in the data directory of a head."""

    root: Path
    head: str  # what the nodes in this store expect of their head

    @classmethod
    def of(cls, settings: ServiceSettings) -> RayStore | None:
        """The store of a service whose Ray other machines join; None for other services."""
        if not settings.cluster or settings.existing_cluster is not None:
            return None
        token = settings.data.ray_token
        about = {
            **{name: versions().get(name) for name in _VERSIONS},
            "address": settings.cluster,
            "tls": settings.ray_tls,
            "artifact_url": settings.artifact_url,  # which nodes learn when they join
            "token_changed_ns": token.stat().st_mtime_ns if token.exists() else None,
        }
        return cls(settings.data.ray_store, json.dumps(about))

    @property
    def gcs(self) -> Path:
        """The folder of the GCS."""
        return self.root / "gcs"

    def prepare(self, now_s: float) -> bool:
        """Keep a store that nodes may still be in, or make an empty one; returns whether it was kept.

        Args:
            now_s: The time of day.

        Raises:
            OSError: The disk is full, for example; the service can do without the store.
        """
        kept = self._is_usable(now_s)
        if not kept:
            self.remove()
            self.gcs.mkdir(parents=True, mode=0o700)
            write_atomic(self._head, self.head.encode())
        else:
            self._probation.touch()
        self._alive.touch()
        return kept

    def touch(self) -> None:
        """Record that the head is alive."""
        with contextlib.suppress(OSError):  # a full disk, or a removed store
            self._alive.touch()

    def pass_probation(self) -> None:
        """Ray has run with this store for long enough."""
        self._probation.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the store: the nodes in it leave the cluster when Ray starts again, and join as new ones."""
        shutil.rmtree(self.root, ignore_errors=True)

    def _is_usable(self, now_s: float) -> bool:
        try:
            age_s = now_s - self._alive.stat().st_mtime
            return self._head.read_text() == self.head and 0 <= age_s < KEEP_S and not self._probation.exists()
        except OSError:
            return False

    @property
    def _head(self) -> Path:
        return self.root / "head.json"

    @property
    def _alive(self) -> Path:
        return self.root / "alive"

    @property
    def _probation(self) -> Path:
        """Exists while Ray has not proven that it runs with a store that was kept."""
        return self.root / "probation"


class StoreWatch:
    """Records that the head is alive, and that Ray runs with its store."""

    def __init__(self, store: RayStore | None) -> None:
        self._store = store
        self._started_s = self._touched_s = time.monotonic()
        self._on_probation = True

    def tick(self) -> None:
        """To be called at least every second."""
        now_s = time.monotonic()
        if self._store is None or now_s - self._touched_s < TOUCH_S:
            return
        self._touched_s = now_s
        self._store.touch()
        if self._on_probation and now_s - self._started_s > PROBATION_S:
            self._on_probation = False
            self._store.pass_probation()
