"""What takes long, in a thread beside the host's loop: evaluations, the ensembles of finished sweeps; host process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from podium.sweep.values.errors import PodiumError

TICK_S = 0.5
log = logging.getLogger("podium.background")


class Background:
    """Takes steps, one after the other, whenever it is woken, and now and then by itself."""

    def __init__(self, steps: Sequence[Callable[[], None]]) -> None:
        self._steps = steps
        self._news = threading.Event()
        self._stopping = False

    def start(self) -> None:
        """Begin, in a thread that ends with the process."""
        threading.Thread(target=self._run, name="background", daemon=True).start()

    def wake(self) -> None:
        """Look what there is to do now."""
        self._news.set()

    def stop(self) -> None:
        """Take up nothing more."""
        self._stopping = True
        self._news.set()

    def _run(self) -> None:
        while not self._stopping:
            for step in self._steps:
                try:
                    step()
                except PodiumError as error:
                    log.error("%s; trying again", error)
                except Exception:
                    log.exception("a step failed; trying again")
            self._news.wait(TICK_S)
            self._news.clear()
