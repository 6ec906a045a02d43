"""A part of a service that does nothing but go on: for tests of who watches it."""

from __future__ import annotations

import signal
import sys
import time

from sweep import part


def main() -> None:
    """Beat until SIGTERM."""
    part.begin()
    part.BEAT_S = 0.1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    part.say_ready()
    while True:
        part.beat()
        time.sleep(0.05)


if __name__ == "__main__":
    main()
