"""The options of `podium serve` for a Ray cluster that exists already; `podium serve`."""

from __future__ import annotations

from pathlib import Path

from podium.sweep.runtime.joined_cluster import IDLE_RELEASE_S, MAX_SLOTS, JoinedCluster
from podium.sweep.runtime.service_settings import DevicePlan
from podium.sweep.values.errors import ServiceError


def joined_cluster(
    address: str,
    *,
    cluster: str,
    plan: DevicePlan,
    token: Path | None,
    max_slots: int | None,
    cpus_per_slot: int | None,
    idle_release_s: float | None,
    node_data_dir: Path | None,
    trials_per_device: int = 1,
) -> JoinedCluster | None:
    """The cluster at `--ray-address`; None without one. Raises `ServiceError` for options that do not fit together."""
    others = {
        "--ray-token": token, "--max-slots": max_slots, "--cpus-per-slot": cpus_per_slot,
        "--idle-release": idle_release_s, "--node-data-dir": node_data_dir,
    }  # fmt: skip
    if not address:
        for option, value in others.items():
            if value is not None:
                raise ServiceError(f"{option} is for a Ray cluster that exists already; give --ray-address as well")
        return None
    if not cluster:
        raise ServiceError(
            "--ray-address: give --cluster as well, the address of this machine at which the nodes of the Ray cluster "
            "reach it"
        )
    if plan.count is not None or plan.kind == "pretend-gpu":
        raise ServiceError("--devices: with --ray-address it must be auto, gpu or cpu; --max-slots limits the slots")
    if trials_per_device > 1:
        raise ServiceError("--trials-per-device: not with --ray-address; a slot there takes a whole device")
    if node_data_dir is not None and not node_data_dir.is_absolute():
        raise ServiceError(f"--node-data-dir {node_data_dir}: write an absolute path of the nodes")
    return JoinedCluster(
        address,
        "" if token is None else _readable(token),
        MAX_SLOTS if max_slots is None else max_slots,
        1 if cpus_per_slot is None else cpus_per_slot,
        IDLE_RELEASE_S if idle_release_s is None else idle_release_s,
        "" if node_data_dir is None else str(node_data_dir),
    )


def _readable(token: Path) -> str:
    try:
        content = token.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ServiceError(f"--ray-token {token}: {getattr(error, 'strerror', None) or error}") from error
    if not content:
        raise ServiceError(f"--ray-token {token}: the file is empty; it must contain the token of the Ray cluster")
    return str(token.absolute())
