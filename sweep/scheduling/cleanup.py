"""Removes what attempts leave behind when their slot dies before it could, and what sweeps do not keep.

A thread of the scheduler process: a folder may be large, and the loop must not wait for it.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from podium.sweep.runtime.layout import AttemptDirectory
from podium.sweep.runtime.removal import finish, removing, unfinished
from podium.sweep.values.errors import DamagedError, DatabaseError, FencedError

SETTLE_S = 1.0  # in which what a dead slot ran is gone too
AGAIN_S = 0.5
LONGEST_S = 60.0  # between two tries
TRIES = 20  # with a database that cannot be read or written just now: some quarter of an hour
log = logging.getLogger("podium.tidying")


class Tidier:
    """Works in the background, one piece after another."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._due: set[int] = set()  # the sweeps that are to be looked at
        threading.Thread(target=self._run, name="tidying", daemon=True).start()

    def attempt(self, folder: Path) -> None:
        """The slot of this attempt has just died."""
        due_s = time.monotonic() + SETTLE_S

        def later() -> None:
            time.sleep(max(0.0, due_s - time.monotonic()))
            tidy_attempt(folder)

        self._work.put(later)

    def all_before(self, trials: Path, at: float, keep: frozenset[Path]) -> None:
        """Whatever lies below `trials` since before `at` (seconds since the epoch), but for attempts that still run."""
        self._work.put(lambda: tidy_all(trials, at, keep))

    def keep(self, sweep_id: int, look: Callable[[int], bool]) -> None:
        """Trials of this sweep have ended: `look` which files of it go, again and again while it says not now."""
        if sweep_id in self._due:
            return
        self._due.add(sweep_id)

        def now() -> None:
            self._due.discard(sweep_id)
            try:
                looked = look(sweep_id)
            except DatabaseError:
                self._due.add(sweep_id)  # it is tried again
                raise
            if not looked:
                time.sleep(AGAIN_S)
                self.keep(sweep_id, look)

        self._work.put(now)

    def at_start(self, begin: Callable[[], Iterable[int]], look: Callable[[int], bool]) -> None:
        """`begin` says which sweeps to look at."""

        def later() -> None:
            for sweep_id in begin():
                self.keep(sweep_id, look)

        self._work.put(later)

    def _run(self) -> None:
        while True:
            self._try(self._work.get())

    def _try(self, work: Callable[[], None], tries: int = 1) -> None:
        try:
            work()
        except (FencedError, DamagedError):
            log.exception("cannot tidy up")
        except DatabaseError as error:
            if tries == TRIES:
                log.error("cannot tidy up: %s; the next start of the service does", error)
                return
            wait_s = min(AGAIN_S * 2 ** (tries - 1), LONGEST_S)  # other work goes on meanwhile
            again = threading.Timer(wait_s, self._work.put, [lambda: self._try(work, tries + 1)])
            again.daemon = True
            again.start()
        except Exception:
            log.exception("cannot tidy up")


def tidy_attempt(folder: Path) -> None:
    """Remove what only the process of the attempt had a use for; what it was to keep stays."""
    directory = AttemptDirectory(folder)
    finish(removing([directory.work, directory.temporary, *unfinished(folder)]))


def tidy_all(trials: Path, at: float, keep: frozenset[Path]) -> None:
    """`tidy_attempt` for every attempt that was begun before `at` and is not in `keep`."""
    for folder in trials.glob("*/*/*"):
        if folder not in keep and _begun(folder) < at:
            tidy_attempt(folder)


def _begun(folder: Path) -> float:
    """When the folder was last touched, which is not before its attempt began; for ever away when it is gone."""
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
