"""Decides the end of sweeps: finished, failed, cancelled. Pure; scheduler process."""

from __future__ import annotations

from podium.sweep.scheduling.attempt_deadlines import dropped_ends_by_s
from podium.sweep.scheduling.attempt_end_handler import attempt_ended
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.scheduler_state import SchedulerState
from podium.sweep.scheduling.search_and_cleanup_actions import ApplyRetention, ReadAgain
from podium.sweep.values.failure_causes import Cause
from podium.sweep.values.states import SweepState


def end_due_sweeps(state: SchedulerState, now: Instant) -> Decision:
    """Stop sweeps whose budget is spent, and end those that only fail or have no work left."""
    decision = Decision()
    for sweep in state.sweeps:
        sweep.update_budget(now.monotonic_s)
        if sweep.is_spent:
            decision.changes.append(sweep.set_state(SweepState.STOPPING, sweep.account.spent, now.wall_s))
        if reason := sweep.failure_reason:
            decision += fail_sweep(state, sweep.sweep_id, reason, now)
        elif sweep.has_ended:
            decision += _finish(state, sweep, now)
    return decision


def fail_sweep(state: SchedulerState, sweep_id: int, reason: str, now: Instant) -> Decision:
    """Fail a sweep that cannot continue."""
    sweep = state.sweeps.get(sweep_id)
    if sweep is None:
        return Decision()
    decision = _end_trials(state, sweep, now)
    decision.changes.append(sweep.set_state(SweepState.FAILED, reason, now.wall_s))
    decision += _remove(state, sweep, now)
    return decision


def cancel_sweep(state: SchedulerState, sweep: LiveSweep, now: Instant) -> Decision:
    """End a sweep that a client cancelled; its state in the database has already changed."""
    decision = _end_trials(state, sweep, now)
    decision += _remove(state, sweep, now)
    return decision


def _finish(state: SchedulerState, sweep: LiveSweep, now: Instant) -> Decision:
    outcome, reason = sweep.outcome()
    decision = Decision()
    if sweep.state is SweepState.QUEUED:
        decision.changes.append(sweep.set_state(SweepState.RUNNING, "", now.wall_s))
    if sweep.state is SweepState.PAUSED:
        decision.changes.append(sweep.set_state(SweepState.STOPPING, reason, now.wall_s))
    decision.changes.append(sweep.set_state(outcome, reason, now.wall_s))
    decision += _remove(state, sweep, now)
    return decision


def _end_trials(state: SchedulerState, sweep: LiveSweep, now: Instant) -> Decision:
    """Kill the running attempts and record their ends immediately: later events of their slots no longer count."""
    decision = Decision()
    for trial in sweep.started_trials:
        ends_by_s = dropped_ends_by_s(sweep, trial, now.monotonic_s)
        state.ledger.drop(trial, ends_by_s, state.folder_of(trial))
        event = attempt_ended(trial, Cause.CANCELLED, "its sweep was ended", now)
        decision += state.sweeps.end_attempt(trial, event, now, repeat=False)
    return decision


def _remove(state: SchedulerState, sweep: LiveSweep, now: Instant) -> Decision:
    decision = state.sweeps.remove(sweep, now)
    decision.actions.append(ReadAgain())  # its successors
    state.shares.forget(sweep.sweep_id)
    if sweep.spec.keep.removes_something or sweep.population is not None:  # of trials that never run again
        decision.actions.append(ApplyRetention(sweep.sweep_id))
    return decision
