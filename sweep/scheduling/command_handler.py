"""Decisions on the client requests for sweeps and trials, as stored in the database. Pure; scheduler process."""

from __future__ import annotations

import logging

from podium.sweep.lifecycle.database_changes import RequestObsolete
from podium.sweep.lifecycle.pending_commands import Enqueued, PendingCommands, SweepUpdate, TrialCommandRequest
from podium.sweep.lifecycle.stored_sweeps import StoredSweep
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.scheduling.scheduler_state import SchedulerState
from podium.sweep.scheduling.search_and_cleanup_actions import AskTrial
from podium.sweep.scheduling.sweep_endings import cancel_sweep
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import TERMINAL_SWEEP_STATES, SweepState, TrialRequest, TrialState

log = logging.getLogger("podium.commands")


class CommandHandler:
    """Activates, pauses, resumes, stops, cancels and extends sweeps; stops, retries and enqueues trials."""

    def __init__(self, state: SchedulerState) -> None:
        self._state = state

    def activate(self, stored: StoredSweep, now: Instant) -> Decision:
        """Activate a sweep that is new, was left by an earlier scheduler, or is to continue."""
        try:
            sweep, decision = self._state.sweeps.activate(stored, now)
        except Exception as error:  # one sweep that cannot be read must not end all others
            log.exception("cannot activate sweep %d", stored.sweep_id)
            return self._state.sweeps.reject_unreadable(stored, error, now)
        if sweep.state is SweepState.CANCELLED:  # cancelled while no scheduler was running that could end its trials
            decision += cancel_sweep(self._state, sweep, now)
        elif sweep.state in TERMINAL_SWEEP_STATES:
            decision.changes.append(sweep.resume("resumed on request", now.wall_s))
        return decision

    def apply(self, pending: PendingCommands, now: Instant) -> Decision:
        """Apply all requests for active sweeps, their trials, and devices."""
        self._state.set_members(pending.members)
        decision = Decision(changes=self._state.availability.apply(pending, now.wall_s))
        for sweep_id, update in pending.sweeps.items():
            decision += self._apply_to_sweep(self._state.sweeps[sweep_id], update, now)
        for request in pending.trials:
            decision += self._apply_to_trial(request, now)
        for item in pending.enqueued:
            decision += self._plan_enqueued(item, now)
        return decision

    def _apply_to_sweep(self, sweep: LiveSweep, update: SweepUpdate, now: Instant) -> Decision:
        if update.state is SweepState.CANCELLED:
            return cancel_sweep(self._state, sweep, now)
        sweep.apply_update(update)
        if sweep.state is SweepState.QUEUED and sweep.devices.running:
            return Decision(changes=[sweep.set_state(SweepState.RUNNING, "", now.wall_s)])
        return Decision()

    def _apply_to_trial(self, wish: TrialCommandRequest, now: Instant) -> Decision:
        trial = self._state.sweeps.trial(wish.trial.trial_id)
        sweep = self._state.sweeps.get(wish.sweep_id)
        if wish.request is TrialRequest.STOP and trial is not None:
            return self._stop(trial, now)
        retry = wish.request is TrialRequest.RETRY and wish.trial.state in (TrialState.FAILED, TrialState.CANCELLED)
        if retry and sweep is not None and trial is None:
            return self._state.sweeps.retry(sweep, wish.trial, now)
        if not retry or wish.cancelled:
            return Decision(changes=[RequestObsolete(wish.trial.trial_id)])
        return Decision()

    def _stop(self, trial: LiveTrial, now: Instant) -> Decision:
        if self._state.sweeps.current(trial.key) is None:
            return self._state.sweeps.drop(trial, now)
        if not trial.stopping:
            trial.request_stop()
            for slot in self._state.ledger.running_slots(trial):
                slot.stop(trial.key, Cause.CANCELLED)
        return Decision()

    def _plan_enqueued(self, item: Enqueued, now: Instant) -> Decision:
        sweep = self._state.sweeps.get(item.sweep_id)
        if sweep is None or not sweep.asks.begin_enqueued(item.enqueued_id, now.monotonic_s):
            return Decision()
        return Decision(actions=[AskTrial(sweep.sweep_id, item)])
