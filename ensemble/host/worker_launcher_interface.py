"""The port through which the host starts and polls worker processes; host process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from podium.ensemble.worker.control_messages import Phase, WorkerAssignment
from podium.sweep.values.device import node_name


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """What one worker process runs, and on which devices."""

    assignment: WorkerAssignment
    device_ids: tuple[str, ...]  # by member, and by stage
    node: str
    visible: str

    @property
    def node_name(self) -> str:
        """The name of the node that it runs on; "" for the head."""
        return node_name(self.device_ids[0])


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """The status of a worker process."""

    phase: Phase
    reason: str = ""  # of `load_failed` and `exited`
    pid: int | None = None  # once it is ready
    plan: Mapping[str, Any] = field(default_factory=dict)  # once it is ready: the execution plans of an in-graph worker
    unresponsive_s: float = 0.0  # how long a health check has been unanswered
    endpoint: str = ""  # once it is ready


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
