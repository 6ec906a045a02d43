"""The unfinished sweeps and trials, and the handling of answers from their searches. Pure; scheduler process."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from podium.sweep.lifecycle.recorded_changes import (
    AttemptEnded,
    Change,
    ParamDefined,
    SearchAttributesChanged,
    SweepChanged,
    TrialDropped,
    TrialPlanned,
    TrialRetried,
)
from podium.sweep.lifecycle.scheduler_messages import PruneDecision, SearchFailed, TrialProposed, ValueSuggested
from podium.sweep.lifecycle.scheduler_ports import SearchInputs
from podium.sweep.lifecycle.stored_sweeps import StoredSweep, StoredTrial
from podium.sweep.scheduling.actions import CloseSearch, OpenSearch, ReportValue, RetryTrial, TellTrial
from podium.sweep.scheduling.decision import Decision, Instant
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.past_trials import earlier_trials, past_trials
from podium.sweep.spec.define_by_run_parameters import check_definable
from podium.sweep.values.assignment import AttemptKey, Scalar
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.failure_causes import MEMORY_CAUSES, Cause
from podium.sweep.values.search_messages import ENQUEUED_VALUES
from podium.sweep.values.slot_events import Ended, SuggestRequested
from podium.sweep.values.states import TERMINAL_SWEEP_STATES, SweepState, TrialState

log = logging.getLogger("podium.scheduler")


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

    # Answers of the searches.

    def sender(self, message: TrialProposed | PruneDecision | ValueSuggested | SearchFailed) -> LiveSweep | None:
        """The sweep whose current search sent the message; None if that search was closed."""
        sweep = self._sweeps.get(message.sweep_id)
        return sweep if sweep is not None and sweep.search_generation == message.search_generation else None

    def on_trial_proposed(self, message: TrialProposed, now: Instant) -> Decision:
        """The search has proposed a trial, or is exhausted."""
        sweep = self.sender(message)
        if sweep is None:
            return Decision()
        planned = message.planned
        sweep.asks.end(message.took_s, exhausted=planned is None)
        if planned is None:
            return Decision()
        self._last_trial_id += 1
        trial = LiveTrial(
            self._last_trial_id, sweep.sweep_id, planned.number, planned.params,
            by_client=message.enqueued_id is not None, defined=set(planned.distributions),
            enqueued=planned.attributes.get(ENQUEUED_VALUES, {}),
        )  # fmt: skip
        self._trials[trial.trial_id] = trial
        sweep.add(trial)
        change = TrialPlanned(
            trial.trial_id, sweep.sweep_id, trial.number, trial.params, planned.sampler,
            planned.attributes, now.wall_s, message.enqueued_id, planned.distributions,
            fallback_reason=planned.fallback_reason, fallback_error=planned.fallback_error,
            proposed_for=planned.proposed_for,
        )  # fmt: skip
        return Decision(changes=[change])

    def on_prune_decision(self, message: PruneDecision) -> tuple[LiveTrial | None, Decision]:
        """The trial that waits for the decision, if it still waits."""
        if self.sender(message) is None:
            return None, Decision()
        changes: list[Change] = []
        if message.verdict.attributes:  # also when the attempt has ended: a rebuilt search needs them
            changes.append(SearchAttributesChanged(message.key.trial_id, message.verdict.attributes))
        return self.current(message.key), Decision(changes)

    def on_value_suggested(self, message: ValueSuggested) -> tuple[LiveTrial | None, Decision]:
        """A value of a parameter that is not in the sweep file; returns the trial that waits for it, if any."""
        trial = self.current(message.request.key)
        if trial is None or self.sender(message) is None:
            return None, Decision()
        wanted = message.request
        if wanted.drawn or wanted.name in trial.fallbacks:  # it continues with its own value
            return None, Decision()
        if message.error:
            return trial, Decision()
        trial.define(wanted.name, message.value)
        decision = self._defined(trial, wanted, message.value)
        if message.attributes:
            decision.changes.append(SearchAttributesChanged(trial.trial_id, dict(message.attributes)))
        return trial, decision

    def on_fallback_value(self, trial: LiveTrial, request: SuggestRequested) -> Decision:
        """A trial sampled a value itself because no answer came in time. Recorded immediately, since the trial may end
        at once.
        """
        try:
            check_definable(self._sweeps[trial.sweep_id].spec, request, len(trial.params))
        except UserCodeError as error:
            log.warning("dropped a value that trial %d sampled itself: %s", trial.trial_id, error)
            return Decision()
        trial.define_fallback(request.name, request.value)
        return self._defined(trial, request, request.value)

    def _defined(self, trial: LiveTrial, request: SuggestRequested, value: Scalar) -> Decision:
        self._sweeps[trial.sweep_id].reopen_search()
        return Decision(changes=[ParamDefined(trial.trial_id, request.name, value, request.distribution)])

    # Trials.

    def retry(self, sweep: LiveSweep, stored: StoredTrial, now: Instant) -> Decision:
        """A client retries a failed or cancelled trial."""
        trial = sweep.retry(stored)
        self._trials[trial.trial_id] = trial
        change = TrialRetried(trial.trial_id, sweep.sweep_id, trial.number, now.wall_s)
        return Decision([change], [RetryTrial(sweep.sweep_id, trial.number)])

    def drop(self, trial: LiveTrial, now: Instant) -> Decision:
        """A waiting trial must not start."""
        self._remove(trial)
        change = TrialDropped(trial.trial_id, trial.sweep_id, trial.number, now.wall_s)
        return Decision([change], [TellTrial(trial.sweep_id, trial.number, TrialState.CANCELLED)])

    def end_attempt(self, trial: LiveTrial, event: Ended, now: Instant, *, repeat: bool) -> Decision:
        """An attempt has ended, and its trial as well unless the trial is retried."""
        sweep = self._sweeps[trial.sweep_id]
        device_s = sweep.release(trial, now.monotonic_s, now.wall_s - event.ended_at)
        state = TrialState.WAITING if repeat else event.state
        if trial.stopping and state is TrialState.FAILED:
            state = TrialState.CANCELLED  # as the client requested, however the attempt ended
        ended = AttemptEnded(event, sweep.sweep_id, trial.number, state, device_s, sweep.objective_names)
        if repeat:
            sweep.requeue(trial)
            return Decision(changes=[ended])
        self._remove(trial)
        infeasible = state is TrialState.FAILED and event.cause in MEMORY_CAUSES
        told = TellTrial(sweep.sweep_id, trial.number, state, event.values, infeasible, event.constraints)
        return Decision([ended, *sweep.record_end(trial, event, state, now.wall_s)], [told])

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
            changes.append(AttemptEnded(event, stored.sweep_id, trial.number, TrialState.CANCELLED))
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
