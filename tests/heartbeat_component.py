"""A component that only sends heartbeats, for tests of the supervisor."""

from __future__ import annotations

import signal
import sys
import time

from podium.sweep.runtime.component_startup_and_heartbeats import SupervisorPipe, start_component


def main() -> None:
    """Send heartbeats until SIGTERM."""
    pipe = SupervisorPipe.from_environment(beat_s=0.1)
    start_component("test")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    pipe.say_ready()
    while True:
        pipe.beat()
        time.sleep(0.05)


if __name__ == "__main__":
    main()
