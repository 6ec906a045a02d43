"""The unfinished sweeps and trials, by id. Pure; scheduler process."""

from __future__ import annotations

from collections.abc import Iterator

from podium.sweep.lifecycle.database_changes import (
    AttemptEnded,
    Change,
    SweepChanged,
    TrialDropped,
    TrialRetried,
)
from podium.sweep.lifecycle.scheduler_inbox_messages import PruneDecision, SearchFailed, TrialProposed, ValueSuggested
from podium.sweep.lifecycle.scheduler_interfaces import SearchInputs
from podium.sweep.lifecycle.stored_sweeps import StoredSweep, StoredTrial
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.past_trials_for_search import earlier_trials, past_trials
from podium.sweep.scheduling.population_intervals import end_interval
from podium.sweep.scheduling.search_and_cleanup_actions import (
    CloseSearch,
    OpenSearch,
    ReportValue,
    RetryTrial,
    TellTrial,
)
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.failure_causes import MEMORY_CAUSES, Cause
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import COUNTED_TRIAL_STATES, TERMINAL_SWEEP_STATES, SweepState, TrialState


class ActiveSweeps:
    """Sweeps and trials by id."""

    def __init__(self, last_trial_id: int) -> None:
        self._sweeps: dict[int, LiveSweep] = {}
        self._trials: dict[int, LiveTrial] = {}
        self._unreadable: set[int] = set()
        self._last_trial_id = last_trial_id
        self._search_generation = 0

    def __iter__(self) -> Iterator[LiveSweep]:
        """The sweeps as they are now, in the order in which they were activated."""
        return iter(list(self._sweeps.values()))

    def __getitem__(self, sweep_id: int) -> LiveSweep:
        return self._sweeps[sweep_id]

    def get(self, sweep_id: int) -> LiveSweep | None:
        return self._sweeps.get(sweep_id)

    @property
    def ids(self) -> frozenset[int]:
        return frozenset(self._sweeps)

    @property
    def known(self) -> frozenset[int]:
        """The sweeps that must not be loaded again: active or unreadable ones."""
        return self.ids | self._unreadable

    @property
    def trials(self) -> list[LiveTrial]:
        """The unfinished trials of all sweeps."""
        return list(self._trials.values())

    def trial(self, trial_id: int) -> LiveTrial | None:
        """An unfinished trial."""
        return self._trials.get(trial_id)

    def sweep_id_of(self, trial_id: int) -> int | None:
        """The sweep of an unfinished trial."""
        trial = self._trials.get(trial_id)
        return None if trial is None else trial.sweep_id

    def current(self, key: AttemptKey) -> LiveTrial | None:
        """The unfinished trial with this current attempt; None for any other attempt, whose results do not count."""
        trial = self._trials.get(key.trial_id)
        if trial is None or trial.key != key or self._sweeps[trial.sweep_id].is_ready(trial):
            return None
        return trial

    def knows(self, key: AttemptKey) -> bool:
        """Whether the database may have this attempt: neither its trial nor its number is above those assigned."""
        trial = self._trials.get(key.trial_id)
        return key.trial_id <= self._last_trial_id and (trial is None or key.attempt <= trial.key.attempt)

    def sender(self, message: TrialProposed | PruneDecision | ValueSuggested | SearchFailed) -> LiveSweep | None:
        """The sweep whose current search sent the message; None if that search was closed."""
        sweep = self._sweeps.get(message.sweep_id)
        return sweep if sweep is not None and sweep.search_generation == message.search_generation else None

    # Sweeps.

    def activate(self, stored: StoredSweep, now: Instant) -> tuple[LiveSweep, Decision]:
        """Add a sweep that is new, or was left by an earlier scheduler. Raises any error caused by its stored form."""
        sweep = LiveSweep(stored, self._search_generation + 1, now)
        self._search_generation += 1

        def load() -> SearchInputs:
            return SearchInputs(sweep.spec, past_trials(stored), earlier_trials(stored))

        self._sweeps[sweep.sweep_id] = sweep
        self._trials |= {trial.trial_id: trial for trial in sweep.trials}
        decision = Decision(actions=[OpenSearch(sweep.sweep_id, sweep.search_generation, load)])
        decision.actions.extend(_last_reports(stored))
        decision.changes.extend(sweep.update_result_warning(now.wall_s))
        return sweep, decision

    def reject_unreadable(self, stored: StoredSweep, error: Exception, now: Instant) -> Decision:
        """A sweep that cannot be read fails, and is not loaded again."""
        self._unreadable.add(stored.sweep_id)
        reason = f"the stored sweep cannot be read: {type(error).__name__}: {error}"
        return Decision(changes=rejection(stored, reason, now))

    def remove(self, sweep: LiveSweep, now: Instant) -> Decision:
        """A sweep has ended; its waiting trials never start."""
        decision = Decision()
        for trial in sweep.trials:
            decision += self.drop(trial, now)
        decision.actions.append(CloseSearch(sweep.sweep_id))
        del self._sweeps[sweep.sweep_id]
        return decision

    # Trials.

    def new_trial_id(self) -> int:
        """The id of a new trial."""
        self._last_trial_id += 1
        return self._last_trial_id

    def add(self, trial: LiveTrial) -> None:
        """Add a new trial, which waits for a device."""
        self._trials[trial.trial_id] = trial
        self._sweeps[trial.sweep_id].add(trial)

    def retry(self, sweep: LiveSweep, stored: StoredTrial, now: Instant) -> Decision:
        """A client retries a failed or cancelled trial."""
        trial = sweep.retry(stored)
        if sweep.population is not None:
            sweep.population.add(stored)
        self._trials[trial.trial_id] = trial
        change = TrialRetried(trial.trial_id, sweep.sweep_id, trial.number, now.wall_s)
        return Decision([change], [RetryTrial(sweep.sweep_id, trial.number)])

    def drop(self, trial: LiveTrial, now: Instant) -> Decision:
        """A waiting trial must not start."""
        self._leave_population(trial)
        self._remove(trial)
        change = TrialDropped(trial.trial_id, trial.sweep_id, trial.number, now.wall_s)
        return Decision([change], [TellTrial(trial.sweep_id, trial.number, TrialState.CANCELLED)])

    def end_attempt(self, trial: LiveTrial, event: Ended, now: Instant, *, repeat: bool) -> Decision:
        """An attempt has ended, and its trial as well unless the trial is retried."""
        sweep = self._sweeps[trial.sweep_id]
        device_s = sweep.release(trial, now.monotonic_s, now.wall_s - event.ended_at)
        state = TrialState.WAITING if repeat else event.state
        if trial.stopping and state in (TrialState.FAILED, TrialState.WAITING):
            state = TrialState.CANCELLED  # as the client requested, however the attempt ended
        changes = end_interval(sweep, trial, event)
        ended = AttemptEnded(event, sweep.sweep_id, trial.number, state, device_s, sweep.objective_names)
        if repeat:
            sweep.requeue(trial)
            return Decision(changes=[*changes, ended])
        if state not in COUNTED_TRIAL_STATES:
            self._leave_population(trial)
        self._remove(trial)
        infeasible = state is TrialState.FAILED and event.cause in MEMORY_CAUSES
        told = TellTrial(sweep.sweep_id, trial.number, state, event.values, infeasible, event.constraints)
        return Decision([*changes, ended, *sweep.record_end(trial, event, state, now.wall_s)], [told])

    def _leave_population(self, trial: LiveTrial) -> None:
        if (population := self._sweeps[trial.sweep_id].population) is not None:
            population.leave(trial.trial_id)

    def _remove(self, trial: LiveTrial) -> None:
        self._sweeps[trial.sweep_id].drop(trial)
        del self._trials[trial.trial_id]


