"""The past trials that a search starts with: those of the sweep, and of earlier sweeps. Pure; scheduler process."""

from __future__ import annotations

from podium.sweep.lifecycle.stored_sweeps import StoredSweep, StoredTrial
from podium.sweep.values.failure_causes import MEMORY_CAUSES
from podium.sweep.values.search_messages import PastTrial
from podium.sweep.values.states import TrialState


def past_trials(stored: StoredSweep) -> list[PastTrial]:
    """The trials of the sweep itself, with everything that the search needs to continue."""
    return [
        PastTrial(
            t.number, t.state, t.params, t.value, t.reports, dict(t.attributes), t.sampler, is_infeasible(t),
            values=t.values, constraints=dict(t.constraints),
            distributions=dict(t.distributions),
        )
        for t in stored.trials
    ]  # fmt: skip


def earlier_trials(stored: StoredSweep) -> list[PastTrial]:
    """The trials of other sweeps for a warm start; they have no numbers in this sweep."""
    return [
        PastTrial(
            position, t.state, dict(t.params), t.values[0] if t.values else None,
            {} if t.last_report is None else dict([t.last_report]), values=t.values, constraints=dict(t.constraints),
            distributions=dict(t.distributions),
        )
        for position, t in enumerate(stored.earlier)
    ]  # fmt: skip


def is_infeasible(trial: StoredTrial) -> bool:
    """Whether a trial ran out of memory: the sampler must avoid its values."""
    return trial.state is TrialState.FAILED and trial.last_cause in MEMORY_CAUSES
