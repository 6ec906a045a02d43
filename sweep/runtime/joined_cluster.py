"""How a service uses the Ray cluster of others: `podium serve --ray-address`; every component."""

from __future__ import annotations

import re
from dataclasses import dataclass

from podium.sweep.values.errors import ServiceError

MAX_SLOTS = 8
IDLE_RELEASE_S = 300.0
_ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[1-9][0-9]{0,4})")


@dataclass(frozen=True, slots=True)
class JoinedCluster:
    """A Ray cluster that exists, and what this service may take of it."""

    address: str  # HOST:PORT of its GCS
    token_file: str = ""  # "": the cluster has no token authentication
    max_slots: int = MAX_SLOTS
    cpus_per_slot: int = 1  # on nodes without GPUs
    idle_release_s: float = IDLE_RELEASE_S  # without a trial, after which a slot is released
    node_data_dir: str = ""  # the folder on each node for code, data and running trials; "": that of temporary files

    def __post_init__(self) -> None:
        """Raises `ServiceError` if the address is not one of a GCS."""
        match = _ADDRESS.fullmatch(self.address)
        if match is None or int(match["port"]) > 65535:
            raise ServiceError(f"--ray-address {self.address}: write HOST:PORT, as `ray start --address` takes it")