def rejection(stored: StoredSweep, reason: str, now: Instant) -> list[Change]:
    """The changes that fail a stored sweep that cannot be activated."""
    changes: list[Change] = []
    at = now.wall_s
    for trial in stored.trials:
        if trial.state is TrialState.WAITING:
            changes.append(TrialDropped(trial.trial_id, stored.sweep_id, trial.number, at))
        elif trial.state is TrialState.RUNNING:
            key = AttemptKey(trial.trial_id, trial.attempt)
            event = Ended(key, TrialState.CANCELLED, at, at, cause=Cause.CANCELLED, message="its sweep failed")
            device_s = trial.device_s or 0.0  # of one that sends its files
            changes.append(AttemptEnded(event, stored.sweep_id, trial.number, TrialState.CANCELLED, device_s))
    if stored.state not in TERMINAL_SWEEP_STATES:
        changes.append(SweepChanged(stored.sweep_id, stored.state, SweepState.FAILED, reason, at))
    return changes


def _last_reports(stored: StoredSweep) -> Iterator[ReportValue]:
    """The last report of each running trial: the pruner's decision on it may have been lost, with its notes."""
    for trial in stored.trials:
        if trial.state is TrialState.RUNNING and trial.reports:
            step = max(trial.reports)
            key = AttemptKey(trial.trial_id, trial.attempt)
            yield ReportValue(stored.sweep_id, trial.number, key, step, trial.reports[step])
