"""The ensemble host's process: wires Ray, the database and the gateway together, and runs the loop.

`python -P -m ensemble.main SETTINGS RAY_ADDRESS`, started by `serve`.
"""

from __future__ import annotations

import signal
import sys

from db.engine import Database
from ensemble.background import Background
from ensemble.building import Builder
from ensemble.evaluating import Evaluating
from ensemble.evaluator import Evaluator
from ensemble.host import Host
from ensemble.requested import Requested
from ensemble.workers import RayWorkers
from sweep.clock import SystemClock
from sweep.errors import PodiumError
from sweep.part import begin, on_wake, say_ready
from sweep.settings import ServiceSettings


def run(settings: ServiceSettings, ray_address: str) -> None:
    """Work until SIGTERM; the workers live on, for the next host. Raises `PodiumError`."""
    database = Database(settings.data.database)
    clock = SystemClock()
    host = Host(settings, database, RayWorkers(ray_address), clock)
    evaluating = Evaluating(settings, database, Evaluator(settings), clock)
    requested = Requested(database, Builder(settings.data), settings.data, clock)
    background = Background([requested.step, evaluating.step])

    def wake() -> None:
        host.wake()
        background.wake()

    signal.signal(signal.SIGTERM, lambda *_: host.stop())
    on_wake(settings.runtime.wake_socket("host"), wake)
    background.start()
    say_ready()
    host.run()
    background.stop()
    database.close()


def main() -> None:
    """See the module."""
    try:
        run(begin(), sys.argv[2])
    except PodiumError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
