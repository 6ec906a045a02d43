"""A component that only sends heartbeats, for tests of the supervisor."""

from __future__ import annotations

import signal
import sys
import time

from podium.sweep.runtime import component


def main() -> None:
    """Send heartbeats until SIGTERM."""
    component.HEARTBEAT_S = 0.1
    component.start_component()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    component.report_ready()
    while True:
        component.send_heartbeat()
        time.sleep(0.05)


if __name__ == "__main__":
    main()
