"""The scheduler or the host, with a database that a test makes slow or makes hang; for tests of the supervisor.

`python -m tests.hindered_component SETTINGS NAME`. Each transaction of the loop waits before it ends, as long as the
file `slow` in the runtime directory says, in seconds, and forever while there is the file `hang`. Each wait is a line
in the file `NAME.waits`. The scheduler has no slots.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Connection

from podium.db.schema import open_database
from podium.db.schema.database import Database
from podium.ensemble.host import main as host
from podium.sweep.runtime.service_settings import ServiceSettings
from podium.sweep.scheduling import main as scheduler

SLOW, HANG = "slow", "hang"


class HinderedDatabase:
    """See `podium.db.schema.sqlite_database.Database`. Only transactions of the main thread wait."""

    def __init__(self, database: Database, folder: Path, component: str) -> None:
        self._database = database
        self._folder = folder
        self._component = component
        self.name = database.name

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """As a commit that waits for the disk."""
        with self._database.write(durable=durable) as connection:
            yield connection
            self._wait()

    def write_unordered(self) -> AbstractContextManager[Connection]:
        """A write as any other."""
        return self.write(durable=False)

    @contextmanager
    def read(self, *, within_s: float | None = None) -> Iterator[Connection]:
        """As a query that waits for the disk."""
        with self._database.read(within_s=within_s) as connection:
            yield connection
            self._wait()

    def on_events(self, callback: Callable[[], None]) -> None:
        """As of the database."""
        self._database.on_events(callback)

    def close(self) -> None:
        """As of the database."""
        self._database.close()

    def _wait(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        if (self._folder / SLOW).exists():
            time.sleep(float((self._folder / SLOW).read_text()))
            with (self._folder / f"{self._component}.waits").open("a") as file:
                file.write("waited\n")
        while (self._folder / HANG).exists():
            time.sleep(0.05)


class NoSlots:
    """See `podium.sweep.lifecycle.scheduler_interfaces.SlotPool`, and its start and end in `RaySlots`."""

    count = 0
    name = "head"

    def __init__(self, *_: Any, **__: Any) -> None:
        """As `RaySlots`, or as its devices."""

    def attach(self) -> list[Any]:
        """None."""
        return []

    def open_missing(self) -> None:
        """None."""

    def send(self, device_id: str, acknowledged: int, commands: Sequence[Any]) -> None:
        """To none."""

    def kill(self, device_id: str) -> None:
        """None."""

    def close(self) -> None:
        """Nothing to close."""


def main() -> None:
    """Run the component named on the command line."""
    component: Any = {"scheduler": scheduler, "host": host}[sys.argv[2]]

    def opened(settings: ServiceSettings, on_progress: Callable[[], None] | None = None) -> Database:
        database = open_database.open_database(settings, on_progress)
        return HinderedDatabase(database, settings.runtime.root, sys.argv[2])

    component.open_database = opened
    if sys.argv[2] == "scheduler":
        component.OwnClusterDevices = NoSlots
        component.ray_slots = SimpleNamespace(namespace_of=lambda name: name, connect=lambda *_: None, RaySlots=NoSlots)
    component.main()


if __name__ == "__main__":
    main()
