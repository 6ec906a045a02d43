"""Kills actors of Ray, and names its errors; scheduler."""

from __future__ import annotations

import contextlib
from typing import Any

import ray
from ray.exceptions import RayError


def kill_actor(actor: Any) -> None:
    """Kill an actor, unless it is gone."""
    with contextlib.suppress(ValueError, RayError):
        ray.kill(actor, no_restart=True)


def kill_named_actor(name: str) -> None:
    """Kill the actor of this name in the namespace of the service, if there is one."""
    with contextlib.suppress(ValueError, RayError):
        kill_actor(ray.get_actor(name))


def first_line(error: Exception) -> str:
    """The first line of the message of an error, or of the error in a remote call that caused it."""
    lines = str(getattr(error, "cause", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
