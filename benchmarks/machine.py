"""Describes the machine of a measurement: cores, memory, load, disk and versions."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from podium.db.schema.sqlite_database import sqlite_module
from podium.sweep.runtime.service_settings import available_cores

PACKAGES = ("podium", "torch", "ray", "optuna", "sqlalchemy", "numpy")


def describe() -> dict[str, Any]:
    """Machine, versions and date, as they are now."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cores": available_cores(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "system": f"{platform.system()} {platform.machine()}",
            "load_1min": round(os.getloadavg()[0], 2),
            "fsync_ms": round(fsync_ms(), 2),
        },
        "versions": {
            "python": platform.python_version(),
            **{package: _version(package) for package in PACKAGES},
            "sqlite": str(sqlite_module().sqlite_version),
            "sqlite_of_python": str(sys.modules["sqlite3"].sqlite_version),
        },
    }


def fsync_ms(count: int = 50) -> float:
    """The time to write one page durably, which each durable commit waits for; median, milliseconds."""
    took: list[float] = []
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "page").open("wb", buffering=0) as file:
        for _ in range(count):
            file.write(b"\0" * 4096)
            began = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - began)
    return 1e3 * statistics.median(took)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
