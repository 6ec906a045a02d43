"""A component that waits for the epoch of the lease, as scheduler and host do, and records what it has read."""

from __future__ import annotations

import sys
import time

from podium.sweep.runtime.component_startup_and_heartbeats import report_ready, send_heartbeat, start_component


def main() -> None:
    """Wait for the epoch, then send heartbeats."""
    name = sys.argv[2]
    settings = start_component("test")
    lines = [sys.stdin.readline().strip() for _ in range(2 if name == "scheduler" else 1)]
    if not lines[-1]:
        return
    with (settings.runtime.root / "started").open("a") as file:
        file.write(f"{name} {' '.join(lines)}\n")
    if name in (settings.runtime.root / "failing").read_text().split():
        sys.exit("no raylet")
    report_ready()
    while True:
        send_heartbeat()
        time.sleep(0.05)


if __name__ == "__main__":
    main()
