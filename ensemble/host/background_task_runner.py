"""Runs slow work in a thread next to the host's loop: evaluations, ensembles of finished sweeps; host process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from podium.sweep.values.errors import PodiumError

TICK_S = 0.5
log = logging.getLogger("podium.background")


class BackgroundThread:
    """Runs all steps in turn, when woken and at regular intervals."""

    def __init__(self, steps: Sequence[Callable[[], None]]) -> None:
        self._steps = steps
        self._wake_event = threading.Event()
        self._stopping = False

    def start(self) -> None:
        """Start the thread, which ends with the process."""
        threading.Thread(target=self._run, name="background", daemon=True).start()

    def wake(self) -> None:
        """Run the steps now."""
        self._wake_event.set()

    def stop(self) -> None:
        """Start no further step."""
        self._stopping = True
        self._wake_event.set()

    def _run(self) -> None:
        while not self._stopping:
            for step in self._steps:
                try:
                    step()
                except PodiumError as error:
                    log.error("%s; retrying", error)
                except Exception:
                    log.exception("a step failed; retrying")
            self._wake_event.wait(TICK_S)
            self._wake_event.clear()
