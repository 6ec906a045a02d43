"""Measures what an attempt uses, once per second, and ends it above its memory limit; slot.

Samples travel as events of the slot, a few at a time, so that they reach the database as metrics do: over a restart of
the scheduler, and from nodes. While the scheduler does not take events, samples are merged rather than kept.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from podium.sweep.protocol.trial_messages import FinalUsage
from podium.sweep.runtime import attempt_resource_usage
from podium.sweep.runtime.attempt_resource_usage import ProcessMemory
from podium.sweep.runtime.gpu_usage import GpuMeter, GpuUsage
from podium.sweep.runtime.process_usage import Totals, machine_memory_bytes
from podium.sweep.slots.attempt_termination import AttemptLimits
from podium.sweep.slots.event_queue import EventQueue
from podium.sweep.slots.running_attempt import RunningAttempt
from podium.sweep.values.attempt_assignment import Assignment
from podium.sweep.values.attempt_outcomes import Kill
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.slot_events import Event, Sampled
from podium.sweep.values.usage_samples import UsageSample, thinned

SAMPLE_S = 1.0
FIRST_S = 0.25  # the first sample, so that short attempts have one
BATCH = 5  # samples per event
MAX_HELD = 240  # samples that wait for the scheduler; then they are merged by twos
MAX_QUEUED = 200  # events that wait for the scheduler; then samples are held back
_OFTEN_S = 0.25  # between two measurements of memory if it is limited, or of a script
_GROWTH = 0.05  # of the limit, after which a sample does not wait for the next second
_SOON_S = 0.1
_MB = 1 << 20
log = logging.getLogger("podium.slot")


class UsageWatch:
    """Samples the attempt of a slot, and kills it when it uses more memory than `limits.memory_mb`."""

    def __init__(
        self,
        running: RunningAttempt,
        limits: AttemptLimits,
        events: EventQueue,
        emit: Callable[[Event], None],
        gpu: str | None = None,
    ) -> None:
        """A watch that has measured nothing. `gpu`: the UUID of that of the slot, if it has one."""
        assignment = running.assignment
        self._running = running
        self._limits = limits
        self._events = events
        self._emit = emit
        self._allowed = math.inf if (mb := assignment.limits.memory_mb) is None else int(mb * _MB)
        is_script = assignment.program.get("command") is not None  # its process does not report its own peak
        self._calm_s = SAMPLE_S if math.isinf(self._allowed) and not is_script else _OFTEN_S
        self._meter = limits.meter(assignment.sweep_id)
        self._gpus = GpuMeter(gpus_of(assignment, gpu), assignment.share)
        self._gpu_usage = GpuUsage()
        self._reading: asyncio.Future[GpuUsage] | None = None  # of the driver, in a thread
        self._before = Totals(0.0, 0, 0)
        self._before_s = running.forked_s
        self._highest = 0  # memory since the last sample
        self._peak = 0  # memory in all samples
        self._last = 0  # memory at the last sample
        self._samples: list[UsageSample] = []

    async def run(self) -> None:
        """Measure until cancelled, or until the attempt is killed for its memory."""
        due_s, pause_s = self._before_s + FIRST_S, FIRST_S
        while True:
            await asyncio.sleep(pause_s)
            began_s = time.monotonic()
            pids = self._meter.pids()
            used = self._meter.roughly(pids)
            if self._meter.is_due(self._allowed):
                used = await asyncio.to_thread(self._meter.exactly, pids)
            self._highest = max(self._highest, used + self._meter.above)
            if began_s >= due_s or used > self._allowed or self._has_grown(used, began_s):
                self._sample(pids, began_s)
                due_s = began_s + SAMPLE_S
            if used > self._allowed:
                message = f"the trial used {used / _MB:.0f} MB of host memory; limits.memory_mb allows "
                self._limits.kill(
                    self._running, Kill(Cause.HOST_MEMORY, f"{message}{self._running.assignment.limits.memory_mb:g}")
                )
                return
            now_s = time.monotonic()
            calm_s = min(due_s - now_s, self._calm_s)
            pause_s = attempt_resource_usage.memory_pause_s(used, self._limit, now_s - began_s, max(0.0, calm_s))

    def finish(self) -> None:
        """The attempt has ended: emit the samples that are left, and one until the end of its function."""
        final = self._running.final_usage
        if final is not None and self._peak:  # an attempt without a sample was too short for what it shares
            self._add_last(final, time.monotonic())
        if self._samples:
            self._flush()

    def _add_last(self, final: FinalUsage, now_s: float) -> None:
        """Add a sample until the end of the function, within what is possible: user code may have sent it."""
        memory = ProcessMemory(final.memory_bytes, final.highest_bytes, final.file_bytes)
        peak = min(self._meter.new_peak(self._running.pid, memory) - self._meter.shared, self._machine)
        if now_s - self._before_s >= _SOON_S:
            alone = min(memory.now - self._meter.shared, self._machine) if self._meter.is_single else self._last
            self._highest = max(peak if peak > self._peak else 0, self._highest or alone, 0)
            most_s = self._before.cpu_s + (now_s - self._before_s) * (os.cpu_count() or 1)
            totals = Totals(
                cpu_s=min(max(final.cpu_s, self._before.cpu_s), most_s),
                read_bytes=max(final.read_bytes, self._before.read_bytes),
                written_bytes=max(final.written_bytes, self._before.written_bytes),
            )
            self._add(totals, now_s)
        elif peak > self._peak and self._samples:
            self._samples[-1] = replace(self._samples[-1], memory_bytes=peak)
        elif peak > self._peak:
            self._highest = peak
            self._add(self._before, now_s)

    @cached_property
    def _machine(self) -> int:
        """The memory of the machine, in bytes; read for the first sample, which short attempts do not have."""
        return machine_memory_bytes()

    @property
    def _limit(self) -> int:
        """What the attempt can use, in bytes."""
        return int(min(self._allowed, self._machine))

    def _has_grown(self, used: int, now_s: float) -> bool:
        """Whether memory grows so fast that a sample per second would miss the last part before the limit."""
        return used - self._last > _GROWTH * self._limit and now_s - self._before_s >= _SOON_S

    def _sample(self, pids: Sequence[int], now_s: float) -> None:
        if not self._highest:  # nothing runs: the processes have ended, or wait to be collected
            return
        self._add(self._meter.totals(pids), now_s)
        self._gpu_usage = GpuUsage()
        if self._gpus.has_devices and (self._reading is None or self._reading.done()):
            self._reading = asyncio.get_running_loop().run_in_executor(None, self._gpus.read, frozenset(pids))
            self._reading.add_done_callback(self._on_gpu_usage)
        if len(self._samples) >= BATCH and len(self._events) < MAX_QUEUED:
            self._flush()
        elif len(self._samples) > MAX_HELD:
            self._samples = thinned(self._samples, MAX_HELD // 2)

    def _add(self, totals: Totals, now_s: float) -> None:
        before, span_s = self._before, now_s - self._before_s
        cpu_s = max(0.0, totals.cpu_s - before.cpu_s)  # a process that was not collected is missing
        self._samples.append(
            UsageSample(
                at=self._running.forked_at + now_s - self._running.forked_s,  # also if the clock is set
                span_s=span_s,
                cpu_cores=cpu_s / max(span_s, _SOON_S),
                memory_bytes=self._highest,
                read_bytes=max(0, totals.read_bytes - before.read_bytes),
                written_bytes=max(0, totals.written_bytes - before.written_bytes),
                gpu_percent=self._gpu_usage.percent,
                gpu_memory_bytes=self._gpu_usage.memory_bytes,
            )
        )
        self._peak = max(self._peak, self._highest)
        self._before, self._before_s, self._last, self._highest = totals, now_s, self._highest, 0

    def _on_gpu_usage(self, reading: asyncio.Future[GpuUsage]) -> None:
        if reading.cancelled():
            return
        if (error := reading.exception()) is not None:
            log.warning("cannot measure a GPU: %s", error)
        else:
            self._gpu_usage = reading.result()

    def _flush(self) -> None:
        samples, self._samples = tuple(self._samples), []
        rank, gpu_limit = self._running.assignment.rank, self._gpus.memory_limit_bytes
        self._emit(Sampled(self._running.key, samples, rank, self._limit, gpu_limit))


def gpus_of(assignment: Assignment, own: str | None) -> tuple[str, ...]:
    """The UUIDs of the GPUs of the process: that of its slot, or all of a gang with one process."""
    gang = assignment.gang
    if gang is not None and gang.size == 1:
        return tuple(uuid for uuid in gang.uuids if uuid is not None)
    return () if own is None else (own,)
