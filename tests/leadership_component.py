"""A leadership process that reports what a test writes to the file `epoch` of the runtime directory."""

from __future__ import annotations

import signal
import sys
import time

from podium.sweep.runtime.component_startup_and_heartbeats import (
    report_leadership,
    report_ready,
    send_heartbeat,
    start_component,
)


def main() -> None:
    """Report each change until SIGTERM."""
    settings = start_component("test")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    file, reported = settings.runtime.root / "epoch", ""
    while True:
        send_heartbeat()
        content = file.read_text()
        if content != reported:
            report_leadership(int(content))
            reported = content
            report_ready()
        time.sleep(0.02)


if __name__ == "__main__":
    main()
