"""Begins and ends the intervals of trials whose sweep has a population. Pure; scheduler process.

Each function has no effect in a sweep without one.
"""

from __future__ import annotations

from dataclasses import replace

from podium.sweep.lifecycle.database_changes import Change
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.scheduling.changes_and_actions import Instant
from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.values.attempt_assignment import Interval
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import SweepState, TrialState


def begin_interval(sweep: LiveSweep, trial: LiveTrial, now: Instant) -> list[Change]:
    """Decide the interval of the attempt that was just placed, unless it repeats one that was lost."""
    if sweep.population is None:
        return []
    started = sweep.population.begin(trial.key, sweep.sweep_id, number=trial.number, params=trial.params, at=now.wall_s)
    if started is None:
        return []
    trial.begin_interval(started.params)
    return [started]


def interval_of(sweep: LiveSweep, trial: LiveTrial, data: DataDirectory) -> Interval | None:
    """The interval of the current attempt, for its assignment."""
    if sweep.population is None:
        return None
    ends = sweep.state is SweepState.STOPPING or bool(sweep.account.spent)
    interval, start = sweep.population.interval_of(trial.trial_id, is_last=ends)
    if start is None:
        return interval
    folder = data.attempt(sweep.sweep_id, start.number, start.attempt, start.nonce)
    return replace(interval, checkpoint=data.relative(folder))


def end_interval(sweep: LiveSweep, trial: LiveTrial, event: Ended) -> list[Change]:
    """Record the result if the attempt ended an interval."""
    if sweep.population is None or event.state is not TrialState.WAITING:
        return []
    ended = sweep.population.end(event, sweep.sweep_id, trial.nonce)
    trial.end_interval()
    return [ended]
