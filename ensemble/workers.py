"""The workers on Ray: place one, find it again, ask whether it lives, end it; host.

All Ray calls of the host are here. A worker is a detached actor named by ensemble, first member and epoch, so that a
host that comes back finds it, and never mistakes an old one for a new one.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ensemble.member_actor import MemberActor
from ensemble.networks import ModelFile

NAMESPACE = "podium"
START_S = 60.0
HEALTH_S = 2.0
log = logging.getLogger("podium.workers")


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """One process: the members it runs, and where."""

    name: str
    member_ids: tuple[int, ...]
    files: tuple[ModelFile, ...]
    device_ids: tuple[str, ...]  # by member
    node: str
    visible: str
    in_graph: bool
    endpoint: str
    epoch: int
    features: int
    threads: int


class Worker:
    """A worker that was placed."""

    def __init__(self, plan: WorkerPlan, actor: Any) -> None:
        self.plan = plan
        self._actor = actor
        self._health: Future[str] | None = None

    def start(self) -> Future[str]:
        """Load, warm and bind; the future has its pid as JSON, or the reason why not."""
        plan = self.plan
        files = json.dumps([asdict(file) for file in plan.files])
        reference = self._actor.start.remote(files, plan.in_graph, plan.endpoint, plan.epoch, plan.features)
        future: Future[str] = reference.future()
        return future

    def died(self) -> str | None:
        """Why the worker is gone, as far as the last question told; asks the next question."""
        if self._health is None or self._health.done():
            reason = None if self._health is None else _failure(self._health)
            self._health = None if reason else self._actor.health.remote().future()
            return reason
        return None

    def kill(self) -> None:
        """End it, whatever it does."""
        try:
            ray.kill(self._actor, no_restart=True)
        except (ray.exceptions.RayError, ValueError):
            pass


def connect(address: str) -> None:
    """Join the Ray of this service."""
    ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR)


def place(plan: WorkerPlan) -> Worker:
    """Start the worker's process on its node, beside the slot: it reserves nothing of Ray's."""
    actor = (
        ray.remote(MemberActor)
        .options(
            name=plan.name,
            namespace=NAMESPACE,
            lifetime="detached",
            num_cpus=0,
            num_gpus=0,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(plan.node, soft=False),
        )
        .remote(plan.visible, plan.threads)
    )
    return Worker(plan, actor)


def find(plan: WorkerPlan) -> Worker | None:
    """A worker that a host before us placed, if it still answers."""
    try:
        actor = ray.get_actor(plan.name, namespace=NAMESPACE)
        ray.get(actor.health.remote(), timeout=HEALTH_S)
    except (ValueError, ray.exceptions.RayError):
        return None
    return Worker(plan, actor)


def kill_named(names: Sequence[str]) -> None:
    """End workers by name; those that are gone already are no error."""
    for name in names:
        try:
            ray.kill(ray.get_actor(name, namespace=NAMESPACE), no_restart=True)
        except (ValueError, ray.exceptions.RayError):
            continue


def _failure(future: Future[str]) -> str | None:
    error = future.exception()
    return None if error is None else reason_of(error)


def reason_of(error: BaseException) -> str:
    """What went wrong in a worker, in one line: Ray wraps the worker's own error in its traceback."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception):
        return str(cause)
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
