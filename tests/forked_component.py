"""A component that reports its process, for tests of the supervisor."""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
from pathlib import Path


def main() -> None:
    """Do what the first argument names."""
    match sys.argv[1]:
        case "report" | "threads":
            _report()
        case "exits":
            sys.exit(3)
        case "exits with message":
            sys.exit("cannot start")
        case "returns":
            atexit.register(print, "exit handler")
        case "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raises":
            raise ValueError("of the component")
        case "waits for a thread":
            threading.Timer(0.2, print, ["of the thread"]).start()


def _report() -> None:
    opened = [path for path in Path("/proc/self/fd").iterdir() if path.exists()]
    descriptors = sorted(int(path.name) for path in opened if path.name == "0" or path.resolve() != Path(os.devnull))
    for descriptor in descriptors[3:]:
        os.write(descriptor, b"passed")
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)]
    report = {
        "environment": dict(os.environ),
        "shown environment": Path("/proc/self/environ").read_text(),
        "descriptors": descriptors,
        "arguments": sys.argv,
        "command": Path("/proc/self/cmdline").read_text().replace("\0", " "),
        "signals": [getattr(handler, "name", getattr(handler, "__name__", "")) for handler in handlers]
        + [signal.set_wakeup_fd(-1)],
        "blocked": [int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
        "session": os.getsid(0),
        "standard input": sys.stdin.read(),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
