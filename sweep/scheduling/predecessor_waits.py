"""Decides which sweeps no longer wait for their predecessors, and why others do. Pure; scheduler process.

A sweep that waits is not active: it has no search, and claims no device. Its release is a change in the
database like any other, so a scheduler that is killed in between leaves either a sweep that waits or one that is new.
"""

from __future__ import annotations

from collections.abc import Iterable

from podium.sweep.lifecycle.database_changes import SweepChanged, SweepReleased
from podium.sweep.lifecycle.dependent_sweep_release import HeldSweep, Release, release_or_wait
from podium.sweep.scheduling.changes_and_actions import Decision, Instant
from podium.sweep.scheduling.search_and_cleanup_actions import ReadAgain
from podium.sweep.values.states import SweepState


def release_due(held: Iterable[HeldSweep], now: Instant) -> Decision:
    """Release the sweeps whose predecessors have finished; set the reasons of the others."""
    decision = Decision()
    for sweep in held:
        step = release_or_wait(sweep)
        if isinstance(step, Release):
            decision.changes.append(SweepReleased(sweep.sweep_id, step.fixed, now.wall_s))
            decision.actions.append(ReadAgain())
        elif sweep.state is SweepState.QUEUED and step != sweep.wait:
            queued = SweepState.QUEUED
            decision.changes.append(SweepChanged(sweep.sweep_id, queued, queued, "", now.wall_s, wait=step))
    return decision
