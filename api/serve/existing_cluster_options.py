"""The options of `podium serve` for an existing Ray cluster; `podium serve`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.runtime.service_settings import DevicePlan
from podium.sweep.runtime.setting_cli_options import given_settings, options_of
from podium.sweep.values.errors import ServiceError


def existing_cluster(options: Mapping[str, Any], plan: DevicePlan) -> ExistingCluster | None:
    """The cluster at `--ray-address`; None without one. Raises `ServiceError` for options that do not fit together."""
    if not options["ray_address"]:
        for option in options_of(ExistingCluster):
            if options[option.name]:
                raise ServiceError(f"{option.flag} is for an existing Ray cluster; give --ray-address as well")
        return None
    if not options["cluster"]:
        raise ServiceError(
            "--ray-address: give --cluster as well, the address of this machine at which the nodes of the Ray cluster "
            "reach it"
        )
    if plan.count is not None or plan.kind == "pretend-gpu":
        raise ServiceError("--devices: with --ray-address it must be auto, gpu or cpu; --max-slots limits the slots")
    if options["trials_per_device"] > 1:
        raise ServiceError("--trials-per-device: not with --ray-address; a slot there takes a whole device")
    folder: Path | None = options["node_data_dir"]
    if folder is not None and not folder.is_absolute():
        raise ServiceError(f"--node-data-dir {folder}: write an absolute path of the nodes")
    if options["ray_token"] is not None:
        _check_token(options["ray_token"])
    return ExistingCluster(**given_settings(ExistingCluster, options))


def _check_token(token: Path) -> None:
    try:
        content = token.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ServiceError(f"--ray-token {token}: {getattr(error, 'strerror', None) or error}") from error
    if not content:
        raise ServiceError(f"--ray-token {token}: the file is empty; it must contain the token of the Ray cluster")
