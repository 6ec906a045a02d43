"""The paths of one service in a data directory that several hosts may share: locks, logs, addresses; every process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SERVICES = "services"  # folder of the services that share a data directory


@dataclass(frozen=True, slots=True)
class ServicePaths:
    """What belongs to one service alone, in a folder of its own if several services share the data directory.

    `root`: the data directory. `service`: the name of this one of several services, its host. "": the only service, or
    one that has the root as its own folder.
    """

    root: Path
    service: str = ""

    @property
    def own(self) -> Path:
        """What belongs to this service alone: locks, logs, the addresses of its components."""
        return self.root / SERVICES / self.service if self.service else self.root

    @property
    def start_name(self) -> Path:
        """The random name of this folder among the services of a database."""
        return self.own / "service.name"

    @property
    def service_lock(self) -> Path:
        return self.own / "service.lock"

    @property
    def scheduler_lock(self) -> Path:
        return self.own / "scheduler.lock"

    @property
    def ray_lock(self) -> Path:
        """Held by the parent process of Ray until all its descendants have ended."""
        return self.own / "ray.lock"

    @property
    def service_file(self) -> Path:
        """The address of a running service and the process ids of its components."""
        return self.own / "service.json"

    @property
    def logs(self) -> Path:
        return self.own / "logs"

    @property
    def traffic_history(self) -> Path:
        """The traffic of each ensemble in the last 24 hours; a gateway writes it."""
        return self.own / "traffic-history.json"

    def recent_inputs(self, gateway: str) -> Path:
        """The mean and spread of the rows that a gateway process predicted in the last hour; it writes them."""
        return self.own / f"recent-inputs-{gateway}.json"

    @property
    def ray_store(self) -> Path:
        """What Ray keeps for a restarted head of a cluster; see `podium.sweep.ray_cluster.ray_gcs_storage`."""
        return self.own / "ray-store"
