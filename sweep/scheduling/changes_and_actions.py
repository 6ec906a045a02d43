"""A decision of the scheduler: changes to write and actions to execute, at an instant. Pure; scheduler process."""

from __future__ import annotations

from dataclasses import dataclass, field

from podium.sweep.lifecycle.database_changes import Change
from podium.sweep.scheduling.search_and_cleanup_actions import Action


@dataclass(frozen=True, slots=True)
class Instant:
    """The time of a decision, and the measurements for it."""

    wall_s: float  # seconds since the epoch
    monotonic_s: float
    disk_shortage: str = ""  # why the data disk allows no new trial, if measured


@dataclass(slots=True)
class Decision:
    """Changes to write, and actions to execute, both in order. Commands for slots wait in the device ledger."""

    changes: list[Change] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)

    def __iadd__(self, other: Decision) -> Decision:
        self.changes += other.changes
        self.actions += other.actions
        return self
