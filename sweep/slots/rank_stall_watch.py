"""Watches one rank of an attempt on several devices: whether it joins the others, and whether it is idle; slot.

A rank has joined when one of its processes has a connection to the store of the gang, as `init_process_group` with
`env://` and `podium.parallel.join` make one. A rank is idle while it neither reports, prints nor uses the processor.
That of a single rank is no problem: it may wait for another one. The scheduler ends the attempt when all are idle.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from podium.sweep.runtime.process_cpu_and_connections import cpu_s, has_connection
from podium.sweep.runtime.process_trees import descendants
from podium.sweep.slots.attempt_termination import AttemptLimits
from podium.sweep.slots.running_attempt import RunningAttempt
from podium.sweep.values.attempt_outcomes import Kill
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Event, RankIdle

CHECK_S = 0.25
REPEAT_S = 30.0  # an idle rank is reported again, since the scheduler may have been restarted
SAMPLE_S = 5.0  # over which the use of the processor is measured
IDLE_SHARE = 0.02  # of a processor; the process of a trial that waits for its script uses less


class RankWatch:
    """Ends the attempt of its slot by `limits.join_s`, and emits `RankIdle` by `limits.stall_s`."""

    def __init__(self, running: RunningAttempt, limits: AttemptLimits, emit: Callable[[Event], None]) -> None:
        self._running = running
        self._limits = limits
        self._emit = emit
        self._joined = False
        self._active_s = time.monotonic()
        self._seen = (0, 0.0)  # bytes of output, time of the last message
        self._sampled = (0.0, 0.0)  # when, and the processor seconds until then
        self._reported_s: float | None = None  # when it was reported as idle

    async def run(self) -> None:
        """Watch until the process has exited."""
        while self._running.exited is None:
            await asyncio.sleep(CHECK_S)
            if self._running.pid is None or not self._running.started or self._running.exited is not None:
                self._active_s = time.monotonic()
                continue
            if not self._joined:
                await self._check_join()
            if self._running.assignment.limits.stall_s is not None:
                self._check_activity(self._running.assignment.limits.stall_s)

    async def _check_join(self) -> None:
        running, gang = self._running, self._running.assignment.gang
        assert gang is not None and running.pid is not None
        port = gang.port or running.store_port
        # The process of rank 0 that serves the store has a connection to it of its own.
        own = 1 if gang.rank == 0 else 0
        self._joined = await asyncio.to_thread(has_connection, running.pid, port, own)
        limit_s = running.assignment.limits.join_s
        if not self._joined and running.started_s is not None and time.monotonic() - running.started_s > limit_s:
            message = (
                f"did not connect to the other ranks at {gang.address}:{port} within limits.join_s ({limit_s:g} s); "
                "the program must call torch.distributed.init_process_group or podium.parallel.join"
            )
            self._limits.kill(running, Kill(Cause.JOIN_TIMEOUT, message))

    def _check_activity(self, stall_s: float) -> None:
        running, now_s = self._running, time.monotonic()
        seen = (running.log.received, running.last_message_s)
        if self._has_computed(now_s, min(SAMPLE_S, stall_s / 4)) or seen != self._seen:
            self._seen, self._active_s = seen, now_s
            if self._reported_s is not None:
                self._reported_s = None
                self._emit(RankIdle(running.key, False))
        elif now_s - self._active_s >= stall_s and (self._reported_s is None or now_s - self._reported_s > REPEAT_S):
            self._reported_s = now_s
            self._emit(RankIdle(running.key, True))

    def _has_computed(self, now_s: float, sample_s: float) -> bool:
        """Whether its processes used the processor, or one ended, in a sample that is complete now."""
        running, (since_s, before_s) = self._running, self._sampled
        if now_s - since_s < sample_s:
            return False
        assert running.pid is not None
        used_s = sum(map(cpu_s, (running.pid, *descendants(running.pid))))
        self._sampled = (now_s, used_s)
        return abs(used_s - before_s) > IDLE_SHARE * (now_s - since_s)
