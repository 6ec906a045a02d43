"""An invariant of the database as a query that finds its violations; the process of `podium doctor`."""

from __future__ import annotations

from dataclasses import dataclass, field

# Conditions under which a finding is a note instead of a breach.
WHILE_STOPPED = "at rest"  # no service runs, and the next start fixes it
NO_ROOM = "no room"  # the disk is full, and the fix waits for disk space
ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Breach:
    """A violated invariant."""

    invariant: str
    rows: dict[str, int | str]  # the affected rows: trial_id, sweep_id, attempt, path, …
    wrong: str
    passing: bool = False  # may be transient while a service runs: checked twice
    note_when: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Invariant:
    """A query that finds breaches of an invariant."""

    invariant: str
    query: str
    passing: bool = field(default=False)
    note_when: tuple[str, ...] = field(default=())
