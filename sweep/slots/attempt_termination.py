"""Ends an attempt on request, and when it reaches a limit on time or disk usage; slot."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from podium.sweep.runtime import attempt_resource_usage
from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.process_cpu_and_connections import has_ended
from podium.sweep.runtime.process_usage import ProcessTreeMeter
from podium.sweep.slots.fork_server_pool import ForkServerPool
from podium.sweep.slots.running_attempt import RunningAttempt
from podium.sweep.values.attempt_outcomes import Kill, over_quota
from podium.sweep.values.failure_causes import Cause

FORK_SERVER_S = 5.0  # time in which a fork server must have killed an attempt
_CHECK_S = 0.25
_MB = 1 << 20


class AttemptLimits:
    """Enforces the limits of the attempts of one slot, which run one after another."""

    def __init__(self, fork_servers: ForkServerPool, *, fork_server_s: float = FORK_SERVER_S) -> None:
        """`fork_server_s`: seconds in which a fork server must have killed an attempt, or it is killed itself."""
        self._fork_servers = fork_servers
        self._meter: tuple[int, int, ProcessTreeMeter] | None = None  # with fork server and sweep of the last attempt
        self._fork_server_s = fork_server_s

    def stop(self, running: RunningAttempt, kill: Kill) -> None:
        """Ask the attempt to end; it is killed at the end of its grace period. Files on their way are not needed."""
        if running.transfer is not None:
            running.kill = running.kill or kill
            running.transfer.cancel()
        if running.kill is None and running.exited is None:
            running.kill = kill
            running.killed_s = time.monotonic()
            self._fork_servers.current.signal(signal.SIGTERM)

    def kill(self, running: RunningAttempt, kill: Kill) -> None:
        """Kill the attempt without a grace period, in which its usage would only grow.

        One whose process has ended by itself, as the fork server will report, keeps its own cause.
        """
        if running.exited is not None or (running.pid is not None and has_ended(running.pid)):
            return
        running.kill = running.kill or kill
        running.killed_s = time.monotonic() - running.assignment.limits.grace_s
        self._fork_servers.current.signal(signal.SIGKILL)

    async def enforce_deadlines(self, running: RunningAttempt) -> None:
        """End the attempt when it reaches one of its time limits; returns when its process has exited."""
        while running.exited is None:
            now_s = time.monotonic()
            due = running.deadline()
            if due is not None and now_s >= due[0]:
                if running.kill is None:
                    self.stop(running, Kill(due[1]))
                elif now_s < due[0] + self._fork_server_s:
                    self._fork_servers.current.signal(signal.SIGKILL)
                else:  # the fork server is unresponsive; when it is killed, so is every process that it forked
                    self._fork_servers.current.kill()
            wait_s = _CHECK_S if due is None else min(_CHECK_S, max(0.005, due[0] - now_s))
            await asyncio.sleep(wait_s)

    def disk_watches(self, running: RunningAttempt) -> list[Coroutine[Any, Any, None]]:
        """Tasks that kill the attempt when it uses too much disk space; cancel them at its end."""
        limits = running.assignment.limits
        return [] if limits.work_dir_mb is None else [self._enforce_quota(running, limits.work_dir_mb)]

    def meter(self, sweep_id: int) -> ProcessTreeMeter:
        """Of the processes of the attempt that has just started, without that of the next one.

        Attempts of a sweep run the same program, so they share about as much with their fork server.
        """
        server = self._fork_servers.current
        if self._meter is not None and self._meter[:2] == (server.pid, sweep_id):
            meter = self._meter[2].following()
        else:
            meter = ProcessTreeMeter(server.pid, lambda: server.spare)
        self._meter = server.pid, sweep_id, meter
        return meter

    async def _enforce_quota(self, running: RunningAttempt, allowed_mb: float) -> None:
        directory = AttemptDirectory(Path(running.assignment.directory), running.assignment.rank)
        used = await attempt_resource_usage.poll_folders((directory.work, directory.temporary), int(allowed_mb * _MB))
        self.kill(running, Kill(Cause.DISK_QUOTA, over_quota(used, allowed_mb)))
