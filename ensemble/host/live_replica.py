"""The in-memory state of one replica's process, with its timeouts and restart delays; host process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from podium.ensemble.host.desired_replicas import ReplicaSpec
from podium.ensemble.host.worker_launcher_interface import WorkerHandle, WorkerStatus
from podium.ensemble.worker.control_messages import Phase

START_TIMEOUT_S = 60.0  # until the process exists
NODE_START_TIMEOUT_S = 900.0  # the same on a node, which fetches the model files first; its silence has its own limit
LOAD_TIMEOUT_S = 120.0  # from then until its networks are loaded and warm
HEALTH_TIMEOUT_S = 30.0  # without an answer to a health check
MIN_RESTART_DELAY_S = 0.2  # doubled with each consecutive failure, up to the maximum
MAX_RESTART_DELAY_S = 30.0
STABLE_S = 60.0  # ready for this long resets the count of consecutive failures
MIN_DRAIN_S = 2.0  # the gateway may learn only after a second that a version is no longer served
MAX_DRAIN_S = 60.0


@dataclass(slots=True)
class LiveReplica:
    """The last known spec of a replica, and its process if there is one."""

    spec: ReplicaSpec
    worker: WorkerHandle | None = None
    phase: Phase = Phase.STARTING
    since_s: float = 0.0  # start of the phase
    sharing: Sequence[str] = field(default_factory=list)  # by member
    plan: Mapping[str, Any] = field(default_factory=dict)  # as last reported
    failures: int = 0  # consecutive
    restart_at_s: float = 0.0
    unwanted_since_s: float | None = None

    @property
    def drain_s(self) -> float:
        """How long requests may still be in flight once the replica is no longer needed."""
        return min(max(self.spec.version.deadline_ms / 1000, MIN_DRAIN_S), MAX_DRAIN_S)

    def has_drained(self, now_s: float) -> bool:
        """Whether the process of a replica that is no longer needed can be killed."""
        if self.unwanted_since_s is None:
            self.unwanted_since_s = now_s
        return self.worker is None or now_s - self.unwanted_since_s >= self.drain_s

    def enter(self, phase: Phase, now_s: float) -> None:
        """Start a phase."""
        self.phase, self.since_s = phase, now_s

    def timeout_reason(self, status: WorkerStatus, now_s: float) -> str | None:
        """Why the process counts as failed although it has not exited; None if it does not."""
        age_s = now_s - self.since_s
        on_node = self.worker is not None and self.worker.config.node_name
        start_s = NODE_START_TIMEOUT_S if on_node else START_TIMEOUT_S
        if status.phase is Phase.STARTING and age_s > start_s:
            return f"no process within {start_s:.0f} s"
        if status.phase is Phase.WARMING and age_s > LOAD_TIMEOUT_S:
            return f"not loaded within {LOAD_TIMEOUT_S:.0f} s"
        if status.phase is Phase.READY and status.unresponsive_s > HEALTH_TIMEOUT_S:
            return f"no answer for {HEALTH_TIMEOUT_S:.0f} s"
        return None

    def kill(self) -> None:
        """Kill the process, if there is one."""
        if self.worker is not None:
            self.worker.kill()
            self.worker = None


def restart_delay_s(failures: int, jitter: float) -> float:
    """The delay after consecutive failures; `jitter` in [0, 1) spreads workers that failed together.

    Brooker, "Exponential backoff and jitter", 2015: "equal jitter".
    """
    return float(min(MIN_RESTART_DELAY_S * 2 ** min(failures - 1, 20), MAX_RESTART_DELAY_S)) * (0.5 + jitter / 2)
