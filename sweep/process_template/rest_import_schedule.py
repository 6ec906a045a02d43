"""Decides when the rest of the imports takes place; process template.

On a machine with idle cores, at once: Ray is still starting. Otherwise the import would delay what runs, so it waits
until cores are idle, or until attempts import the rest themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from podium.sweep.runtime.process_cpu_and_connections import cpu_s
from podium.sweep.runtime.process_trees import children

LOOK_S = 0.3  # between two looks
IDLE_CORES = 1.5  # on average since the last look: something else may start during the import
ATTEMPT_CPU_S = 0.5  # of an attempt; the import alone takes more


def idle_core_s() -> float:
    """Seconds for which the cores of this machine have been idle since it was started, added up."""
    return float(Path("/proc/uptime").read_text().split()[1])


class RestImportSchedule:
    """Looks at the idle time of all cores since its creation, and later every `LOOK_S` seconds.

    Args:
        idle_s: As `idle_core_s`.
        clock_s: As `time.monotonic`.
    """

    def __init__(
        self, idle_s: Callable[[], float] = idle_core_s, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._read_idle_s = idle_s
        self._clock_s = clock_s
        self._looked_at_s = clock_s()
        self._idle_s = idle_s()

    @property
    def next_look_s(self) -> float:
        """When to look again, by the clock."""
        return self._looked_at_s + LOOK_S

    def is_due(self, forked: Iterable[int]) -> bool:
        """Whether to import the rest now. `forked`: the processes of the template; those below them are attempts."""
        now_s = self._clock_s()
        if now_s < self.next_look_s:
            return False
        idle_s = self._read_idle_s()
        idle_cores = (idle_s - self._idle_s) / (now_s - self._looked_at_s)
        self._looked_at_s, self._idle_s = now_s, idle_s
        if idle_cores >= IDLE_CORES:
            return True
        return any(cpu_s(attempt) >= ATTEMPT_CPU_S for pid in forked for attempt in children(pid))
