"""Reads the state of the service's components from the file that `serve` writes; every process.

The file may be outdated, on a full disk or while `serve` is stopped, so processes that have ended are marked as dead.
"""

from __future__ import annotations

import json
from typing import Any

from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.process_liveness import is_running

STANDS_BY = "standby"  # the state of a component that starts when its service leads


def read_components(data: DataDirectory, *, is_here: bool = True) -> list[dict[str, Any]]:
    """Name, pid, state and restarts of each component; [] if there is no service file.

    `is_here`: whether the service is on this machine, so that its processes can be looked up.
    """
    try:
        found: list[dict[str, Any]] = json.loads(data.service_file.read_text())["parts"]
        return [_dead(part) if is_here and part["pid"] and not is_running(part["pid"]) else part for part in found]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def all_ready(found: list[dict[str, Any]]) -> bool:
    """Whether there are components and all are ready, or wait since another service leads."""
    return bool(found) and all(part["state"] in ("ready", STANDS_BY) for part in found)


def _dead(part: dict[str, Any]) -> dict[str, Any]:
    return part | {"state": "dead"}
