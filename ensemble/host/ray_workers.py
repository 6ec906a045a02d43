"""The workers on Ray: place one, find it again, ask whether it lives, end it; host.

All Ray calls of the host are here. A worker is a detached actor named by ensemble, version, member, replica and
epoch, so that a host that comes back finds it, and never mistakes an old one for a new one. When its process dies,
the next question fails within some 40 ms; one that is killed and does not end, a stopped one too, Ray ends by SIGKILL
after 5 s.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import asdict
from typing import Any

import ray
from ray.util import list_named_actors
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from podium.ensemble.host.worker_port import OnNews, Phase, Sight, WorkerPlan
from podium.ensemble.worker.worker_actor import MemberActor
from podium.sweep.values.errors import EnsembleError

NAMESPACE = "podium"
PREFIX = "worker-"
log = logging.getLogger("podium.workers")


class RayWorker:
    """See `podium.ensemble.host.worker_port.Worker`."""

    def __init__(self, plan: WorkerPlan, actor: Any, on_news: OnNews) -> None:
        self._plan = plan
        self._actor = actor
        self._on_news = on_news
        self._up: Future[str] = actor.health.remote().future()
        self._started: Future[str] = self._start()
        for future in (self._up, self._started):
            future.add_done_callback(lambda _: on_news())
        self._health = self._up
        self._asked_s = time.monotonic()

    @property
    def plan(self) -> WorkerPlan:
        return self._plan

    def look(self) -> Sight:
        """How it does, as far as the last question told; asks the next one. Never waits."""
        if not self._up.done():
            return Sight(Phase.STARTING)
        if (error := self._up.exception()) is not None:
            return Sight(Phase.GONE, reason_of(error))
        if not self._started.done():
            return Sight(Phase.WARMING)
        if (error := self._started.exception()) is not None:
            broken = isinstance(getattr(error, "cause", None), EnsembleError)
            return Sight(Phase.BROKEN if broken else Phase.GONE, reason_of(error))
        return self._ask(json.loads(self._started.result()))

    def kill(self) -> None:
        """End it, whatever it does; one that is gone already is no error."""
        self._on_news = lambda: None
        _kill(self._actor)

    def _start(self) -> Future[str]:
        """Load, warm and bind; a worker that has done so only says who it is."""
        plan = self._plan
        files = json.dumps([asdict(file) for file in plan.files])
        reference = self._actor.start.remote(
            files, plan.in_graph, plan.endpoint, plan.epoch, plan.features, plan.combination, plan.precision
        )
        future: Future[str] = reference.future()
        return future

    def _ask(self, about: dict[str, Any]) -> Sight:
        if self._health.done():
            if (error := self._health.exception()) is not None:
                return Sight(Phase.GONE, reason_of(error))
            self._asked_s = time.monotonic()
            self._health = self._actor.health.remote().future()
            self._health.add_done_callback(self._tell_if_gone)
        silent_s = time.monotonic() - self._asked_s
        return Sight(Phase.READY, pid=about["pid"], plan=about.get("plan") or {}, silent_s=silent_s)

    def _tell_if_gone(self, health: Future[str]) -> None:
        if health.exception() is not None:
            self._on_news()


class RayWorkers:
    """See `podium.ensemble.host.worker_port.Workers`."""

    def __init__(self, address: str) -> None:
        """Join the Ray of this service."""
        ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR)

    def place(self, plan: WorkerPlan, on_news: OnNews) -> RayWorker:
        """Start the worker's process on its node, beside the slot: it reserves nothing of Ray's."""
        try:
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
            return RayWorker(plan, actor, on_news)
        except (ValueError, ray.exceptions.RayError) as error:
            raise EnsembleError(f"{plan.name} cannot be placed: {reason_of(error)}") from error

    def find(self, plan: WorkerPlan, on_news: OnNews) -> RayWorker | None:
        """The worker of this name that a host before us placed, or None where there is none."""
        try:
            return RayWorker(plan, ray.get_actor(plan.name, namespace=NAMESPACE), on_news)
        except (ValueError, ray.exceptions.RayError):
            return None

    def end_all_but(self, names: Collection[str]) -> None:
        """End every worker whose name is not among these."""
        for name in list_named_actors():
            if name.startswith(PREFIX) and name not in names:
                log.info("%s is not wanted any more", name)
                try:
                    _kill(ray.get_actor(name, namespace=NAMESPACE))
                except ValueError:  # it ended by itself meanwhile
                    continue


def _kill(actor: Any) -> None:
    try:
        ray.kill(actor, no_restart=True)
    except (ValueError, ray.exceptions.RayError):
        pass


def reason_of(error: BaseException) -> str:
    """What went wrong in a worker, in one line: Ray wraps the worker's own error in its traceback."""
    if isinstance(error, ray.exceptions.ActorDiedError):
        return "its process was killed or ended by itself"
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception):
        return str(cause)
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
