"""Decides when the rest of the imports takes place: when attempts need it; process template.

The first attempts with an optimizer import torch's compiler themselves. An attempt that has used as much processor time
as that is taken for one of them. Some are not, such as a script whose output is long; then the import has no effect.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from podium.sweep.runtime.process_cpu_and_connections import cpu_s
from podium.sweep.runtime.process_trees import children

LOOK_S = 0.5  # between two looks
ATTEMPT_CPU_S = 0.5  # of one attempt; the import alone takes more


class RestImportSchedule:
    """Looks at the processor time of attempts every `LOOK_S` seconds. `clock_s`: as `time.monotonic`."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._looked_at_s = clock_s()

    @property
    def next_look_s(self) -> float:
        """When to look again, by the clock."""
        return self._looked_at_s + LOOK_S

    def is_due(self, fork_servers: Iterable[int]) -> bool:
        """Whether to import the rest now. `fork_servers`: their children are attempts."""
        now_s = self._clock_s()
        if now_s < self.next_look_s:
            return False
        self._looked_at_s = now_s
        return any(cpu_s(attempt) >= ATTEMPT_CPU_S for pid in fork_servers for attempt in children(pid))
