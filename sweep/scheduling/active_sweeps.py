"""The sweeps and trials that are not over, and what becomes of them, as changes to be written; pure, scheduler."""

from __future__ import annotations

import logging

from podium.sweep.lifecycle.scheduler_messages import (
    Asked,
    Judged,
    Searcher,
    Searchers,
    SearchFailed,
    SearchInputs,
    Suggested,
)
from podium.sweep.lifecycle.state_changes import (
    AttemptEnded,
    Change,
    ParamDefined,
    SearchNotes,
    StoredSweep,
    StoredTrial,
    SweepChanged,
    SweepWarned,
    TrialDropped,
    TrialPlanned,
    TrialRetried,
)
from podium.sweep.runtime.clock import Clock
from podium.sweep.scheduling.live_sweep import LiveSweep, earlier_trials, past_trials
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.spec.defined_parameters import definable
from podium.sweep.values.errors import UserCodeError
from podium.sweep.values.trial import (
    MEMORY_CAUSES,
    SWEEP_OVER,
    SWEEP_TRANSITIONS,
    AttemptKey,
    Cause,
    Ended,
    Scalar,
    SweepState,
    TrialState,
    Wanted,
    check_sweep_transition,
)
from podium.sweep.values.trial_history import ENQUEUED_VALUES
from podium.sweep.values.warning_checks import WarningCode

log = logging.getLogger("podium.scheduler")


