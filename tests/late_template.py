"""A process template that imports the rest on SIGUSR1; started by tests."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable

from podium.sweep.process_template import template_process
from podium.sweep.process_template.rest_import_schedule import RestImportSchedule

LOOK_S = 0.05


class SignaledSchedule(RestImportSchedule):
    """Due after the signal."""

    def __init__(self) -> None:
        super().__init__()
        self._signaled = False
        signal.signal(signal.SIGUSR1, self._on_signal)

    @property
    def next_look_s(self) -> float:
        return time.monotonic() + LOOK_S

    def is_due(self, fork_servers: Iterable[int]) -> bool:
        return self._signaled

    def _on_signal(self, *_: object) -> None:
        self._signaled = True


if __name__ == "__main__":
    template_process.main(SignaledSchedule())
