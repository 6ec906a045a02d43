"""The scheduler process: wires Ray, Optuna and the database together, and runs the loop.

`python -P -m podium.sweep.scheduling.main SETTINGS RAY_ADDRESS`, started by `serve`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from filelock import FileLock, Timeout

from podium.db.schema.engine import Database
from podium.sweep.lifecycle.scheduler_messages import Inbox, Stop, Wake
from podium.sweep.runtime.clock import SystemClock
from podium.sweep.runtime.component import beat, begin, on_wake, say_ready
from podium.sweep.runtime.disk_space import room
from podium.sweep.runtime.settings import ServiceSettings, cores
from podium.sweep.scheduling.cleanup import Tidier
from podium.sweep.scheduling.recorder import DatabaseRecorder
from podium.sweep.scheduling.retention import Keeping
from podium.sweep.scheduling.scheduler import Scheduler
from podium.sweep.scheduling.study_queries import StudyThread
from podium.sweep.search.search_threads import SearchThreads
from podium.sweep.slots import slot_pool
from podium.sweep.values.errors import PodiumError


def run(settings: ServiceSettings, ray_address: str) -> None:
    """Work until SIGTERM. Raises `PodiumError` when the devices or the database cannot be used."""
    began_at = time.time()
    database = Database(settings.data.database)
    recorder = DatabaseRecorder(database, f"process {os.getpid()}")
    slot_pool.connect(ray_address)
    inbox: Inbox = Inbox()
    pool = slot_pool.RaySlots(inbox, settings.devices)
    tidier = Tidier()
    keeping = Keeping(database, settings.data, recorder.epoch)
    scheduler = Scheduler(
        inbox=inbox,
        pool=pool,
        searchers=SearchThreads(inbox),
        recorder=recorder,
        study=StudyThread(inbox, recorder.study),
        clock=SystemClock(),
        data=settings.data,
        threads=max(1, cores() // pool.count),
        short_of_room=lambda: _short_of_room(settings),
        tidy=tidier.attempt,
        keep=lambda sweep_id: tidier.keep(sweep_id, keeping.look),
    )
    signal.signal(signal.SIGTERM, lambda *_: inbox.put(Stop()))
    on_wake(settings.runtime.wake_socket("scheduler"), lambda: inbox.put(Wake()))
    found = pool.attach()
    recorder.forget_devices([opened.device.device_id for opened in found])
    scheduler.adopt(found)
    tidier.all_before(settings.data.trials, began_at, scheduler.folders_in_use())
    tidier.at_start(keeping.begin, keeping.look)
    pool.open_missing()
    announcer = threading.Thread(target=_announce, args=(scheduler, recorder, pool.count), daemon=True)
    announcer.start()
    scheduler.run(on_turn=lambda: _go_on(recorder))
    pool.close()
    recorder.stop()
    database.close()


def _go_on(recorder: DatabaseRecorder) -> None:
    beat()
    recorder.see()


def _short_of_room(settings: ServiceSettings) -> str:
    """Why no trial may start for want of space. Without figures that change: each change is written down."""
    found = room(settings.data.root)
    return "" if found.enough else f"no room left on the disk of {found.path}; it goes on by itself when there is"


def _announce(scheduler: Scheduler, recorder: DatabaseRecorder, count: int) -> None:
    scheduler.wait_for_slots(count)
    say_ready()
    recorder.all_are_open(scheduler.devices())


def main() -> None:
    """Take the lock: one scheduler a data directory."""
    settings = begin()
    lock = FileLock(settings.data.scheduler_lock)
    try:
        with lock.acquire(timeout=5):
            run(settings, sys.argv[2])
    except Timeout:
        sys.exit(f"another scheduler works on {settings.data_dir}")
    except PodiumError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
