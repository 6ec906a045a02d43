"""Buffers the scheduler's changes until they are written; one that cannot be written stops no other. Scheduler process.

A change is skipped only because of its content. A `DatabaseError` means that the database rejects all writes for now,
and all changes wait.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from podium.sweep.lifecycle.database_changes import (
    ArtifactSaved,
    AttemptEnded,
    AttemptPlaced,
    AttemptReleased,
    AttemptStarted,
    Change,
    IntervalEnded,
    MetricPoint,
    RankEnded,
    TrialPlanned,
    UsageSampled,
)
from podium.sweep.lifecycle.scheduler_interfaces import Recorder
from podium.sweep.values.attempt_outcomes import MAX_MESSAGE, storable
from podium.sweep.values.errors import DatabaseError

log = logging.getLogger("podium.scheduler")


class ChangeBuffer:
    """Owns the changes that are not written yet. `sweep_of` returns the sweep of a trial, if known."""

    def __init__(self, recorder: Recorder, sweep_of: Callable[[int], int | None]) -> None:
        self._recorder = recorder
        self._sweep_of = sweep_of
        self._changes: list[Change] = []
        self._skipped: set[int] = set()  # trials with a change that cannot be written: none of their changes is written
        self._failed: dict[int, str] = {}
        self._rejection = ""  # why the database rejects writes now
        self._rejected_since = 0.0  # seconds since the epoch
        self._waited = 0  # changes that waited for the database

    @property
    def pending(self) -> int:
        """The number of changes that are not written yet."""
        return len(self._changes)

    @property
    def can_wait(self) -> bool:
        """Whether there are only new trials, which no slot has: if they are lost, the search proposes others."""
        return not self._rejection and all(isinstance(change, TrialPlanned) for change in self._changes)

    @property
    def failed(self) -> dict[int, str]:
        """The sweeps with changes that cannot be written, and the reasons; the scheduler ends them."""
        return dict(self._failed)

    @property
    def rejected(self) -> bool:
        """Whether the database currently rejects writes."""
        return bool(self._rejection)

    def add(self, changes: Iterable[Change]) -> None:
        """Append changes, in order."""
        self._changes += changes

    def write(self) -> None:
        """Write all changes in one transaction; if one cannot be written, write the others, in order and each once.

        Raises `DatabaseError` if the database rejects all writes for now: the changes stay pending. Raises other errors
        of the recorder if it cannot even write an empty transaction.
        """
        self._drop_skipped()
        try:
            if self._changes:
                self._recorder.commit(self._changes)
        except DatabaseError:
            raise
        except Exception:
            log.exception("cannot write %d changes in one transaction", len(self._changes))
            self._write_apart()
        self._changes.clear()

    def forget_failed(self) -> None:
        """The failed sweeps have been ended: changes to them are written from now on."""
        self._failed.clear()
        self._skipped.clear()

    def reject(self, reason: str, at: float) -> None:
        """Record that the database rejected the changes at `at`."""
        if not self._rejection:
            self._rejected_since = at
        if reason != self._rejection:  # once, rather than every second onto a full disk
            log.error("the database rejects writes; changes wait: %s", reason)
        self._rejection = reason
        self._waited = len(self._changes)

    def accept(self) -> tuple[str, float] | None:
        """Record that the database accepts writes; returns why and since when it had rejected them, if it had."""
        if not self._rejection:
            return None
        log.info("the database accepts writes again; %d changes had waited", self._waited)
        reason, self._rejection = self._rejection, ""
        return reason, self._rejected_since

    def _write_apart(self) -> None:
        owners = {trial: sweep for c in self._changes if (sweep := _named(c)) and (trial := trial_of(c))}
        count = len(self._changes)
        while self._changes:
            batch = self._changes[:count]
            try:
                self._recorder.commit(batch)
            except DatabaseError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever one change contains
                if len(batch) == 1:
                    self._leave_out(batch[0], error, owners)
                count = max(1, len(batch) // 2)
            else:
                del self._changes[:count]
                count *= 2

    def _leave_out(self, change: Change, error: Exception, owners: Mapping[int, int]) -> None:
        self._recorder.commit([])  # raises if the content of the change is not the cause
        log.error("cannot write %.1000r: %s: %s", change, type(error).__name__, error)
        trial, sweep = trial_of(change), _named(change)
        if trial is not None:
            self._skipped.add(trial)
            sweep = sweep or owners.get(trial) or self._sweep_of(trial)
        if sweep is not None:
            self._failed[sweep] = _reason(change, error)
        del self._changes[0]
        self._drop_skipped()

    def _drop_skipped(self) -> None:
        if self._skipped:
            self._changes = [change for change in self._changes if trial_of(change) not in self._skipped]


def trial_of(change: Change) -> int | None:
    """The trial that a change concerns, if any."""
    if isinstance(change, AttemptPlaced | AttemptReleased | MetricPoint | IntervalEnded | RankEnded):
        return change.key.trial_id
    if isinstance(change, AttemptStarted | ArtifactSaved | AttemptEnded | UsageSampled):
        return change.event.key.trial_id
    return getattr(change, "trial_id", None)


def _named(change: Change) -> int | None:
    """The sweep that a change names."""
    return getattr(change, "sweep_id", None)


def _reason(change: Change, error: Exception) -> str:
    words = f"cannot be written to the database: {type(error).__name__}: {error} ({type(change).__name__}"
    trial = trial_of(change)
    return storable((words + (")" if trial is None else f" of the trial with id {trial})"))[:MAX_MESSAGE])
