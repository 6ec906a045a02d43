"""Writes what the scheduler decided; where one change cannot be written, the others all are; pure, scheduler.

Only for what a change holds: what the database refuses is a `DatabaseError`, and waits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from podium.sweep.lifecycle.scheduler_messages import Recorder
from podium.sweep.lifecycle.state_changes import (
    ArtifactSaved,
    AttemptEnded,
    AttemptPlaced,
    AttemptStarted,
    Change,
    MetricPoint,
)
from podium.sweep.values.attempt_outcomes import MAX_MESSAGE, storable
from podium.sweep.values.errors import DatabaseError

log = logging.getLogger("podium.scheduler")


class Writer:
    """Writes `changes`, and takes from them what is written. `sweep_of` names the sweep of a trial, if it knows it."""

    def __init__(self, recorder: Recorder, changes: list[Change], sweep_of: Callable[[int], int | None]) -> None:
        self._recorder = recorder
        self._changes = changes
        self._sweep_of = sweep_of
        self._spoiled: set[int] = set()  # trials of which something could not be written: no more is
        self.failed: dict[int, str] = {}  # the sweeps of what could not be written, and why; for the scheduler to end

    def write(self) -> None:
        """Write all of it in one transaction; where one change cannot be, the others, in order and each once.

        Raises `DatabaseError` when the database takes nothing now: `changes` keeps what is not written, for another
        time. Raises whatever the recorder does, if it cannot write even nothing.
        """
        self._drop_spoiled()
        try:
            if self._changes:
                self._recorder.commit(self._changes)
        except DatabaseError:
            raise
        except Exception:
            log.exception("%d changes cannot be written together", len(self._changes))
            self._write_apart()
        self._changes.clear()

    def forget(self) -> None:
        """The sweeps that failed are ended: what is said of them from now on is written."""
        self.failed.clear()
        self._spoiled.clear()

    def _write_apart(self) -> None:
        owners = {trial: sweep for c in self._changes if (sweep := _named(c)) and (trial := trial_of(c))}
        count = len(self._changes)
        while self._changes:
            part = self._changes[:count]
            try:
                self._recorder.commit(part)
            except DatabaseError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is that one change holds
                if len(part) == 1:
                    self._leave_out(part[0], error, owners)
                count = max(1, len(part) // 2)
            else:
                del self._changes[:count]
                count *= 2

    def _leave_out(self, change: Change, error: Exception, owners: Mapping[int, int]) -> None:
        self._recorder.commit([])  # where that cannot be written either, it is not for what the change holds
        log.error("cannot be written: %.1000r: %s: %s", change, type(error).__name__, error)
        trial, sweep = trial_of(change), _named(change)
        if trial is not None:
            self._spoiled.add(trial)
            sweep = sweep or owners.get(trial) or self._sweep_of(trial)
        if sweep is not None:
            self.failed[sweep] = _reason(change, error)
        del self._changes[0]
        self._drop_spoiled()

    def _drop_spoiled(self) -> None:
        if self._spoiled:
            self._changes[:] = [change for change in self._changes if trial_of(change) not in self._spoiled]


def trial_of(change: Change) -> int | None:
    """The trial that a change is of, if it is of one."""
    if isinstance(change, AttemptPlaced | MetricPoint):
        return change.key.trial_id
    if isinstance(change, AttemptStarted | ArtifactSaved | AttemptEnded):
        return change.event.key.trial_id
    return getattr(change, "trial_id", None)


def _named(change: Change) -> int | None:
    """The sweep that a change says it is of."""
    return getattr(change, "sweep_id", None)


def _reason(change: Change, error: Exception) -> str:
    words = f"it cannot be written down: {type(error).__name__}: {error} ({type(change).__name__}"
    trial = trial_of(change)
    return storable((words + (")" if trial is None else f" of the trial with id {trial})"))[:MAX_MESSAGE])
