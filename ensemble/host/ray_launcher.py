"""Launches worker processes as Ray actors; host process.

All Ray calls of the host are in this module. A worker is a detached actor named by ensemble, version, member, replica
and epoch, so that a restarted host finds it and cannot confuse it with an older one. After its process exits, the next
health check fails within about 40 ms. Ray sends SIGKILL to a killed actor that has not exited after 5 s, even a stopped
one.
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

from podium.ensemble.host.launcher_interface import OnChange, Phase, WorkerConfig, WorkerStatus
from podium.ensemble.worker.worker_actor import WorkerActor
from podium.sweep.values.errors import EnsembleError

NAMESPACE = "podium"
PREFIX = "worker-"
log = logging.getLogger("podium.ray_launcher")


class RayWorkerHandle:
    """Implements `podium.ensemble.host.launcher_interface.WorkerHandle`."""

    def __init__(self, config: WorkerConfig, actor: Any, on_change: OnChange) -> None:
        self._config = config
        self._actor = actor
        self._on_news = on_change
        self._up: Future[str] = actor.health.remote().future()
        self._started: Future[str] = self._start()
        for future in (self._up, self._started):
            future.add_done_callback(lambda _: on_change())
        self._health = self._up
        self._checked_s = time.monotonic()

    @property
    def config(self) -> WorkerConfig:
        return self._config

    def poll(self) -> WorkerStatus:
        """Return the result of the last health check and send the next one. Never blocks."""
        if not self._up.done():
            return WorkerStatus(Phase.STARTING)
        if (error := self._up.exception()) is not None:
            return WorkerStatus(Phase.EXITED, reason_of(error))
        if not self._started.done():
            return WorkerStatus(Phase.WARMING)
        if (error := self._started.exception()) is not None:
            broken = isinstance(getattr(error, "cause", None), EnsembleError)
            return WorkerStatus(Phase.LOAD_FAILED if broken else Phase.EXITED, reason_of(error))
        return self._check_health(json.loads(self._started.result()))

    def kill(self) -> None:
        """Kill the process. Does nothing if it has already exited."""
        self._on_news = lambda: None
        _kill(self._actor)

    def _start(self) -> Future[str]:
        """Load, warm and bind; a worker that already has returns its status again."""
        config = self._config
        files = json.dumps([asdict(file) for file in config.files])
        reference = self._actor.start.remote(
            files,
            in_graph=config.in_graph,
            endpoint=config.endpoint,
            epoch=config.epoch,
            features=config.features,
            combination=config.combination,
            precision=config.precision,
        )
        future: Future[str] = reference.future()
        return future

    def _check_health(self, started: dict[str, Any]) -> WorkerStatus:
        if self._health.done():
            if (error := self._health.exception()) is not None:
                return WorkerStatus(Phase.EXITED, reason_of(error))
            self._checked_s = time.monotonic()
            self._health = self._actor.health.remote().future()
            self._health.add_done_callback(self._notify_if_failed)
        unresponsive_s = time.monotonic() - self._checked_s
        return WorkerStatus(
            Phase.READY, pid=started["pid"], plan=started.get("plan") or {}, unresponsive_s=unresponsive_s
        )

    def _notify_if_failed(self, health: Future[str]) -> None:
        if health.exception() is not None:
            self._on_news()


class RayWorkerLauncher:
    """Implements `podium.ensemble.host.launcher_interface.WorkerLauncher`."""

    def __init__(self, address: str) -> None:
        """Connect to the Ray cluster of this service."""
        ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR)

    def launch(self, config: WorkerConfig, on_change: OnChange) -> RayWorkerHandle:
        """Start the process on its node, next to the slot; it reserves no Ray resources."""
        try:
            actor = (
                ray.remote(WorkerActor)
                .options(
                    name=config.name,
                    namespace=NAMESPACE,
                    lifetime="detached",
                    num_cpus=0,
                    num_gpus=0,
                    max_restarts=0,
                    max_task_retries=0,
                    scheduling_strategy=NodeAffinitySchedulingStrategy(config.node, soft=False),
                )
                .remote(config.visible, config.threads)
            )
            return RayWorkerHandle(config, actor, on_change)
        except (ValueError, ray.exceptions.RayError) as error:
            raise EnsembleError(f"cannot start {config.name}: {reason_of(error)}") from error

    def find(self, config: WorkerConfig, on_change: OnChange) -> RayWorkerHandle | None:
        """The running worker of this name, started by an earlier host; None if there is none."""
        try:
            return RayWorkerHandle(config, ray.get_actor(config.name, namespace=NAMESPACE), on_change)
        except (ValueError, ray.exceptions.RayError):
            return None

    def kill_all_except(self, names: Collection[str]) -> None:
        """Kill every worker whose name is not in `names`."""
        for name in list_named_actors():
            if name.startswith(PREFIX) and name not in names:
                log.info("killing %s, which is no longer needed", name)
                try:
                    _kill(ray.get_actor(name, namespace=NAMESPACE))
                except ValueError:  # it has exited in the meantime
                    continue


def _kill(actor: Any) -> None:
    try:
        ray.kill(actor, no_restart=True)
    except (ValueError, ray.exceptions.RayError):
        pass


def reason_of(error: BaseException) -> str:
    """A worker's error in one line: Ray wraps the original error in its traceback."""
    if isinstance(error, ray.exceptions.ActorDiedError):
        return "its process exited or was killed"
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception):
        return str(cause)
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
