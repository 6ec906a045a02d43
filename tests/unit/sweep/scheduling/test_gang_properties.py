"""Stateful test of trials with several devices: no deadlock, no starvation, no double use, no delay by backfill."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from podium.sweep.scheduling.read_pacing import TICK_S
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import TERMINAL_SWEEP_STATES, TrialState
from tests.memory import MemoryTrial
from tests.rig import Rig

NODES = ["a", "a", "a", "b", "b"]
DEVICES = st.sampled_from([f"cpu-{position}" for position in range(len(NODES))])
LOST = "RuntimeError: Connection closed by peer"


class Gangs(RuleBasedStateMachine):
    """Rules are actions; invariants are checked after each one. A trial ends a grace period after its time limit, or
    after it is stopped.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rig = Rig(nodes=NODES)
        self.promised: tuple[Any, float] | None = None  # see `_holder`; when its trial starts at the latest
        self.placed: dict[AttemptKey, float] = {}
        self.stopped: dict[tuple[str, AttemptKey], float] = {}  # when a slot got the command to stop an attempt

    @precondition(lambda self: len(self.rig.recorder.sweeps) < 6)
    @rule(
        devices=st.integers(1, 4),
        fewer=st.booleans(),
        processes=st.sampled_from(["per_device", "one"]),
        pack=st.sampled_from(["node", "any"]),
        limit_s=st.sampled_from([None, 10.0, 100.0]),
        grace_s=st.sampled_from([0.0, 20.0]),
        run_cap=st.integers(1, 3),
    )
    def submit(
        self,
        devices: int,
        *,
        fewer: bool,
        processes: str,
        pack: str,
        limit_s: float | None,
        grace_s: float,
        run_cap: int,
    ) -> None:
        resources: dict[str, Any] = {}
        if devices > 1:
            resources = {"devices": {"min": devices - 1, "max": devices} if fewer else devices, "pack": pack}
            resources["processes"] = "per_device" if pack == "any" else processes
        self.rig.submit(
            run_cap=run_cap, resources=resources, limits={"trial_s": limit_s, "grace_s": grace_s},
            retries={"infrastructure": 2, "max_consecutive_failures": 4},
        )  # fmt: skip
        self._run()

    @rule(device_id=DEVICES, value=st.floats(0, 1))
    def finish(self, device_id: str, value: float) -> None:
        if self.rig.pool[device_id].running:
            self.rig.pool.finish(device_id, value)
            self._run()

    @rule(device_id=DEVICES, lost=st.booleans())
    def fail(self, device_id: str, *, lost: bool) -> None:
        if self.rig.pool[device_id].running:
            self.rig.pool.fail(device_id, message=LOST if lost else "as played")
            self._run()

    @rule(device_id=DEVICES)
    def lose_slot(self, device_id: str) -> None:
        self.promised = None
        self.rig.pool.lose(device_id)
        self._run()

    @rule(device_id=DEVICES)
    def drain_or_return(self, device_id: str) -> None:
        self.promised = None
        drained = self.rig.recorder.drained
        if drained.pop(device_id, None) is None:
            drained[device_id] = "drained on request"
        self._run()

    @rule()
    def restart(self) -> None:
        self.promised = None  # the next scheduler gives the reservation to the sweep that is furthest behind
        self.rig.restart()
        self._run()

    @rule(seconds=st.sampled_from([0.5, 5.0, 50.0]))
    def wait(self, seconds: float) -> None:
        """Time passes. The slots answer, and end what reaches its limit."""
        self._pass(seconds)
        for device_id in self.rig.pool.slots:
            self._end_if_due(device_id)
        self._run()

    def _pass(self, seconds: float) -> None:
        self.rig.clock.advance(seconds)
        for device_id in self.rig.pool.slots:
            self.rig.pool.stop_replying(device_id)  # a heartbeat

    def _end_if_due(self, device_id: str) -> None:
        running = self.rig.pool[device_id].running
        if running is None:
            return
        limits, now_s = running.limits, self.rig.clock.now_s
        if limits.trial_s is not None and now_s >= self.placed[running.key] + limits.trial_s + limits.grace_s:
            self.rig.pool.fail(device_id, Cause.TIMEOUT)
        elif now_s >= self.stopped.get((device_id, running.key), math.inf) + limits.grace_s:
            self.rig.pool.end(device_id, TrialState.CANCELLED, cause=Cause.CANCELLED)

    def _run(self) -> None:
        """Let everything happen that needs no time: stores open, and ranks start."""
        for _ in range(20):
            self.rig.settle()
            waiting = [
                device_id for device_id in self.rig.pool.busy()
                if (running := self.rig.pool[device_id].running) and running.gang and running.gang.size > 1
                and running.rank == 0 and self._processes(running.trial_id) == 1
            ]  # fmt: skip
            if not waiting:
                break
            for device_id in waiting:
                self.rig.pool.open_store(device_id)
            before = self.rig.pool.busy()
            self.rig.settle()
            if self.rig.pool.busy() == before:
                break
        self.rig.clock.advance(TICK_S / 10)
        self.rig.scheduler.step([])
        self.rig.settle()
        self._note_times()

    def _note_times(self) -> None:
        for device_id, slot in self.rig.pool.slots.items():
            if slot.running is not None:
                key = slot.running.key
                self.placed.setdefault(key, self.rig.recorder.trials[key.trial_id].placed_at)
                if slot.stops:
                    self.stopped.setdefault((device_id, key), self.rig.clock.now_s)
            slot.stops.clear()

    def _processes(self, trial_id: int) -> int:
        slots = self.rig.pool.slots.values()
        return sum(slot.running is not None and slot.running.trial_id == trial_id for slot in slots)

    # Invariants.

    def _held(self) -> dict[int, list[str]]:
        """The devices of running attempts, as they are in the database."""
        running = [t for t in self.rig.recorder.trials.values() if t.state is TrialState.RUNNING]
        return {trial.trial_id: _devices(trial) for trial in running}

    @invariant()
    def no_device_has_two_trials(self) -> None:
        held = [device_id for devices in self._held().values() for device_id in devices]
        assert len(held) == len(set(held)), self._held()

    @invariant()
    def processes_run_only_on_devices_of_their_attempts(self) -> None:
        for trial_id, devices in self._held().items():
            there = [d for d, slot in self.rig.pool.slots.items() if slot.running and slot.running.trial_id == trial_id]
            assert set(there) <= set(devices)

    @invariant()
    def gangs_have_all_their_devices(self) -> None:
        for trial_id, devices in self._held().items():
            wanted = self.rig.recorder.sweeps[self.rig.recorder.trials[trial_id].sweep_id].spec.resources
            assert wanted.least <= len(devices) <= wanted.most
            nodes = {self.rig.pool[device_id].device.node for device_id in devices}
            assert len(nodes) == 1 or wanted.pack == "any"

    @invariant()
    def no_trial_delays_the_one_with_the_reservation(self) -> None:
        held = self.rig.scheduler.reservation
        before, self.promised = self.promised, None
        if held.sweep_id is None or held.reservation is None:
            return
        if held.reservation.devices & self.rig.recorder.drained.keys():
            return  # it is computed again when a device becomes free
        holder = self._holder(held.sweep_id)
        if before is not None and before[0] == holder and math.isfinite(before[1]):
            assert held.reservation.start_s <= max(before[1], self.rig.clock.now_s) + 1e-6
        self.promised = (holder, held.reservation.start_s)

    def _holder(self, sweep_id: int) -> Any:
        """Equal while the next trial of a sweep is the same one.

        The next one has another reservation: it may have to wait for the one that started, or avoid its device.
        """
        trials = self.rig.recorder.of(sweep_id)
        repeated = [trial.trial_id for trial in trials if trial.attempt and trial.state is TrialState.WAITING]
        return sweep_id, sum(trial.attempt for trial in trials), repeated

    def teardown(self) -> None:
        """No deadlock, no starvation: when all devices are there and all trials end, every sweep ends."""
        self.rig.recorder.drained.clear()
        for _ in range(200):
            self._run()
            for device_id in self.rig.pool.busy():
                if self.rig.pool[device_id].running:
                    self.rig.pool.finish(device_id)
            self._pass(1.0)
        for sweep in self.rig.recorder.sweeps.values():
            fits = sweep.spec.resources.least <= (3 if sweep.spec.resources.pack == "node" else len(NODES))
            assert sweep.state in TERMINAL_SWEEP_STATES or not fits, (sweep, self._held())


def _devices(trial: MemoryTrial) -> list[str]:
    return [device.device_id for device in trial.gang] or trial.devices[-1:]


TestGangs = Gangs.TestCase
TestGangs.settings = settings(
    max_examples=settings().max_examples // 2, stateful_step_count=30, deadline=None, derandomize=True
)
