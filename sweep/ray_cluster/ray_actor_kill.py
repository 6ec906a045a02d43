"""Kills actors of Ray, and names its errors; scheduler."""

from __future__ import annotations

import contextlib
from typing import Any

import ray
from ray.exceptions import RayError

from podium.sweep.values.errors import FencedError


def kill_actor(actor: Any) -> None:
    """Kill an actor, unless it is gone."""
    with contextlib.suppress(ValueError, RayError):
        ray.kill(actor, no_restart=True)


def find_actor(name: str) -> Any:
    """The actor of this name in the namespace of the service; None if there is none."""
    with contextlib.suppress(ValueError, RayError):
        return ray.get_actor(name)
    return None


def kill_named_actor(name: str) -> None:
    """Kill the actor of this name in the namespace of the service, if there is one."""
    actor = find_actor(name)
    if actor is not None:
        kill_actor(actor)


def fence_of(error: Exception) -> FencedError | None:
    """The `FencedError` that an error is, or that caused it in a remote call; None for any other error."""
    for each in (getattr(error, "cause", None), error):
        if isinstance(each, FencedError):
            return each
    return None


def first_line(error: Exception) -> str:
    """The first line of the message of an error, or of the error in a remote call that caused it."""
    lines = str(getattr(error, "cause", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