class Roster:
    """Sweeps by id and trials by id. What it decides goes to `changes`, for the scheduler to write."""

    def __init__(self, searchers: Searchers, clock: Clock, changes: list[Change], last_trial_id: int) -> None:
        self.sweeps: dict[int, LiveSweep] = {}
        self._trials: dict[int, LiveTrial] = {}
        self._searchers = searchers
        self._clock = clock
        self._changes = changes
        self._last_trial_id = last_trial_id
        self._taken = 0  # how many sweeps were taken in

    def trial(self, trial_id: int) -> LiveTrial | None:
        """A trial that is not over."""
        return self._trials.get(trial_id)

    def sweep_of(self, trial_id: int) -> int | None:
        """The sweep of a trial that is not over."""
        trial = self._trials.get(trial_id)
        return None if trial is None else trial.sweep_id

    def all_trials(self) -> list[LiveTrial]:
        return list(self._trials.values())

    def current(self, key: AttemptKey) -> LiveTrial | None:
        """The trial whose current attempt this is and not over; None for any other, whose results do not count."""
        trial = self._trials.get(key.trial_id)
        if trial is None or trial.key != key or trial in self.sweeps[trial.sweep_id].ready:
            return None
        return trial

    # Sweeps.

    def take_in(self, stored: StoredSweep) -> LiveSweep:
        """A sweep that is new here, or that a scheduler before us left."""
        sweep = LiveSweep(stored, self._clock.wall_s(), self._clock.monotonic_s())
        self._taken += 1
        sweep.taken = self._taken

        def load() -> SearchInputs:
            return SearchInputs(sweep.spec, past_trials(stored), earlier_trials(stored))

        sweep.searcher = self._searchers.open(sweep.sweep_id, sweep.taken, load)
        self.sweeps[sweep.sweep_id] = sweep
        self._trials |= {trial.trial_id: trial for trial in sweep.trials.values()}
        self._judge_again(sweep, stored)
        self.warn(sweep, WarningCode.IDENTICAL_RESULTS, sweep.results.warning)
        return sweep

    def _judge_again(self, sweep: LiveSweep, stored: StoredSweep) -> None:
        """The last report of what runs: the verdict on it may have been lost, with the pruner's notes."""
        for trial in stored.trials:
            if trial.state is TrialState.RUNNING and trial.reports:
                step = max(trial.reports)
                key = AttemptKey(trial.trial_id, trial.attempt)
                searcher_of(sweep).report(trial.number, key, step, trial.reports[step])

    def refuse(self, stored: StoredSweep, reason: str) -> None:
        """A sweep that cannot be taken in fails, whole, and the others go on."""
        now = self._clock.wall_s()
        for trial in stored.trials:
            if trial.state is TrialState.WAITING:
                self._changes.append(TrialDropped(trial.trial_id, stored.sweep_id, trial.number, now))
            elif trial.state is TrialState.RUNNING:
                key = AttemptKey(trial.trial_id, trial.attempt)
                event = Ended(key, TrialState.CANCELLED, now, now, cause=Cause.CANCELLED, message="its sweep failed")
                self._changes.append(AttemptEnded(event, stored.sweep_id, trial.number, TrialState.CANCELLED))
        if stored.state not in SWEEP_OVER:
            self._changes.append(SweepChanged(stored.sweep_id, stored.state, SweepState.FAILED, reason, now))

    def forget(self, sweep: LiveSweep) -> None:
        """A sweep that is over; what of it has not begun never will."""
        for trial in list(sweep.trials.values()):
            self.drop(trial)
        searcher_of(sweep).close()
        del self.sweeps[sweep.sweep_id]

    def set_state(self, sweep: LiveSweep, state: SweepState, reason: str) -> None:
        """Raises `IllegalTransitionError`."""
        check_sweep_transition(sweep.state, state)
        self._change(sweep, state, reason)

    def explain(self, sweep: LiveSweep, reason: str) -> None:
        """Why the sweep waits, or "" when it does not any more."""
        if reason != sweep.reason:
            self._change(sweep, sweep.state, reason)

    def warn(self, sweep: LiveSweep, code: WarningCode, message: str) -> None:
        """Set a warning of the sweep, or withdraw it with an empty message."""
        if message != sweep.warnings.get(code, ""):
            sweep.warnings[code] = message
            self._changes.append(SweepWarned(sweep.sweep_id, code, message, self._clock.wall_s()))

    def stop_sweep(self, trial: LiveTrial) -> None:
        """A trial called `study.stop()`: what runs may finish, and nothing else of its sweep starts."""
        sweep = self.sweeps[trial.sweep_id]
        if SweepState.STOPPING in SWEEP_TRANSITIONS[sweep.state]:
            self.set_state(sweep, SweepState.STOPPING, f"trial {trial.number} called study.stop()")

    def _change(self, sweep: LiveSweep, state: SweepState, reason: str) -> None:
        ends = state in (SweepState.STOPPING, SweepState.FINISHED)
        decided_by = (sweep.run_cap, sweep.account.text) if ends else (None, None)
        at = self._clock.wall_s()
        self._changes.append(SweepChanged(sweep.sweep_id, sweep.state, state, reason, at, *decided_by))
        sweep.state, sweep.reason = state, reason

    # Trials.

    def whose(self, message: Asked | Judged | Suggested | SearchFailed) -> LiveSweep | None:
        """The sweep whose search says so; None for the search of one that is over, or was taken in anew since."""
        sweep = self.sweeps.get(message.sweep_id)
        return sweep if sweep is not None and sweep.taken == message.taken else None

    def hear_ask(self, message: Asked) -> None:
        """The search has chosen a trial, or has none left."""
        sweep = self.whose(message)
        if sweep is None:
            return
        sweep.asking -= 1
        sweep.mean_ask_s += 0.2 * (message.took_s - sweep.mean_ask_s)
        planned = message.planned
        if planned is None:
            sweep.exhausted = True
            return
        self._last_trial_id += 1
        wanted = message.enqueued_id is not None
        trial = LiveTrial(
            self._last_trial_id, sweep.sweep_id, planned.number, planned.params,
            wanted=wanted, defined=set(planned.distributions),
            enqueued=planned.attributes.get(ENQUEUED_VALUES, {}),
        )  # fmt: skip
        self._trials[trial.trial_id] = trial
        sweep.add(trial)
        self._changes.append(
            TrialPlanned(
                trial.trial_id, sweep.sweep_id, trial.number, trial.params, planned.sampler,
                planned.attributes, self._clock.wall_s(), message.enqueued_id, planned.distributions,
            )
        )  # fmt: skip

    def hear_verdict(self, message: Judged) -> LiveTrial | None:
        """The trial that waits for the verdict, if it still does."""
        if self.whose(message) is None:
            return None
        if message.verdict.attributes:  # also when the attempt is over: a rebuilt search must find them
            self._changes.append(SearchNotes(message.key.trial_id, message.verdict.attributes))
        return self.current(message.key)

    def hear_suggestion(self, message: Suggested) -> LiveTrial | None:
        """A value for a parameter that the sweep file does not name; the trial that it is for, if it still waits."""
        trial = self.current(message.wanted.key)
        if trial is None or self.whose(message) is None:
            return None
        wanted = message.wanted
        if wanted.drawn or wanted.name in trial.drawn:  # it goes on with its own value
            return None
        if not message.error:
            self._define(trial, wanted, message.value)
            if message.attributes:
                self._changes.append(SearchNotes(trial.trial_id, dict(message.attributes)))
        return trial

    def note_drawn(self, trial: LiveTrial, wanted: Wanted) -> None:
        """A trial waited in vain for a value and goes on with its own: noted at once, for it may end at once."""
        try:
            definable(self.sweeps[trial.sweep_id].spec, wanted, len(trial.params))
        except UserCodeError as error:
            log.warning("not kept of trial %d, which drew it by itself: %s", trial.trial_id, error)
            return
        trial.drawn.add(wanted.name)
        self._define(trial, wanted, wanted.value)

    def _define(self, trial: LiveTrial, wanted: Wanted, value: Scalar) -> None:
        trial.params = {**trial.params, wanted.name: value}
        trial.defined.add(wanted.name)
        self.sweeps[trial.sweep_id].look_again()
        self._changes.append(ParamDefined(trial.trial_id, wanted.name, value, wanted.distribution))

    def retry(self, sweep: LiveSweep, stored: StoredTrial) -> None:
        """A client wants a trial again that failed or was cancelled."""
        trial = sweep.retry(stored)
        self._trials[trial.trial_id] = trial
        searcher_of(sweep).retry(trial.number)
        self._changes.append(TrialRetried(trial.trial_id, sweep.sweep_id, trial.number, self._clock.wall_s()))

    def drop(self, trial: LiveTrial) -> None:
        """A trial that waits, and is not to start."""
        self._changes.append(TrialDropped(trial.trial_id, trial.sweep_id, trial.number, self._clock.wall_s()))
        self._let_go(trial)
        searcher_of(self.sweeps[trial.sweep_id]).tell(trial.number, TrialState.CANCELLED, None)

    def end_attempt(self, trial: LiveTrial, event: Ended, *, repeat: bool) -> None:
        """An attempt is over; its trial is too, unless it is to be repeated."""
        sweep = self.sweeps[trial.sweep_id]
        device_s = sweep.unplace(trial, self._clock.monotonic_s(), self._clock.wall_s() - event.ended_at)
        state = TrialState.WAITING if repeat else event.state
        if trial.stopping and state is TrialState.FAILED:
            state = TrialState.CANCELLED  # as a client wanted, whatever became of the attempt
        self._changes.append(AttemptEnded(event, sweep.sweep_id, trial.number, state, device_s, sweep.several))
        if repeat:
            sweep.ready.appendleft(trial)
            return
        self._let_go(trial)
        sweep.count(trial, event, state)
        self.warn(sweep, WarningCode.IDENTICAL_RESULTS, sweep.results.warning)
        if state is TrialState.FINISHED and not trial.ran_s:  # what it reported to a scheduler before is not known here
            self.warn(sweep, WarningCode.UNKNOWN_STOP_METRIC, sweep.stops.warning)
        if state is TrialState.FINISHED and (slow := sweep.import_warning(trial, event)) is not None:
            self.warn(sweep, WarningCode.SLOW_IMPORTS, slow)
        infeasible = state is TrialState.FAILED and event.cause in MEMORY_CAUSES
        searcher_of(sweep).tell(trial.number, state, event.values, infeasible=infeasible, constraints=event.constraints)

    def _let_go(self, trial: LiveTrial) -> None:
        self.sweeps[trial.sweep_id].look_again()
        self.sweeps[trial.sweep_id].drop(trial)
        del self._trials[trial.trial_id]


def searcher_of(sweep: LiveSweep) -> Searcher:
    """The search of a sweep that was taken in."""
    assert sweep.searcher is not None
    return sweep.searcher
