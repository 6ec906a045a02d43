"""Carries out what clients want of sweeps and trials, as it is written in the database; pure, scheduler."""

from __future__ import annotations

import logging
from collections.abc import Callable

from podium.sweep.lifecycle.state_changes import (
    Change,
    Enqueued,
    RequestMoot,
    StoredSweep,
    SweepWish,
    TrialWish,
    Wishes,
)
from podium.sweep.scheduling.active_sweeps import Roster, searcher_of
from podium.sweep.scheduling.device_ledger import Ledger
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.values.trial import SWEEP_OVER, Cause, SweepState, TrialRequest, TrialState

log = logging.getLogger("podium.steering")


class Steering:
    """Sweeps taken in, paused, resumed, stopped, cancelled, extended; trials stopped, retried, added."""

    def __init__(
        self, roster: Roster, ledger: Ledger, changes: list[Change], cancel: Callable[[LiveSweep], None]
    ) -> None:
        self._roster = roster
        self._ledger = ledger
        self._changes = changes
        self._cancel = cancel
        self._unreadable: set[int] = set()

    @property
    def known(self) -> frozenset[int]:
        """The sweeps that are not to be read again: taken in, or found unreadable."""
        return frozenset(self._roster.sweeps) | self._unreadable

    def take_in(self, stored: StoredSweep) -> None:
        """A sweep that is new here, one that a scheduler before us left, or one that is to go on."""
        try:
            sweep = self._roster.take_in(stored)
        except Exception as error:  # whatever it is: one sweep that cannot be read must not end all others
            log.exception("sweep %d cannot be taken in", stored.sweep_id)
            self._unreadable.add(stored.sweep_id)
            self._roster.refuse(stored, f"it cannot be read back: {type(error).__name__}: {error}")
            return
        if sweep.state is SweepState.CANCELLED:  # while there was no scheduler to end its trials
            self._cancel(sweep)
        elif sweep.state in SWEEP_OVER:
            self._roster.set_state(sweep, SweepState.QUEUED, "it goes on, on request")
            sweep.failures.clear()

    def carry_out(self, wishes: Wishes) -> None:
        """All that clients want of sweeps that were taken in, and of their trials."""
        for sweep_id, sweep_wish in wishes.sweeps.items():
            self._follow(self._roster.sweeps[sweep_id], sweep_wish)
        for trial_wish in wishes.trials:
            self._grant(trial_wish)
        for item in wishes.enqueued:
            self._ask_for(item)

    def _follow(self, sweep: LiveSweep, wish: SweepWish) -> None:
        if wish.state is SweepState.CANCELLED:
            self._cancel(sweep)
            return
        sweep.run_cap, sweep.priority = wish.run_cap, wish.priority
        if wish.terms != sweep.account.text:
            sweep.account.set_terms(wish.terms)
        sweep.state, sweep.reason = wish.state, wish.reason
        if sweep.state is SweepState.QUEUED and sweep.running:
            self._roster.set_state(sweep, SweepState.RUNNING, "")

    def _grant(self, wish: TrialWish) -> None:
        trial = self._roster.trial(wish.trial.trial_id)
        sweep = self._roster.sweeps.get(wish.sweep_id)
        if wish.request is TrialRequest.STOP and trial is not None:
            self._stop(trial)
            return
        again = wish.request is TrialRequest.RETRY and wish.trial.state in (TrialState.FAILED, TrialState.CANCELLED)
        if again and sweep is not None and trial is None:
            self._roster.retry(sweep, wish.trial)
        elif not again or wish.cancelled:
            self._changes.append(RequestMoot(wish.trial.trial_id))

    def _stop(self, trial: LiveTrial) -> None:
        if self._roster.current(trial.key) is None:
            self._roster.drop(trial)
        elif not trial.stopping:
            trial.stopping = True
            if trial.device_id is not None:
                self._ledger[trial.device_id].stop(trial.key, Cause.CANCELLED)

    def _ask_for(self, item: Enqueued) -> None:
        sweep = self._roster.sweeps.get(item.sweep_id)
        if sweep is not None and item.enqueued_id not in sweep.asked_for:
            sweep.asked_for.add(item.enqueued_id)
            sweep.asking += 1
            searcher_of(sweep).ask(item)
