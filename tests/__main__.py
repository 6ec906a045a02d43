"""`python -m tests`: the tests, files in parallel; `make test`. With `--all`, the slow ones as well; `make test-all`.

With `--all`, tests that measure recovery times or growth run in a second part, alone: next to others they would measure
those. pytest sums up each part; the last lines here show the result of both.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.repository import ROOT

ALONE = ("tests/faults/test_campaign.py", "tests/integration/test_soak.py")

# Tests wait for processes about a third of their time. More than four services at once need too much memory.
WORKERS = min(4, (os.cpu_count() or 1) + 1)
PARALLEL = ("-n", str(WORKERS), "--dist=loadfile", "--no-loadscope-reorder")
NOT_ALONE = tuple(f"--ignore={path}" for path in ALONE)
FAST = {"tests": (*PARALLEL, "-m", "not slow and not postgres", *NOT_ALONE)}
ALL = {
    "tests in parallel": (*PARALLEL, "--hypothesis-profile=thorough", *NOT_ALONE),
    "tests that run alone": ALONE,
}
INTERRUPTED = 2


@dataclass(frozen=True)
class Part:
    """The result of one part."""

    name: str
    status: int
    duration_s: float

    def __str__(self) -> str:
        results = {0: "passed", INTERRUPTED: "interrupted"}
        result = results.get(self.status, f"FAILED (pytest exited with status {self.status}; see the output above)")
        return f"{self.name}: {result}, {self.duration_s / 60:.1f} min"


def main(argv: Sequence[str] | None = None) -> int:
    """Run each part, also if an earlier one failed; 1 unless all passed."""
    parser = argparse.ArgumentParser(prog="python -m tests", description=__doc__)
    parser.add_argument("--all", action="store_true", help="run the tests marked `slow` as well")
    done = []
    for name, arguments in (ALL if parser.parse_args(argv).all else FAST).items():
        print(f"\n== {name}", flush=True)
        started = time.monotonic()
        done.append(Part(name, pytest(arguments), time.monotonic() - started))
        if done[-1].status == INTERRUPTED:
            break
    print("", *done, sep="\n")
    return int(any(part.status for part in done))


def pytest(arguments: Sequence[str]) -> int:
    """Its exit status. It receives Ctrl-C itself and gets the time to stop its services."""
    # A service is a dozen processes: without bytecode on disk each compiles Podium again, a tenth of its start.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    running = subprocess.Popen([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, env=environment)
    while True:
        try:
            return running.wait()
        except KeyboardInterrupt:
            continue


if __name__ == "__main__":
    sys.exit(main())
