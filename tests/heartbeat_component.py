"""A component that only sends heartbeats, for tests of the supervisor."""

from __future__ import annotations

import signal
import sys
import time

from podium.sweep.runtime import component_lifecycle


def main() -> None:
    """Send heartbeats until SIGTERM."""
    component_lifecycle.HEARTBEAT_S = 0.1
    component_lifecycle.start_component("test")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    component_lifecycle.report_ready()
    while True:
        component_lifecycle.send_heartbeat()
        time.sleep(0.05)


if __name__ == "__main__":
    main()
