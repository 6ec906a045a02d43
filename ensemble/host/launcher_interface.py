"""The port through which the host starts and polls worker processes; host process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from podium.ensemble.worker.network_interface import ModelFile


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The configuration of one worker process: its members, their devices, and how they run."""

    name: str
    files: tuple[ModelFile, ...]  # by member
    device_ids: tuple[str, ...]  # by member
    node: str
    visible: str
    in_graph: bool
    endpoint: str
    epoch: int
    features: int
    combination: str  # JSON
    precision: str
    threads: int


class Phase(StrEnum):
    """The phase of a worker process."""

    STARTING = "starting"  # the process does not exist yet
    WARMING = "warming"  # loading and warming its networks
    READY = "ready"
    LOAD_FAILED = "load_failed"  # its networks cannot be loaded; a restart would not help
    EXITED = "exited"  # the process no longer exists


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """The status of a worker process."""

    phase: Phase
    reason: str = ""  # of `load_failed` and `exited`
    pid: int | None = None  # once it is ready
    plan: Mapping[str, Any] = field(default_factory=dict)  # once it is ready: the execution plans of an in-graph worker
    unresponsive_s: float = 0.0  # how long a health check has been unanswered


class WorkerHandle(Protocol):
    """A worker process that was launched."""

    @property
    def config(self) -> WorkerConfig: ...

    def poll(self) -> WorkerStatus:
        """Return the result of the last health check and send the next one. Never blocks."""
        ...

    def kill(self) -> None:
        """Kill the process. Does nothing if it has already exited."""
        ...


OnChange = Callable[[], None]


class WorkerLauncher(Protocol):
    """Launches worker processes. `on_change` is called, from any thread, when a worker's status may have changed."""

    def launch(self, config: WorkerConfig, on_change: OnChange) -> WorkerHandle:
        """Start the process. Raises `EnsembleError` if the request is rejected."""
        ...

    def find(self, config: WorkerConfig, on_change: OnChange) -> WorkerHandle | None:
        """The running worker of this name, started by an earlier host; None if there is none."""
        ...

    def kill_all_except(self, names: Collection[str]) -> None:
        """Kill every worker whose name is not in `names`."""
        ...
