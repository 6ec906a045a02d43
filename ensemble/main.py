"""The ensemble host's process: wires Ray, the database and the gateway together, and runs the loop.

`python -P -m ensemble.main SETTINGS RAY_ADDRESS`, started by `serve`.
"""

from __future__ import annotations

import signal
import sys

from db.engine import Database
from ensemble import workers
from ensemble.evaluator import Evaluator
from ensemble.host import Host
from sweep.errors import PodiumError
from sweep.part import begin, on_wake, say_ready


def main() -> None:
    """Run until SIGTERM; the workers live on, for the next host."""
    settings = begin()
    try:
        database = Database(settings.data.database)
        workers.connect(sys.argv[2])
        host = Host(settings, database, Evaluator(settings))
        signal.signal(signal.SIGTERM, lambda *_: host.stop())
        on_wake(settings.runtime.wake_socket("host"), host.wake)
        say_ready()
        host.run()
        database.close()
    except PodiumError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
