"""When attempts have ended at the latest, by their time limits. Pure; scheduler process.

The time in which a process starts, or its files are carried between machines, is not included: it is usually short, but
its bounds are long.
"""

from __future__ import annotations

import math

from podium.sweep.scheduling.live_sweep import LiveSweep
from podium.sweep.scheduling.live_trial import LiveTrial
from podium.sweep.spec.trial_limits import SpecLimits


def longest_s(limits: SpecLimits, *, processes: int) -> float:
    """The longest time that an attempt has its devices; infinity without a limit.

    The ranks of an attempt with several processes may continue for a grace period after rank 0 has ended.
    """
    if limits.trial_s is None:
        return math.inf
    return limits.trial_s + limits.grace_s * (2 if processes > 1 else 1)


def ends_by_s(sweep: LiveSweep, trial: LiveTrial) -> float:
    """When the current attempt of a trial has left its devices at the latest; monotonic."""
    processes = 1 if trial.gang is None else trial.gang.processes
    return trial.placed_s - trial.ran_s + longest_s(sweep.spec.limits, processes=processes)


def dropped_ends_by_s(sweep: LiveSweep, trial: LiveTrial, now_s: float) -> float:
    """The same for an attempt that is killed now. Its processes have a grace period, as at their time limit."""
    return min(now_s + sweep.spec.limits.grace_s, ends_by_s(sweep, trial))
