"""The id of the Ray cluster that a service has joined: services with the same id reach the same slots.

Written by the process of the raylet, read by the leadership process, which does not import Ray.
"""

from __future__ import annotations

from pathlib import Path

from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.runtime.service_settings import ServiceSettings


def _file(runtime: RuntimeDirectory) -> Path:
    return runtime.ray / "cluster.id"


def record(runtime: RuntimeDirectory, found: str) -> None:
    """Record the id, before the address of the cluster."""
    write_atomic(_file(runtime), found.encode())


def cluster_id(settings: ServiceSettings) -> str:
    """The id of the cluster; "" with a Ray of this service alone."""
    if settings.existing_cluster is None:
        return ""
    try:
        return _file(settings.runtime).read_text()
    except FileNotFoundError:
        return ""
