"""An unfinished sweep in the scheduler's memory. Only its own methods change it. Pure; scheduler process."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator

from podium.sweep.lifecycle.database_changes import Change, SweepChanged, SweepWarned
from podium.sweep.lifecycle.pending_commands import SweepUpdate
from podium.sweep.lifecycle.stored_sweeps import StoredSweep, StoredTrial
from podium.sweep.lifecycle.sweep_failure_criteria import ConsecutiveFailures
from podium.sweep.runtime.user_code_import_times import warning_of
from podium.sweep.scheduling.ask_pacing import AskPacing
from podium.sweep.scheduling.changes_and_actions import Instant
from podium.sweep.scheduling.device_seconds import DeviceSeconds
from podium.sweep.scheduling.gang import Gang
from podium.sweep.scheduling.live_population import Population
from podium.sweep.scheduling.live_trial import LiveTrial, OtherDevices
from podium.sweep.scheduling.slots_per_attempt import SlotsPerAttempt, slots_per_attempt
from podium.sweep.scheduling.sweep_budget import SweepBudget
from podium.sweep.spec.program import FunctionProgram
from podium.sweep.spec.search_method_registry import BRUTE_FORCE, CUSTOM
from podium.sweep.spec.sweep_spec import spec_from_json
from podium.sweep.spec.trial_stop_conditions import STEP, TRAINING_ITERATION
from podium.sweep.values.device import Device
from podium.sweep.values.running_sweep_warnings import ResultCheck, StopCheck, WarningCode
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import (
    COUNTED_TRIAL_STATES,
    TERMINAL_TRIAL_STATES,
    SweepState,
    TrialState,
    check_sweep_transition,
)
from podium.sweep.values.sweep_wait_reason import Wait

_EXHAUSTED = {  # why a sweep ends when its search is exhausted
    BRUTE_FORCE: "all configurations were evaluated",
    CUSTOM: "the sampler ended the search",
}
_OPEN = (SweepState.QUEUED, SweepState.RUNNING)


class LiveSweep:
    """The limits of a sweep, its unfinished trials, and the results so far.

    `asks` owns the asks of the search, `devices` the device-seconds of running attempts, and `account` the budget.
    """

    def __init__(self, stored: StoredSweep, search_generation: int, now: Instant) -> None:
        """Restore the stored sweep at `now`; `search_generation` is part of each message of its search."""
        self.sweep_id = stored.sweep_id
        self.spec = spec_from_json(stored.spec)
        self.search_generation = search_generation
        self.asks = AskPacing()
        self.devices = DeviceSeconds()
        self._needs: dict[int, SlotsPerAttempt] = {}  # by the slots of each device
        self.account = SweepBudget(self.spec, stored, now.wall_s, now.monotonic_s)
        self._state = stored.state
        self._reason = stored.reason  # of its state
        self._wait = stored.wait
        self._run_cap = self.spec.run_cap if stored.run_cap is None else stored.run_cap
        self._priority = self.spec.priority if stored.priority is None else stored.priority
        self.population = None if self.spec.population is None else Population(self.spec, stored.trials)
        self._trials: dict[int, LiveTrial] = {}  # by number
        self._ready: deque[LiveTrial] = deque()
        self._counted = 0
        self._finished = 0
        self._failures = ConsecutiveFailures(self.spec.retries)
        self._results = ResultCheck()
        own = (STEP, TRAINING_ITERATION)
        self._stops = StopCheck(condition.metric for condition in self.spec.stop if condition.metric not in own)
        self._imports_checked = False
        self._warnings = dict(stored.warnings)  # messages by code
        for trial in sorted(stored.trials, key=lambda trial: trial.ended_at or 0.0):
            self._restore(trial, now.wall_s)
        self._trials = dict(sorted(self._trials.items()))
        self._ready = deque(sorted(self._ready, key=lambda trial: (not trial.by_client, trial.number)))

    # State.

    @property
    def state(self) -> SweepState:
        return self._state

    @property
    def reason(self) -> str:
        """The reason of its state."""
        return self._reason

    @property
    def wait(self) -> Wait | None:
        """Why it waits; None if it does not wait."""
        return self._wait

    @property
    def run_cap(self) -> int:
        return self._run_cap

    @property
    def priority(self) -> float:
        return self._priority

    @property
    def counted(self) -> int:
        """The number of finished and pruned trials."""
        return self._counted

    def set_state(self, state: SweepState, reason: str, at: float) -> Change:
        """Raises `IllegalTransitionError`."""
        check_sweep_transition(self._state, state)
        return self._change(state, reason, at)

    def explain(self, wait: Wait | None, at: float) -> list[Change]:
        """Set why the sweep waits; None if it does not wait. An open sweep has no other reason."""
        reason = "" if self._state in _OPEN else self._reason
        if (reason, wait) == (self._reason, self._wait):
            return []
        return [self._change(self._state, reason, at, wait)]

    def warn(self, code: WarningCode, message: str, at: float) -> list[Change]:
        """Set a warning, or withdraw it with an empty message."""
        if message == self._warnings.get(code, ""):
            return []
        self._warnings[code] = message
        return [SweepWarned(self.sweep_id, code, message, at)]

    def apply_update(self, update: SweepUpdate) -> None:
        """Apply the changes that clients made in the database."""
        self._run_cap, self._priority = update.run_cap, update.priority
        if update.terms != self.account.text:
            self.account.set_terms(update.terms)
        self._state, self._reason, self._wait = update.state, update.reason, update.wait

    def resume(self, reason: str, at: float) -> Change:
        """A client has resumed a finished sweep: its failures so far no longer count."""
        change = self.set_state(SweepState.QUEUED, reason, at)
        self._failures.clear()
        return change

    def update_budget(self, now_s: float) -> None:
        """Update whether the budget is spent."""
        self.account.update(self.devices.total_s(now_s), now_s)

    def _change(self, state: SweepState, reason: str, at: float, wait: Wait | None = None) -> Change:
        ends = state in (SweepState.STOPPING, SweepState.FINISHED)
        run_cap, terms = (self._run_cap, self.account.text) if ends else (None, None)
        change = SweepChanged(self.sweep_id, self._state, state, reason, at, run_cap, terms, wait)
        self._state, self._reason, self._wait = state, reason, wait
        return change

    # Unfinished trials.

    @property
    def trials(self) -> list[LiveTrial]:
        """The unfinished trials."""
        return list(self._trials.values())

    @property
    def ready(self) -> tuple[LiveTrial, ...]:
        """The trials that wait for a slot, in the order in which they start."""
        return tuple(self._ready)

    @property
    def started_trials(self) -> list[LiveTrial]:
        """The trials with an unfinished attempt, with or without a known slot."""
        return [trial for trial in self._trials.values() if trial not in self._ready]

    def is_ready(self, trial: LiveTrial) -> bool:
        """Whether a trial waits for a slot."""
        return trial in self._ready

    def add(self, trial: LiveTrial) -> None:
        """Add a new waiting trial; one added by a client goes behind the waiting trials of clients."""
        self._trials[trial.number] = trial
        position = sum(other.by_client for other in self._ready) if trial.by_client else len(self._ready)
        self._ready.insert(position, trial)

    def retry(self, stored: StoredTrial) -> LiveTrial:
        """Put an ended trial at the front of the queue, to run again."""
        trial = LiveTrial.retried(self.sweep_id, stored)
        self._trials[trial.number] = trial
        self._ready.appendleft(trial)
        return trial

    def requeue(self, trial: LiveTrial) -> None:
        """Put a trial at the front of the queue, for its next attempt."""
        self._ready.appendleft(trial)

    def drop(self, trial: LiveTrial) -> None:
        """Remove a trial that has ended, or will never start."""
        self.reopen_search()
        del self._trials[trial.number]
        if trial in self._ready:
            self._ready.remove(trial)

    def needs(self, slots_per_device: int) -> SlotsPerAttempt:
        """The slots that each attempt needs."""
        if slots_per_device not in self._needs:
            self._needs[slots_per_device] = slots_per_attempt(self.spec.resources, slots_per_device)
        return self._needs[slots_per_device]

    def place(self, trial: LiveTrial, device: Device, now_s: float, nonce: str, gang: Gang | None = None) -> None:
        """Place the next attempt of a trial on a device, or on those of a gang."""
        self._ready.remove(trial)
        self.account.start(now_s)
        trial.place(device, now_s, nonce, gang)
        self.devices.add(trial)

    def adopt(self, trial: LiveTrial, device: Device, now_s: float) -> None:
        """Adopt the current attempt of a trial, which was found on a device."""
        trial.adopt(device, now_s)
        self.devices.add(trial)

    def place_again(self, trial: LiveTrial, now_s: float) -> None:
        """Record that the attempt is sent to its slot only now."""
        self.devices.move(trial, now_s - trial.placed_s)
        trial.place_again(now_s)

    def release_device(self, trial: LiveTrial, now_s: float, late_s: float) -> float:
        """Record that the attempt of a trial left its device `late_s` ago, and sends its files; returns the
        device-seconds that it used.

        It still counts as running, against the cap and `max_concurrent`.
        """
        self.devices.release(trial)
        device_s = self._charge(trial, now_s, late_s)
        trial.leave_device(device_s)
        return device_s

    def release(self, trial: LiveTrial, now_s: float, late_s: float = 0.0) -> float:
        """Record that the attempt of a trial ended `late_s` ago; returns the device-seconds that it used."""
        device_s = self._charge(trial, now_s, late_s) if trial.device_s is None else trial.device_s
        if trial.device_id is not None:
            self.devices.remove(trial, now_s)
            trial.release(now_s)
        trial.leave_gang()
        return device_s

    def _charge(self, trial: LiveTrial, now_s: float, late_s: float) -> float:
        held_s = trial.ran_s + (now_s - trial.placed_s if trial.device_id else 0.0)
        return self.account.charge(held_s * trial.width, late_s * trial.width)

    def reopen_search(self) -> None:
        """Ask again: a trial has ended or has a new parameter, so brute force may know more configurations."""
        if self.spec.searched_by == BRUTE_FORCE:
            self.asks.reopen()

    # Placement.

    def fits(self, device: Device) -> bool:
        """Whether its trials may run on a device of this kind and node."""
        return self.spec.resources.fits(device.kind, device.device_id)

    def next_for(self, device: Device, others: OtherDevices, ending: Container[int], now_s: float) -> LiveTrial | None:
        """The next trial for a device. A trial that just failed there is skipped if there are other devices.

        `ending`: trials that cannot start yet, because an earlier attempt of them still occupies a device.
        """
        if not self.fits(device):
            return None
        candidates: Iterable[LiveTrial] = self._startable_trials(ending)
        if (population := self.population) is not None:
            candidates = sorted(candidates, key=lambda trial: population.intervals_of(trial.trial_id))
        return next((trial for trial in candidates if not trial.avoids(device, others, now_s)), None)

    def avoids_devices(self, now_s: float) -> bool:
        """Whether one of its ready trials waits for another device than that of its last attempt."""
        return any(now_s < trial.avoided_until_s for trial in self._ready)

    def next(self, ending: Container[int]) -> LiveTrial | None:
        """The next trial, wherever it runs; `ending`: see `next_for`."""
        return next(self._startable_trials(ending), None)

    def _startable_trials(self, ending: Container[int]) -> Iterator[LiveTrial]:
        trials = self._ready if self.wants_more else self.restartable
        return (trial for trial in trials if trial.trial_id not in ending)

    @property
    def wants_more(self) -> bool:
        """Whether more trials may start. The cap applies to counted trials; running ones are expected to count."""
        return self._below_cap and not self.account.spent

    @property
    def restartable(self) -> list[LiveTrial]:
        """The trials that a stopping sweep still starts: those that had started and lost their attempt.

        If its budget is spent, the trials of clients as well.
        """
        if self._state is SweepState.STOPPING:
            return [trial for trial in self._ready if trial.attempt > trial.forgiven]
        if self._below_cap and self.account.spent:
            return [trial for trial in self._ready if trial.by_client or trial.attempt > trial.forgiven]
        return []

    @property
    def _below_cap(self) -> bool:
        return self._state in _OPEN and self._counted + self.devices.running < self._run_cap

    @property
    def startable(self) -> int:
        """The number of trials that would start now if there were devices enough."""
        if not self.wants_more:
            return len(self.restartable)
        trials = len(self._ready) if self.asks.exhausted else self._run_cap - self._counted - self.devices.running
        limit = self.spec.resources.max_concurrent
        return max(0, trials if limit is None else min(trials, limit - self.devices.running))

    def held_s(self, now_s: float) -> float:
        """The expected device-seconds of the attempts on devices at their end, for fair sharing.

        Each counts at least the mean duration of a trial: attempts that have just started have used nothing, so the
        first free slots would all go to one sweep.
        """
        return max(self.devices.used_s(now_s), self.devices.holding * self.asks.mean_trial_s)

    def asks_due(self, free_slots: int, slots: int) -> int:
        """The number of trials to request now, so that no slot waits and each trial is chosen with as many results as
        possible.
        """
        if not self.wants_more or self.asks.exhausted:
            return 0
        if self.population is not None:  # all at once: the first configurations do not depend on results
            return max(0, self._run_cap - self._counted - len(self._trials) - self.asks.pending)
        running, pending = self.devices.running, self.asks.pending
        concurrent = self.spec.resources.max_concurrent or slots
        planned = sum(trial.avoided_device is None for trial in self._ready) + pending  # others may have to wait
        below_cap = self._run_cap - self._counted - running - len(self._ready) - pending
        return max(0, min(min(free_slots, concurrent) + self.asks.ahead(slots) - planned, below_cap))

    # Results and the end.

    @property
    def objective_names(self) -> tuple[str, ...]:
        """The names of the objectives, if there are several."""
        return tuple(metric.name for metric in self.spec.metrics or ())

    def record_metrics(self, names: list[str]) -> None:
        """Record the metrics that a trial reported."""
        self._stops.record(names)

    def record_end(self, trial: LiveTrial, event: Ended, state: TrialState, at: float) -> list[Change]:
        """Record that a trial ended in `state` with its last attempt; returns the warnings that change."""
        self.asks.record_trial(event.ended_at - event.started_at)
        if state in COUNTED_TRIAL_STATES:
            self._counted += 1
            self.account.record(trial.number, event.value if state is TrialState.FINISHED else None, event.constraints)
            self._failures.clear()
        elif state is TrialState.FAILED:
            self._failures.record(event.cause, event.message, reported=bool(trial.reported))
        if state is not TrialState.FINISHED:
            return self.update_result_warning(at)
        self._finished += 1
        self._results.record(trial.params, event.values)
        warnings = self.update_result_warning(at)
        if not trial.ran_s:  # reports to an earlier scheduler are unknown here
            warnings += self.warn(WarningCode.UNKNOWN_STOP_METRIC, self._stops.warning, at)
        if (slow := self._import_warning(trial, event)) is not None:
            warnings += self.warn(WarningCode.SLOW_IMPORTS, slow, at)
        return warnings

    def update_result_warning(self, at: float) -> list[Change]:
        """Set or withdraw the warning about identical results."""
        return self.warn(WarningCode.IDENTICAL_RESULTS, self._results.warning, at)

    def _import_warning(self, trial: LiveTrial, event: Ended) -> str | None:
        """The warning about slow imports, or "", after the first finished trial; None otherwise, or if unknown."""
        started, program = trial.started, self.spec.program
        if started is None or not isinstance(program, FunctionProgram) or self._imports_checked:
            return None
        self._imports_checked = True
        return warning_of(started.imports, max(0.0, event.ended_at - started.at), program.preload)

    @property
    def is_spent(self) -> bool:
        """Whether it must stop because its budget is spent and no trial of a client waits."""
        pending = self.asks.pending or any(trial.by_client for trial in self._ready)
        return self._state in (*_OPEN, SweepState.PAUSED) and bool(self.account.spent) and not pending

    @property
    def failure_reason(self) -> str:
        """Why it must end because its trials fail, or ""."""
        other_reports = not self._counted and any(trial.device_id and trial.reported for trial in self.trials)
        return self._failures.reason(counted=self._counted, other_reports=other_reports)

    @property
    def has_ended(self) -> bool:
        """Whether nothing is running and nothing will start."""
        if self.devices.running or self.asks.pending:
            return False
        if self._state is SweepState.STOPPING:
            return not self.restartable
        return self._counted >= self._run_cap or (self.asks.exhausted and not self._ready)

    def outcome(self) -> tuple[SweepState, str]:
        """The final state of a sweep that has ended, and the reason."""
        if self._state is SweepState.STOPPING and not self._failures.last:
            return SweepState.FINISHED, self._reason
        if not self._finished:
            why = "; ".join(filter(None, [self.account.spent, self._failures.last])) or "all were pruned or stopped"
            return SweepState.FAILED, f"no trial finished; {why}"
        if self._state is SweepState.STOPPING and self.account.spent:
            return SweepState.FINISHED, self._reason
        if self._counted >= self._run_cap:
            return SweepState.FINISHED, "1 trial counted" if self._counted == 1 else f"{self._counted} trials counted"
        if self._state is SweepState.STOPPING:
            return SweepState.FINISHED, self._reason
        return SweepState.FINISHED, _EXHAUSTED.get(self.spec.searched_by, "the grid is exhausted")

    def _restore(self, stored: StoredTrial, at: float) -> None:
        if stored.state in COUNTED_TRIAL_STATES:
            self._counted += 1
            self.account.record(stored.number, stored.value, stored.constraints)
        if stored.state is TrialState.FINISHED:
            self._finished += 1
            self._results.record(stored.params, stored.values)
        if stored.state in TERMINAL_TRIAL_STATES:
            if stored.state is TrialState.FAILED and stored.attempt > stored.forgiven:
                self._failures.record(stored.last_cause, stored.last_message, reported=bool(stored.reports))
            elif stored.state in COUNTED_TRIAL_STATES:
                self._failures.clear()
            return
        trial = LiveTrial.restored(self.sweep_id, stored, at, self.spec.resources)
        self._trials[trial.number] = trial
        if stored.state is TrialState.WAITING:
            self._ready.append(trial)
