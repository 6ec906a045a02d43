"""The versions of installed packages, recorded with each sweep; api process."""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distributions, version

_PACKAGES = ("podium", "torch", "numpy", "optuna", "ray", "scikit-learn")


@functools.cache
def versions() -> dict[str, str]:
    """The versions of main packages, Python and the system, without importing the packages."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return {**found, "system": f"{platform.system()} {platform.machine()}"}


def version_problem(head: Mapping[str, str], node: Mapping[str, str]) -> str | None:
    """Why a node with these versions cannot run the trials of a head; None if it can.

    Podium and Ray must be equal, since they exchange messages; Python up to its minor version.
    """
    for package, of_head, of_node in (
        ("podium", head.get("podium"), node.get("podium")),
        ("ray", head.get("ray"), node.get("ray")),
        ("python", _minor(head["python"]), _minor(node.get("python", ""))),
    ):
        if of_head != of_node:
            return f"this node has {package} {of_node or '(unknown)'}, and the head has {of_head}; install that version"
    return None


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


@dataclass(frozen=True, slots=True)
class Environment:
    """All installed packages, one per line, with a hash."""

    packages: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.packages.encode()).hexdigest()


@functools.cache
def environment() -> Environment:
    """`name==version` of each package, sorted, after a line with Python and the system."""
    found = {
        f"{name}=={package.version}" for package in distributions() if (name := package.metadata["Name"]) is not None
    }
    first = f"# Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return Environment("\n".join([first, *sorted(found, key=str.lower), ""]))
