"""Which versions of what a sweep's results depend on are installed here; api."""

from __future__ import annotations

import functools
import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("podium", "torch", "numpy", "optuna", "ray", "scikit-learn")


@functools.cache
def versions() -> dict[str, str]:
    """By package, and of Python and the system; nothing is imported for it."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return {**found, "system": f"{platform.system()} {platform.machine()}"}
