"""A recorder that stores everything in dictionaries; contract tests compare it with the real one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from podium.sweep.lifecycle.budget_usage import BudgetTerms
from podium.sweep.lifecycle.database_changes import (
    AttemptEnded,
    AttemptPlaced,
    AttemptReleased,
    AttemptStarted,
    Change,
    DeviceChanged,
    DeviceDrained,
    IntervalEnded,
    IntervalStarted,
    MetricPoint,
    ParamDefined,
    RankEnded,
    RequestObsolete,
    SearchAttributesChanged,
    SweepChanged,
    SweepReleased,
    SweepWarned,
    TrialDropped,
    TrialPlanned,
    TrialRetried,
)
from podium.sweep.lifecycle.dependent_sweep_release import BestTrial, HeldSweep, Predecessor, with_fixed_values
from podium.sweep.lifecycle.pending_commands import (
    Enqueued,
    MemberDevices,
    PendingCommands,
    SweepUpdate,
    TrialCommandRequest,
)
from podium.sweep.lifecycle.stored_sweeps import (
    EarlierTrial,
    IntervalResult,
    StoredInterval,
    StoredRank,
    StoredSweep,
    StoredTrial,
)
from podium.sweep.scheduling.change_buffer import trial_of
from podium.sweep.spec.predecessors import SweepReference
from podium.sweep.spec.sweep_spec import SweepSpec
from podium.sweep.values.attempt_assignment import Params
from podium.sweep.values.constraints_and_user_attributes import is_infeasible
from podium.sweep.values.device import GangDevice
from podium.sweep.values.drained_devices import DeviceDrain
from podium.sweep.values.errors import DatabaseError, FencedError
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import (
    TERMINAL_SWEEP_STATES,
    TERMINAL_TRIAL_STATES,
    SweepState,
    TrialRequest,
    TrialState,
    check_sweep_transition,
)
from podium.sweep.values.sweep_wait_reason import WAITS_FOR_SCHEDULER, Wait


@dataclass
class MemoryTrial:
    """A trial as the memory recorder stores it."""

    trial_id: int
    sweep_id: int
    number: int
    params: Params
    sampler: str
    attributes: dict[str, Any]
    state: TrialState = TrialState.WAITING
    value: float | None = None
    attempt: int = 0
    reports: dict[int, float] = field(default_factory=dict)
    attempts: dict[int, Ended | None] = field(default_factory=dict)
    devices: list[str] = field(default_factory=list)
    nonces: list[str] = field(default_factory=list)  # of the attempts, in order
    gang: tuple[GangDevice, ...] = ()  # of the last attempt, if it has several devices
    ranks: dict[int, Ended] = field(default_factory=dict)  # of these, those that have ended
    requested: TrialRequest | None = None
    forgiven: int = 0
    ended_at: float | None = None
    placed_at: float = 0.0
    device_s: float | None = None  # of an attempt that has left its device and has not ended
    seen_at: float = 0.0
    values: tuple[float, ...] | None = None
    constraints: dict[str, float] = field(default_factory=dict)
    distributions: dict[str, dict[str, Any]] = field(default_factory=dict)
    intervals: list[StoredInterval] = field(default_factory=list)

    def stored(self, spec: SweepSpec) -> StoredTrial:
        """The trial for the scheduler: all reports for a pruner, else the last one if it did not finish."""
        reports = dict(self.reports)
        if spec.early_terminate.type == "none":
            reports = {} if self.state is TrialState.FINISHED else dict(sorted(reports.items())[-1:])
        settled = max((each.result.attempt for each in self.intervals if each.result), default=0)
        counted = max(self.forgiven, settled)
        ends = [self.attempts[number] for number in sorted(self.attempts) if number > counted]
        causes = tuple(end.cause for end in ends if end and end.state is TrialState.FAILED and end.cause)
        runs = self.state is TrialState.RUNNING
        failed = [end for _, end in sorted(self.attempts.items()) if end and end.state is TrialState.FAILED]
        return StoredTrial(
            self.trial_id, self.number, self.state, dict(self.params), self.value, self.attempt,
            self.sampler, dict(self.attributes), reports, causes, self.forgiven, self.ended_at,
            failed[-1].cause if failed else None, failed[-1].message if failed else "",
            self.placed_at if runs else None, self.seen_at if runs else None,
            self.values, dict(self.constraints), copy.deepcopy(self.distributions),
            self.devices[-1] if runs else None, self.nonces[-1] if runs else "", self.device_s, tuple(self.intervals),
            tuple(StoredRank(device, self.ranks.get(rank)) for rank, device in enumerate(self.gang)) if runs else (),
        )  # fmt: skip


@dataclass
class MemorySweep:
    """A sweep as the memory recorder stores it."""

    sweep_id: int
    spec: SweepSpec
    created_at: float
    run_cap: int
    priority: float
    terms: str
    state: SweepState = SweepState.QUEUED
    reason: str = ""
    wait: Wait | None = None
    started_at: float | None = None
    ended_at: float | None = None
    over_s: float = 0.0
    device_s: float = 0.0
    earlier: tuple[EarlierTrial, ...] = ()
    warnings: dict[str, str] = field(default_factory=dict)
    held: bool = False


class MemoryRecorder:
    """Stores everything in dictionaries; see `podium.sweep.lifecycle.scheduler_interfaces.Recorder`.

    `full`: read-only for lack of space. `fenced`: another scheduler has taken over. `unreachable`: the lease cannot be
    confirmed. `cannot_write`: a change with values that no table accepts.
    """

    def __init__(self) -> None:
        self.sweeps: dict[int, MemorySweep] = {}
        self.trials: dict[int, MemoryTrial] = {}
        self.dedicated: dict[str, str] = {}
        self.drained: dict[str, str] = {}
        self.enqueued: dict[int, Enqueued] = {}
        self.devices: dict[str, DeviceChanged] = {}
        self.full = False
        self.fenced = False
        self.unreachable = False
        self.members = MemberDevices()
        self.cannot_write: Callable[[Change], bool] = lambda change: False

    # Actions of clients.

    def accept(self, spec: SweepSpec, at: float) -> int:
        sweep_id = len(self.sweeps) + 1
        self.sweeps[sweep_id] = MemorySweep(
            sweep_id, spec, at, spec.run_cap, spec.priority, BudgetTerms.of(spec).to_json(), held=bool(spec.after)
        )  # fmt: skip
        return sweep_id

    def set_state(self, sweep_id: int, state: SweepState, reason: str = "on request", at: float = 20.0) -> None:
        sweep = self.sweeps[sweep_id]
        check_sweep_transition(sweep.state, state)
        self._change(SweepChanged(sweep_id, sweep.state, state, reason, at))

    def extend(self, sweep_id: int, **terms: Any) -> None:
        """Change the limits of a sweep; an ended one is queued again."""
        sweep = self.sweeps[sweep_id]
        sweep.terms = BudgetTerms.read(sweep.terms).changed(BudgetTerms(**terms)).to_json()

    def cancel(self, sweep_id: int) -> None:
        self.set_state(sweep_id, SweepState.CANCELLED)

    def request(self, trial_id: int, request: TrialRequest) -> None:
        self.trials[trial_id].requested = request

    def enqueue(self, sweep_id: int, params: Params) -> int:
        enqueued_id = max(self.enqueued, default=0) + 1
        self.enqueued[enqueued_id] = Enqueued(enqueued_id, sweep_id, params)
        return enqueued_id

    # Actions of the scheduler.

    def confirm(self) -> None:
        if self.unreachable:
            raise DatabaseError("no connection, as played")
        if self.fenced:
            raise FencedError

    def commit(self, changes: Sequence[Change]) -> None:
        if self.full:
            raise DatabaseError("the disk is full, as played")
        if self.fenced:
            raise FencedError
        undo = self._snapshot(changes)
        try:
            for change in changes:
                if self.cannot_write(change):
                    raise OverflowError("as played")
                self._apply(change)
        except BaseException:
            undo()
            raise

    def _snapshot(self, changes: Sequence[Change]) -> Callable[[], None]:
        """Copy what these changes can modify; returns the rollback. A copy of all trials would take quadratic time."""
        forgiven = {c.sweep_id for c in changes if isinstance(c, SweepChanged) and c.old_state is SweepState.FAILED}
        changed = {trial_of(change) for change in changes}
        copied = {
            i: copy.deepcopy(trial) if i in changed or trial.sweep_id in forgiven else trial
            for i, trial in self.trials.items()
        }
        sweeps = {i: replace(sweep, warnings=dict(sweep.warnings)) for i, sweep in self.sweeps.items()}
        others = dict(self.enqueued), dict(self.devices), dict(self.drained)

        def undo() -> None:
            self.sweeps, self.trials = sweeps, copied
            self.enqueued, self.devices, self.drained = others

        return undo

    def open_sweeps(self, known: frozenset[int]) -> list[StoredSweep]:
        return [
            StoredSweep(
                s.sweep_id, s.state, s.spec.to_json(), s.created_at, tuple(t.stored(s.spec) for t in of_sweep),
                s.reason, s.run_cap, s.priority, s.terms, s.started_at, s.ended_at, s.over_s, s.device_s, s.earlier,
                dict(s.warnings), s.wait,
            )
            for s in self.sweeps.values()
            for of_sweep in [self.of(s.sweep_id)]
            if s.sweep_id not in known and not s.held
            and (
                s.state not in TERMINAL_SWEEP_STATES
                or any(t.state not in TERMINAL_TRIAL_STATES for t in of_sweep)
                or self._requested_update(s)
            )
        ]  # fmt: skip

    def held_sweeps(self) -> list[HeldSweep]:
        states = (SweepState.QUEUED, SweepState.PAUSED)
        return [
            HeldSweep(
                s.sweep_id, s.state, s.spec.to_json(), tuple(self._predecessor(earlier) for earlier in s.spec.after),
                None if s.spec.fix_from is None else self._best(s.spec.fix_from.sweep), s.wait,
            )
            for s in self.sweeps.values()
            if s.held and s.state in states
        ]  # fmt: skip

    def _predecessor(self, sweep_id: SweepReference) -> Predecessor:
        assert isinstance(sweep_id, int)
        sweep = self.sweeps[sweep_id]
        return Predecessor(sweep_id, sweep.spec.name, sweep.state, sweep.reason)

    def _best(self, sweep_id: SweepReference) -> BestTrial | None:
        assert isinstance(sweep_id, int)
        sign = -1 if self.sweeps[sweep_id].spec.metric.goal == "maximize" else 1
        finished = [trial for trial in self.of(sweep_id) if trial.state is TrialState.FINISHED]
        feasible = [trial for trial in finished if not is_infeasible(trial.constraints)]
        ranked = sorted(feasible, key=lambda trial: (sign * (trial.value or 0.0), trial.number))
        return BestTrial(ranked[0].trial_id, ranked[0].number, dict(ranked[0].params)) if ranked else None

    def _release(self, change: SweepReleased) -> None:
        sweep = self.sweeps[change.sweep_id]
        if sweep.held and sweep.state in (SweepState.QUEUED, SweepState.PAUSED):
            sweep.held = False
            sweep.wait = WAITS_FOR_SCHEDULER if sweep.state is SweepState.QUEUED else sweep.wait
            if change.fixed is not None:
                sweep.spec = with_fixed_values(sweep.spec, change.fixed.params)

    def _requested_update(self, sweep: MemorySweep) -> bool:
        retried = any(trial.requested is TrialRequest.RETRY for trial in self.of(sweep.sweep_id))
        added = any(item.sweep_id == sweep.sweep_id for item in self.enqueued.values())
        if sweep.state is SweepState.FINISHED:
            return retried or added
        return sweep.state is SweepState.FAILED and retried

    def pending_commands(self, known: frozenset[int]) -> PendingCommands:
        sweeps = {i: self.sweeps[i] for i in sorted(known)}
        return PendingCommands(
            members=self.members,
            sweeps={
                i: SweepUpdate(s.state, s.reason, s.run_cap, s.priority, s.terms, s.wait) for i, s in sweeps.items()
            },
            trials=tuple(
                TrialCommandRequest(
                    trial.sweep_id,
                    trial.requested,
                    trial.stored(self.sweeps[trial.sweep_id].spec),
                    self.sweeps[trial.sweep_id].state is SweepState.CANCELLED,
                )
                for _, trial in sorted(self.trials.items())
                if trial.requested is not None
            ),
            enqueued=tuple(
                item
                for _, item in sorted(self.enqueued.items())
                if self.sweeps[item.sweep_id].state not in (SweepState.CANCELLED, SweepState.FAILED)
            ),
            dedicated=dict(self.dedicated),
            drained=tuple(DeviceDrain(device_id, "", reason) for device_id, reason in self.drained.items()),
        )

    def last_trial_id(self) -> int:
        return max(self.trials, default=0)

    def of(self, sweep_id: int) -> list[MemoryTrial]:
        """The trials of a sweep, by number."""
        return sorted((t for t in self.trials.values() if t.sweep_id == sweep_id), key=lambda trial: trial.number)

    def _apply(self, change: Change) -> None:
        if isinstance(change, TrialPlanned):
            self._plan(change)
        elif isinstance(change, AttemptPlaced):
            self._place(self.trials[change.key.trial_id], change)
        elif isinstance(change, IntervalStarted):
            self._start_interval(self.trials[change.trial_id], change)
        elif isinstance(change, IntervalEnded):
            self._end_interval(self.trials[change.key.trial_id], change)
        elif isinstance(change, RankEnded):
            self.trials[change.key.trial_id].ranks[change.rank] = change.event
        elif isinstance(change, MetricPoint):
            trial = self.trials[change.key.trial_id]
            trial.seen_at = max(trial.seen_at, change.at)
            if change.name == self.sweeps[trial.sweep_id].spec.pruned_on.name:
                trial.reports.setdefault(change.step, change.value)
        elif isinstance(change, ParamDefined):
            defined = self.trials[change.trial_id]
            defined.params = {**defined.params, change.name: change.value}
            defined.distributions[change.name] = dict(change.distribution)
        elif isinstance(change, SearchAttributesChanged):
            self.trials[change.trial_id].attributes = dict(change.attributes)
        elif isinstance(change, AttemptReleased):
            released = self.trials[change.key.trial_id]
            if released.attempts[change.key.attempt] is None:
                released.device_s = change.device_s
                self.sweeps[released.sweep_id].device_s += change.device_s
        elif isinstance(change, AttemptEnded):
            self._end(self.trials[change.event.key.trial_id], change)
        elif isinstance(change, TrialDropped):
            self._drop(self.trials[change.trial_id], change)
        elif isinstance(change, TrialRetried):
            self._retry(self.trials[change.trial_id])
        elif isinstance(change, RequestObsolete):
            self.trials[change.trial_id].requested = None
        elif isinstance(change, SweepChanged):
            self._change(change)
        elif isinstance(change, SweepReleased):
            self._release(change)
        elif isinstance(change, SweepWarned):
            warnings = self.sweeps[change.sweep_id].warnings
            warnings.pop(change.code, None)
            if change.message:
                warnings[change.code] = change.message
        elif isinstance(change, DeviceChanged):
            self.devices[change.device_id] = change
        elif isinstance(change, DeviceDrained):
            self.drained.setdefault(change.device_id, change.reason)
        elif isinstance(change, AttemptStarted):
            assert change.event.key.attempt in self.trials[change.event.key.trial_id].attempts

    def _change(self, change: SweepChanged) -> None:
        sweep = self.sweeps[change.sweep_id]
        believed = sweep.state is change.old_state and change.run_cap in (None, sweep.run_cap)
        if not believed or change.terms not in (None, sweep.terms):
            return
        sweep.state, sweep.reason, sweep.wait = change.state, change.reason, change.wait
        if change.state is SweepState.RUNNING and sweep.started_at is None:
            sweep.started_at = change.at
        if change.old_state in TERMINAL_SWEEP_STATES and sweep.ended_at is not None:
            sweep.over_s += max(0.0, change.at - sweep.ended_at)
        if change.state in TERMINAL_SWEEP_STATES or change.old_state in TERMINAL_SWEEP_STATES:
            sweep.ended_at = change.at if change.state in TERMINAL_SWEEP_STATES else None
        if change.old_state is SweepState.FAILED:
            self._reset_failures(change.sweep_id)

    def _drop(self, trial: MemoryTrial, change: TrialDropped) -> None:
        if trial.state is TrialState.WAITING:
            trial.state, trial.requested, trial.ended_at = TrialState.CANCELLED, None, change.at

    def _retry(self, trial: MemoryTrial) -> None:
        if trial.state in (TrialState.FAILED, TrialState.CANCELLED):
            trial.state, trial.requested, trial.ended_at = TrialState.WAITING, None, None
            trial.forgiven, trial.constraints = trial.attempt, {}

    def _reset_failures(self, sweep_id: int) -> None:
        for trial in self.of(sweep_id):
            if trial.state is TrialState.FAILED:
                trial.forgiven = trial.attempt

    def _plan(self, change: TrialPlanned) -> None:
        if change.trial_id in self.trials:
            raise DatabaseError(f"trial {change.trial_id} is there already")
        self.trials[change.trial_id] = MemoryTrial(
            change.trial_id, change.sweep_id, change.number, dict(change.params), change.sampler,
            dict(change.attributes), distributions=copy.deepcopy(change.distributions),
        )  # fmt: skip
        if change.enqueued_id is not None:
            del self.enqueued[change.enqueued_id]

    def _place(self, trial: MemoryTrial, change: AttemptPlaced) -> None:
        if change.key.attempt in trial.attempts:
            raise DatabaseError(f"attempt {change.key} is there already")
        trial.attempts[change.key.attempt] = None
        trial.devices.append(change.device_id)
        trial.nonces.append(change.nonce)
        trial.gang, trial.ranks = change.devices, {}
        trial.placed_at = trial.seen_at = change.at
        if trial.state is TrialState.WAITING:
            trial.state, trial.attempt = TrialState.RUNNING, change.key.attempt

    def _start_interval(self, trial: MemoryTrial, change: IntervalStarted) -> None:
        assert all(each.result is not None and each.number < change.interval for each in trial.intervals)
        started = StoredInterval(
            change.interval, dict(change.params), change.first_attempt, change.donor_id, change.donor_interval
        )
        trial.intervals.append(started)
        trial.params = dict(change.params)

    def _end_interval(self, trial: MemoryTrial, change: IntervalEnded) -> None:
        assert trial.intervals[-1].number == change.interval and trial.intervals[-1].result is None
        result = IntervalResult(change.key.attempt, trial.nonces[change.key.attempt - 1], change.step, change.value)
        trial.intervals[-1] = replace(trial.intervals[-1], result=result)

    def _end(self, trial: MemoryTrial, change: AttemptEnded) -> None:
        event = change.event
        if trial.attempts.get(event.key.attempt, event) is None:
            trial.attempts[event.key.attempt] = event
            assert trial.device_s in (None, change.device_s), "device time does not change after the device is left"
            self.sweeps[trial.sweep_id].device_s += change.device_s - (trial.device_s or 0.0)
            trial.device_s = None
        if trial.attempt == event.key.attempt and trial.state is TrialState.RUNNING:
            trial.state = change.state
            trial.value = event.value if change.state is TrialState.FINISHED else None
            if change.state in TERMINAL_TRIAL_STATES:
                trial.ended_at, trial.requested = event.ended_at, None
                trial.values = event.values if change.state is TrialState.FINISHED else None
                trial.constraints = dict(event.constraints)
