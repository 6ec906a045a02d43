"""What `serve` last wrote of its parts, with the dead shown as such; pure, in every process that asks.

The file is as old as `serve`'s last write: on a full disk, or while `serve` is stopped, it names processes long gone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from podium.sweep.runtime.layout import DataDirectory


def parts(data: DataDirectory) -> list[dict[str, Any]]:
    """Each part with name, pid, state and restarts; [] when nothing of a service is written."""
    try:
        found: list[dict[str, Any]] = json.loads(data.service_file.read_text())["parts"]
        return [part | {"state": "dead"} if part["pid"] and not lives(part["pid"]) else part for part in found]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def all_ready(found: list[dict[str, Any]]) -> bool:
    """Whether there are parts, and each does its work."""
    return bool(found) and all(part["state"] == "ready" for part in found)


def lives(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
