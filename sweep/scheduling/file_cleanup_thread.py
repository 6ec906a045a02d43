"""Removes files of lost attempts, and files that sweeps do not keep. A thread of the scheduler process.

Folders may be large, and the loop must not wait for their removal.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from podium.sweep.runtime.attempt_directory import AttemptDirectory
from podium.sweep.runtime.incremental_file_removal import finish, removal_steps, unfinished
from podium.sweep.values.errors import DamagedError, DatabaseError, FencedError, FileStoreError

SETTLE_S = 1.0  # after which the processes of a lost slot are gone too
RETRY_S = 0.5
MAX_RETRY_S = 60.0
MAX_TRIES = 20  # while the database or the object store cannot be used; some 15 minutes
log = logging.getLogger("podium.cleanup")


class CleanupThread:
    """Runs one task after another. A task that fails because of the database or the object store is tried up to
    `max_tries` times, with backoff.
    """

    def __init__(self, *, retry_s: float = RETRY_S, max_tries: int = MAX_TRIES) -> None:
        self._retry_s = retry_s
        self._max_tries = max_tries
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._due: set[int] = set()  # the sweeps to which retention must be applied
        threading.Thread(target=self._run, name="cleanup", daemon=True).start()

    def clean_up_attempt(self, folder: Path) -> None:
        """Clean up an attempt whose slot was just lost."""
        due_s = time.monotonic() + SETTLE_S

        def task() -> None:
            time.sleep(max(0.0, due_s - time.monotonic()))
            clean_up_attempt(folder)

        self._tasks.put(task)

    def clean_up_before(self, trials: Path, at: float, keep: frozenset[Path]) -> None:
        """Clean up all attempts below `trials` from before `at` (seconds since the epoch), except those in `keep`."""
        self._tasks.put(lambda: clean_up_before(trials, at, keep))

    def apply_retention(self, sweep_id: int, apply: Callable[[int], bool]) -> None:
        """Trials of a sweep have ended: call `apply` until it returns true."""
        if sweep_id in self._due:
            return
        self._due.add(sweep_id)

        def task() -> None:
            self._due.discard(sweep_id)
            try:
                done = apply(sweep_id)
            except (DatabaseError, FileStoreError):
                self._due.add(sweep_id)  # retried later
                raise
            if not done:
                time.sleep(self._retry_s)
                self.apply_retention(sweep_id, apply)

        self._tasks.put(lambda: self._try(task, given_up=lambda: self._due.discard(sweep_id)))

    def resume_retention(self, resume: Callable[[], Iterable[int]], apply: Callable[[int], bool]) -> None:
        """At start: `resume` finishes what was interrupted and returns the sweeps to which to apply retention."""

        def task() -> None:
            for sweep_id in resume():
                self.apply_retention(sweep_id, apply)

        self._tasks.put(task)

    def _run(self) -> None:
        while True:
            self._try(self._tasks.get())

    def _try(self, task: Callable[[], None], tries: int = 1, given_up: Callable[[], None] = lambda: None) -> None:
        try:
            task()
        except (FencedError, DamagedError):
            log.exception("cannot remove files")
        except (DatabaseError, FileStoreError) as error:
            if tries == self._max_tries:
                log.error("cannot remove files: %s; the next start of the service tries again", error)
                given_up()
                return
            wait_s = min(self._retry_s * 2 ** (tries - 1), MAX_RETRY_S)  # other tasks run meanwhile
            timer = threading.Timer(wait_s, self._tasks.put, [lambda: self._try(task, tries + 1, given_up)])
            timer.daemon = True
            timer.start()
        except Exception:
            log.exception("cannot remove files")


def clean_up_attempt(folder: Path) -> None:
    """Remove the working and temporary files of an attempt; its log and saved files stay."""
    directory = AttemptDirectory(folder)
    finish(removal_steps([*directory.leftovers(), *unfinished(folder)]))


def clean_up_before(trials: Path, at: float, keep: frozenset[Path]) -> None:
    """`clean_up_attempt` for every attempt that began before `at` and is not in `keep`."""
    for folder in trials.glob("*/*/*"):
        if folder not in keep and _modified_at(folder) < at:
            clean_up_attempt(folder)


def _modified_at(folder: Path) -> float:
    """When the folder was last modified, which is not before its attempt began; infinity if it is gone."""
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
