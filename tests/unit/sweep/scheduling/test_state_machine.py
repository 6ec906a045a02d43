"""Stateful test of sweeps and trials under arbitrary actions of clients, slots and the database.

The model is what clients have observed: which trials counted and with which value, the run cap of each sweep,
and the last request. The fake slots fail the test if two attempts run on one device.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from podium.sweep.scheduling.read_pacing import TICK_S
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import (
    COUNTED_TRIAL_STATES,
    SWEEP_TRANSITIONS,
    TERMINAL_SWEEP_STATES,
    TERMINAL_TRIAL_STATES,
    SweepState,
    TrialRequest,
    TrialState,
)
from tests.rig import Rig

SLOTS = 3
DEVICES = st.sampled_from([f"cpu-{position}" for position in range(SLOTS)])
STEERED = [SweepState.PAUSED, SweepState.RUNNING, SweepState.STOPPING, SweepState.CANCELLED]


class LifeCycle(RuleBasedStateMachine):
    """Rules are actions; invariants are checked after each one."""

    def __init__(self) -> None:
        super().__init__()
        self.rig = Rig(slots=SLOTS)
        self.seen: dict[int, tuple[TrialState, float | None]] = {}  # counted trials, as clients observed them
        self.started: dict[int, int] = {}  # attempts of a paused sweep's trials when it was paused

    def can_write(self) -> bool:
        """Whether clients can write: with a full disk, the API rejects writes with 507."""
        return not self.rig.recorder.full

    # Actions of clients.

    @precondition(lambda self: self.can_write() and len(self.rig.recorder.sweeps) < 4)
    @rule(run_cap=st.integers(1, 5), priority=st.sampled_from([0.5, 1.0, 4.0]), limit=st.none() | st.integers(1, 2))
    def submit(self, run_cap: int, priority: float, limit: int | None) -> None:
        self.rig.submit(
            run_cap=run_cap, priority=priority, resources={"max_concurrent": limit},
            retries={"infrastructure": 2, "max_consecutive_failures": 6},
        )  # fmt: skip

    @precondition(lambda self: self.can_write())
    @rule(data=st.data(), state=st.sampled_from(STEERED))
    def steer(self, data: st.DataObject, state: SweepState) -> None:
        sweeps = self.rig.recorder.sweeps
        possible = [i for i, s in sweeps.items() if state in SWEEP_TRANSITIONS[s.state]]
        if possible:
            self.rig.recorder.set_state(data.draw(st.sampled_from(possible)), state)
            self.rig.settle()

    @precondition(lambda self: self.can_write())
    @rule(data=st.data(), more=st.integers(1, 3))
    def extend(self, data: st.DataObject, more: int) -> None:
        sweeps = self.rig.recorder.sweeps
        possible = [i for i, s in sweeps.items() if s.state is not SweepState.CANCELLED]
        if possible:
            sweep = sweeps[data.draw(st.sampled_from(possible))]
            sweep.run_cap += more
            if SweepState.QUEUED in SWEEP_TRANSITIONS[sweep.state] and sweep.state in (*TERMINAL_SWEEP_STATES,):
                self.rig.recorder.set_state(sweep.sweep_id, SweepState.QUEUED)
            self.rig.settle()

    @precondition(lambda self: self.can_write())
    @rule(data=st.data())
    def stop_trial(self, data: st.DataObject) -> None:
        self._request(data, TrialRequest.STOP, lambda state: state not in TERMINAL_TRIAL_STATES)

    @precondition(lambda self: self.can_write())
    @rule(data=st.data())
    def retry_trial(self, data: st.DataObject) -> None:
        self._request(data, TrialRequest.RETRY, lambda state: state in (TrialState.FAILED, TrialState.CANCELLED))

    def _request(self, data: st.DataObject, request: TrialRequest, allowed: Any) -> None:
        recorder = self.rig.recorder
        possible = [
            i for i, t in recorder.trials.items()
            if allowed(t.state) and recorder.sweeps[t.sweep_id].state is not SweepState.CANCELLED
        ]  # fmt: skip
        if possible:
            recorder.request(data.draw(st.sampled_from(possible)), request)
            self.rig.settle()

    @precondition(lambda self: self.can_write())
    @rule(data=st.data(), x=st.floats(0, 1))
    def clone(self, data: st.DataObject, x: float) -> None:
        possible = [i for i, s in self.rig.recorder.sweeps.items() if s.state is not SweepState.CANCELLED]
        if possible:
            self.rig.recorder.enqueue(data.draw(st.sampled_from(possible)), {"x": x})
            self.rig.settle()

    @precondition(lambda self: self.can_write())
    @rule(device_id=DEVICES)
    def drain_or_return(self, device_id: str) -> None:
        drained = self.rig.recorder.drained
        if drained.pop(device_id, None) is None:
            drained[device_id] = "drained on request"
        self.rig.settle()

    # Actions of slots and the machine.

    @rule(device_id=DEVICES, state=st.sampled_from([TrialState.FINISHED, TrialState.PRUNED]), value=st.floats(0, 1))
    def end_well(self, device_id: str, state: TrialState, value: float) -> None:
        if self.rig.pool[device_id].running:
            self.rig.pool.end(device_id, state, value=value)
            self.rig.settle()

    @rule(device_id=DEVICES, cause=st.sampled_from([c for c in Cause if c is not Cause.CANCELLED]))
    def fail(self, device_id: str, cause: Cause) -> None:
        if self.rig.pool[device_id].running:
            self.rig.pool.fail(device_id, cause)
            self.rig.settle()

    @rule(device_id=DEVICES)
    def leave_device(self, device_id: str) -> None:
        """The files of the attempt are being sent: its device must be free for the next one."""
        slot = self.rig.pool[device_id]
        if slot.running and not slot.sending:
            self.rig.pool.release(device_id)
            self.rig.settle()

    @rule(device_id=DEVICES, value=st.none() | st.floats(0, 1), restarted=st.booleans())
    def end_sending(self, device_id: str, value: float | None, restarted: bool) -> None:
        """The files have arrived, or could not be sent."""
        if not self.rig.pool[device_id].sending:
            return
        if value is None:
            self.rig.pool.end_sending(device_id, TrialState.FAILED, cause=Cause.INFRASTRUCTURE)
        else:
            self.rig.pool.end_sending(device_id, value=value)
        if restarted:
            self.rig.restart()
        else:
            self.rig.settle()

    @rule(device_id=DEVICES)
    def restart_before_the_release_is_handled(self, device_id: str) -> None:
        slot = self.rig.pool[device_id]
        if slot.running and not slot.sending:
            self.rig.pool.release(device_id)
        self.rig.restart()

    @rule()
    def end_stopped_attempts(self) -> None:
        """Slots that were told to end an attempt have ended it."""
        for device_id in self.rig.pool.sending():
            if self.rig.pool[device_id].cancelled:
                self.rig.pool[device_id].cancelled.clear()
                self.rig.pool.end_sending(device_id, TrialState.CANCELLED, cause=Cause.CANCELLED)
        for device_id in self.rig.pool.busy():
            if self.rig.pool[device_id].stops:
                self.rig.pool[device_id].stops.clear()
                self.rig.pool.end(device_id, TrialState.CANCELLED, cause=Cause.CANCELLED)
        self.rig.settle()

    @rule(device_id=DEVICES)
    def lose(self, device_id: str) -> None:
        self.rig.pool.lose(device_id)
        self.rig.settle()

    @rule(device_id=DEVICES, value=st.floats(0, 1))
    def restart_before_the_end_is_handled(self, device_id: str, value: float) -> None:
        if self.rig.pool[device_id].running:
            self.rig.pool.finish(device_id, value)
        self.rig.restart()

    @rule(full=st.booleans())
    def fill_or_clear_the_disk(self, full: bool) -> None:
        self.rig.recorder.full = full
        self.rig.settle()

    @rule()
    def wait(self) -> None:
        for device_id in self.rig.pool.slots:
            self.rig.pool.stop_replying(device_id)
        self.rig.clock.advance(TICK_S)
        self.rig.settle()

    # Invariants.

    @invariant()
    def counted_trials_are_never_lost_or_changed(self) -> None:
        trials = self.rig.recorder.trials
        for trial_id, counted in self.seen.items():
            assert (trials[trial_id].state, trials[trial_id].value) == counted
        self.seen |= {i: (t.state, t.value) for i, t in trials.items() if t.state in COUNTED_TRIAL_STATES}

    @invariant()
    def no_sweep_exceeds_its_run_cap(self) -> None:
        for sweep_id, sweep in self.rig.recorder.sweeps.items():
            assert self.rig.counted(sweep_id) <= sweep.run_cap

    @invariant()
    def no_sweep_exceeds_its_concurrency(self) -> None:
        """Attempts that send their files count."""
        for sweep_id, sweep in self.rig.recorder.sweeps.items():
            limit = sweep.spec.resources.max_concurrent
            assert limit is None or self.rig.states(sweep_id).count(TrialState.RUNNING) <= limit

    @invariant()
    def terminal_sweeps_have_no_open_trials(self) -> None:
        if self.rig.recorder.full:
            return
        for sweep_id, sweep in self.rig.recorder.sweeps.items():
            if sweep.state in TERMINAL_SWEEP_STATES:
                assert all(state in TERMINAL_TRIAL_STATES for state in self.rig.states(sweep_id))

    @invariant()
    def paused_sweeps_start_no_attempts(self) -> None:
        paused = {i for i, s in self.rig.recorder.sweeps.items() if s.state is SweepState.PAUSED}
        now = {i: sum(t.attempt for t in self.rig.trials(i)) for i in paused}
        assert all(now[i] == attempts for i, attempts in self.started.items() if i in now)
        self.started = now

    @invariant()
    def attempt_numbers_have_no_gaps_and_one_attempt_is_current(self) -> None:
        for trial in self.rig.recorder.trials.values():
            assert sorted(trial.attempts) == list(range(1, trial.attempt + 1))
            open_ones = [number for number, end in trial.attempts.items() if end is None]
            assert open_ones == ([trial.attempt] if trial.state is TrialState.RUNNING else [])

    def teardown(self) -> None:
        """When the disk and the devices are available again, every sweep ends."""
        rig = self.rig
        rig.recorder.full = False
        rig.recorder.drained.clear()
        rig.settle()
        for sweep_id, sweep in rig.recorder.sweeps.items():
            if sweep.state is SweepState.PAUSED:
                rig.recorder.set_state(sweep_id, SweepState.RUNNING)
        for _ in range(200):
            self.end_stopped_attempts()
            for device_id in rig.pool.busy():
                rig.pool.finish(device_id)
            for device_id in rig.pool.sending():
                rig.pool.end_sending(device_id, value=0.5)
            self.wait()
            if all(sweep.state in TERMINAL_SWEEP_STATES for sweep in rig.recorder.sweeps.values()):
                break
        for sweep_id, sweep in rig.recorder.sweeps.items():
            assert sweep.state in TERMINAL_SWEEP_STATES, (sweep_id, sweep.state, sweep.reason)
            assert all(state in TERMINAL_TRIAL_STATES for state in rig.states(sweep_id))
        self.counted_trials_are_never_lost_or_changed()


TestLifeCycle = LifeCycle.TestCase
TestLifeCycle.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
