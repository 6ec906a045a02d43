"""A recorder that keeps everything in dictionaries; the contract tests hold it to what the real one does."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sweep.changes import (
    AttemptEnded,
    AttemptPlaced,
    AttemptStarted,
    Change,
    DeviceChanged,
    MetricPoint,
    SearchNotes,
    StoredSweep,
    StoredTrial,
    SweepChanged,
    TrialDropped,
    TrialPlanned,
)
from sweep.errors import DatabaseError
from sweep.spec import SweepSpec
from sweep.trial import SWEEP_OVER, TRIAL_OVER, Ended, Params, SweepState, TrialState


@dataclass
class MemoryTrial:
    """A trial as the memory recorder keeps it."""

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

    def stored(self) -> StoredTrial:
        ends = [self.attempts[number] for number in sorted(self.attempts)]
        causes = tuple(end.cause for end in ends if end and end.state is TrialState.FAILED and end.cause)
        return StoredTrial(
            self.trial_id, self.number, self.state, dict(self.params), self.value, self.attempt,
            self.sampler, dict(self.attributes), dict(self.reports), causes,
        )  # fmt: skip


@dataclass
class MemorySweep:
    """A sweep as the memory recorder keeps it."""

    sweep_id: int
    spec: SweepSpec
    created_at: float
    state: SweepState = SweepState.QUEUED
    reason: str = ""


class MemoryRecorder:
    """Keeps it all in dictionaries; see `sweep.messages.Recorder`. `full`: it can be read, not written."""

    def __init__(self) -> None:
        self.sweeps: dict[int, MemorySweep] = {}
        self.trials: dict[int, MemoryTrial] = {}
        self.dedicated: dict[str, str] = {}
        self.devices: dict[str, DeviceChanged] = {}
        self.full = False

    # What a client does.

    def accept(self, spec: SweepSpec, at: float) -> int:
        sweep_id = len(self.sweeps) + 1
        self.sweeps[sweep_id] = MemorySweep(sweep_id, spec, at)
        return sweep_id

    def cancel(self, sweep_id: int) -> None:
        self.sweeps[sweep_id].state = SweepState.CANCELLED

    # What the scheduler does.

    def commit(self, changes: Sequence[Change]) -> None:
        if self.full:
            raise DatabaseError("the disk is full, as played")
        before = copy.deepcopy((self.sweeps, self.trials))
        try:
            for change in changes:
                self._apply(change)
        except BaseException:
            self.sweeps, self.trials = before
            raise

    def open_sweeps(self, known: frozenset[int]) -> list[StoredSweep]:
        return [
            StoredSweep(s.sweep_id, s.state, s.spec.to_json(), s.created_at, tuple(t.stored() for t in of_sweep))
            for s in self.sweeps.values()
            for of_sweep in [self.of(s.sweep_id)]
            if s.sweep_id not in known
            and (s.state not in SWEEP_OVER or any(t.state not in TRIAL_OVER for t in of_sweep))
        ]

    def cancelled(self, known: frozenset[int]) -> list[int]:
        return [sweep_id for sweep_id in sorted(known) if self.sweeps[sweep_id].state is SweepState.CANCELLED]

    def dedicated_devices(self) -> dict[str, str]:
        return dict(self.dedicated)

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
        elif isinstance(change, MetricPoint):
            trial = self.trials[change.key.trial_id]
            if change.name == self.sweeps[trial.sweep_id].spec.metric.name:
                trial.reports.setdefault(change.step, change.value)
        elif isinstance(change, SearchNotes):
            self.trials[change.trial_id].attributes = dict(change.attributes)
        elif isinstance(change, AttemptEnded):
            self._end(self.trials[change.event.key.trial_id], change)
        elif isinstance(change, TrialDropped):
            if self.trials[change.trial_id].state is TrialState.WAITING:
                self.trials[change.trial_id].state = TrialState.CANCELLED
        elif isinstance(change, SweepChanged):
            sweep = self.sweeps[change.sweep_id]
            if sweep.state not in SWEEP_OVER:
                sweep.state, sweep.reason = change.state, change.reason
        elif isinstance(change, DeviceChanged):
            self.devices[change.device_id] = change
        elif isinstance(change, AttemptStarted):
            assert change.event.key.attempt in self.trials[change.event.key.trial_id].attempts

    def _plan(self, change: TrialPlanned) -> None:
        if change.trial_id in self.trials:
            raise DatabaseError(f"trial {change.trial_id} is there already")
        self.trials[change.trial_id] = MemoryTrial(
            change.trial_id, change.sweep_id, change.number, dict(change.params), change.sampler,
            dict(change.attributes),
        )  # fmt: skip

    def _place(self, trial: MemoryTrial, change: AttemptPlaced) -> None:
        if change.key.attempt in trial.attempts:
            raise DatabaseError(f"attempt {change.key} is there already")
        trial.attempts[change.key.attempt] = None
        trial.devices.append(change.device_id)
        if trial.state is TrialState.WAITING:
            trial.state, trial.attempt = TrialState.RUNNING, change.key.attempt

    def _end(self, trial: MemoryTrial, change: AttemptEnded) -> None:
        event = change.event
        if trial.attempts.get(event.key.attempt, event) is None:
            trial.attempts[event.key.attempt] = event
        if trial.attempt == event.key.attempt and trial.state is TrialState.RUNNING:
            trial.state = change.state
            trial.value = event.value if change.state is TrialState.FINISHED else None
