"""The ensemble host's process: wires Ray, the database and the gateway together, and runs the loop.

`python -P -m podium.ensemble.host.main SETTINGS RAY_ADDRESS`, started by `serve`.
"""

from __future__ import annotations

import signal
import sys

from podium.db.schema.engine import Database
from podium.ensemble.building.version_building import Builder
from podium.ensemble.host.background import Background
from podium.ensemble.host.evaluation_queue import Evaluating
from podium.ensemble.host.evaluator import Evaluator
from podium.ensemble.host.host_loop import Host
from podium.ensemble.host.ray_workers import RayWorkers
from podium.ensemble.host.sweep_ensembles import Requested
from podium.sweep.runtime.clock import SystemClock
from podium.sweep.runtime.component import begin, on_wake, say_ready
from podium.sweep.runtime.settings import ServiceSettings
from podium.sweep.values.errors import PodiumError


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
