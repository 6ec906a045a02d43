"""A trial that may become a member, with its files; api and host processes."""

from __future__ import annotations

from dataclasses import dataclass

from podium.sweep.values.states import TrialState


def member_name(trial_number: int, sweep_id: int) -> str:
    """What people read of a member, since its position says nothing to them."""
    return f"trial {trial_number} of sweep {sweep_id}"


@dataclass(frozen=True, slots=True)
class TrialFiles:
    """A trial that may become a member, with the folders of its files, relative to `DataDirectory.trials`.

    None: it saved none.
    """

    trial_id: int
    number: int
    sweep_id: int
    state: TrialState
    value: float | None
    goal: str
    model_folder: str | None
    model_sha256: str | None
    predictions_folder: str | None
    not_kept: str = ""  # why its model was deleted

    @property
    def name(self) -> str:
        """What people read: `trial 4 of sweep 3`."""
        return member_name(self.number, self.sweep_id)
