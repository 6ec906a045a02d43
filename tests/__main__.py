"""`python -m tests`: all tests in two parts, files beside each other and then those that want the machine; `make test`.

What measures how soon something is up again, or how much a process grows, runs by itself: with others beside it, its
answer would be about them. pytest sums up each part; the last lines here say how both went.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.repository import ROOT

ALONE = ("tests/faults/test_campaign.py", "tests/integration/test_soak.py")

# A core each. More than four services at a time take more memory than time is won.
WORKERS = ("-n", "logical", "--maxprocesses=4", "--dist=loadfile", "--no-loadscope-reorder")
PARTS = {
    "beside each other": (*WORKERS, *(f"--ignore={path}" for path in ALONE)),
    "by themselves": ALONE,
}
INTERRUPTED = 2


@dataclass(frozen=True)
class Part:
    """How one went."""

    name: str
    status: int
    took_s: float

    def __str__(self) -> str:
        ends = {0: "passed", INTERRUPTED: "interrupted"}
        told = ends.get(self.status, f"FAILED (pytest's status {self.status}; what failed is said above)")
        return f"tests {self.name}: {told}, {self.took_s / 60:.1f} min"


def main() -> int:
    """Run each part, also when one before it failed; 1 unless all passed."""
    done = []
    for name, arguments in PARTS.items():
        print(f"\n== tests {name}", flush=True)
        began = time.monotonic()
        done.append(Part(name, pytest(arguments), time.monotonic() - began))
        if done[-1].status == INTERRUPTED:
            break
    print("", *done, sep="\n")
    return int(any(part.status for part in done))


def pytest(arguments: Sequence[str]) -> int:
    """Its exit status. Ctrl-C reaches it by itself; it gets the time to take its services down."""
    # A service is a dozen processes: without bytecode on disk each compiles Podium anew, a tenth of its start.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    running = subprocess.Popen([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, env=environment)
    while True:
        try:
            return running.wait()
        except KeyboardInterrupt:
            continue


if __name__ == "__main__":
    sys.exit(main())
