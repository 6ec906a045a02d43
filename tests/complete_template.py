"""A process template that imports the rest at once; started by tests."""

from __future__ import annotations

import time
from collections.abc import Iterable

from podium.sweep.process_template import template_process
from podium.sweep.process_template.rest_import_schedule import RestImportSchedule


class ImmediateSchedule(RestImportSchedule):
    """Always due."""

    @property
    def next_look_s(self) -> float:
        return time.monotonic()

    def is_due(self, fork_servers: Iterable[int]) -> bool:
        return True


if __name__ == "__main__":
    template_process.main(ImmediateSchedule())
