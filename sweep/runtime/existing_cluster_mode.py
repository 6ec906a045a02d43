"""How a service uses an existing Ray cluster: `podium serve --ray-address`; every component."""

from __future__ import annotations

import re
from dataclasses import dataclass

from podium.sweep.runtime.setting_cli_options import file_option, option
from podium.sweep.values.errors import ServiceError

MAX_SLOTS = 8
IDLE_RELEASE_S = 300.0
_ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[1-9][0-9]{0,4})")


@dataclass(frozen=True, slots=True)
class ExistingCluster:
    """An existing Ray cluster, which others run, and what this service may take of it."""

    address: str = option(  # HOST:PORT of its GCS
        "", "run trials on the nodes of this existing Ray cluster", name="ray_address", metavar="HOST:PORT"
    )
    token_file: str = file_option("the token of that cluster, if it has token authentication", name="ray_token")
    max_slots: int = option(
        MAX_SLOTS,
        f"most slots at a time on that cluster [default: {MAX_SLOTS}]",
        type=int | None,
        min=1,
        max=10_000,
    )
    cpus_per_slot: int = option(
        1, "CPUs of a slot without a GPU on that cluster [default: 1]", type=int | None, min=1, max=10_000
    )
    idle_release_s: float = option(
        IDLE_RELEASE_S,
        f"release a slot after this time without a trial [default: {IDLE_RELEASE_S:g}]",
        name="idle_release",
        type=float | None,
        metavar="SECONDS",
        min=1,
    )
    node_data_dir: str = file_option(
        "on its nodes, for code, data and running trials [default: TMPDIR]", metavar="FOLDER"
    )

    def __post_init__(self) -> None:
        """Raises `ServiceError` if the address is not one of a GCS."""
        match = _ADDRESS.fullmatch(self.address)
        if match is None or int(match["port"]) > 65535:
            raise ServiceError(f"--ray-address {self.address}: write HOST:PORT, as `ray start --address` takes it")
