"""Which parts have fallen silent: those that beat once, and then did not for long; pure, in `serve`."""

from __future__ import annotations

SILENT_S = 15.0  # shown as silent, so not ready
HUNG_S = 60.0  # ended and started again
PAUSE_S = 10.0  # between two looks: it was us who did not run, or the whole machine


class Pulses:
    """When each part was last heard of. A part that never beats is never judged."""

    def __init__(self, silent_s: float = SILENT_S, hung_s: float = HUNG_S, pause_s: float = PAUSE_S) -> None:
        self._silent_s, self._hung_s, self._pause_s = silent_s, hung_s, pause_s
        self._heard_s: dict[str, float] = {}
        self._looked_s: float | None = None

    def beat(self, name: str, now_s: float) -> None:
        """A part says that it goes on."""
        self._heard_s[name] = now_s

    def forget(self, name: str) -> None:
        """Its process is gone; the next one begins anew."""
        self._heard_s.pop(name, None)

    def is_heard(self, name: str) -> bool:
        """Whether it has beaten since its process began."""
        return name in self._heard_s

    def look(self, now_s: float) -> tuple[set[str], set[str]]:
        """The parts that are silent, and those of them that hang; nobody when we did not look for a while."""
        if self._looked_s is not None and now_s - self._looked_s > self._pause_s:
            self._heard_s = dict.fromkeys(self._heard_s, now_s)
        self._looked_s = now_s
        for_s = {name: now_s - heard_s for name, heard_s in self._heard_s.items()}
        silent = {name for name, silence_s in for_s.items() if silence_s >= self._silent_s}
        return silent, {name for name in silent if for_s[name] >= self._hung_s}
