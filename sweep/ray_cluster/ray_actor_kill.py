"""Finds and kills actors of Ray; scheduler."""

from __future__ import annotations

import contextlib
from typing import Any

import ray
from ray.exceptions import RayError


def kill_actor(actor: Any) -> None:
    """Kill an actor, unless it is gone."""
    with contextlib.suppress(ValueError, RayError):
        ray.kill(actor, no_restart=True)


def find_actor(name: str) -> Any:
    """The actor of this name in the namespace of the service; None if there is none.

    Ray still lists an actor whose node did not survive a restart of the head, without its class.
    """
    with contextlib.suppress(ValueError, RayError, AssertionError):
        return ray.get_actor(name)
    return None


def kill_named_actor(name: str) -> None:
    """Kill the actor of this name in the namespace of the service, if there is one."""
    actor = find_actor(name)
    if actor is not None:
        kill_actor(actor)
