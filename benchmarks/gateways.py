"""Measures what a second gateway brings: `python -m benchmarks.gateways` prints the requests per second of one and two.

The between-graph ensemble of row 7, three members, on a service whose processes have four cores, with `--gateways 1`
and `--gateways 2` in turn, a new service each time. The clients, 66 in three processes, have three other cores. Refused
with fewer than seven cores, and if a process of clients used most of its core.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import load
from benchmarks.ensemble_between_graph import DEADLINE_MS, LOAD_CORES
from benchmarks.ensemble_servers import Served, podium, train

SERVER_CORES, LOADS = 4, 3
CLIENTS = 22  # of each process
GATEWAYS = (1, 2)
AIM = 1.7


@contextmanager
def on_cores(cores: set[int]) -> Iterator[None]:
    """Processes that are started meanwhile use these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def per_second(served: Served, cores: list[int], seconds: float) -> float:
    """Successful responses per second of all clients, each process of clients on a core of its own.

    Raises `RuntimeError` if a request failed, or the clients were the limit.
    """
    load.ask(served.port, served.content, CLIENTS, 1.0)
    running = []
    for core in cores:
        with on_cores({core}):
            running.append(served.start_asking(CLIENTS, seconds))
    heard = [each.wait() for each in running]
    if any(len(each.good) < len(each.answers) for each in heard):
        raise RuntimeError("a request failed")
    used = max(each.processor_s / each.seconds for each in heard)
    if used > LOAD_CORES:
        raise RuntimeError(f"the clients are the limit: one of their processes used {used:.2f} cores")
    return sum(each.per_second for each in heard)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateways", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < SERVER_CORES + LOADS:
        sys.exit(f"this needs {SERVER_CORES + LOADS} cores, and there are {len(cores)}")
    servers, clients = set(cores[:SERVER_CORES]), cores[SERVER_CORES : SERVER_CORES + LOADS]
    found: dict[int, list[float]] = {gateways: [] for gateways in GATEWAYS}
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        data_dir = Path(folder) / "data"
        train(data_dir, DEADLINE_MS)
        for _ in range(options.repetitions):
            for gateways in GATEWAYS:
                with on_cores(servers), podium(data_dir, "between_graph", gateways=gateways) as served:
                    found[gateways].append(per_second(served, clients, options.seconds))
                print(f"{gateways} gateways: {found[gateways][-1]:,.0f} requests/s", file=sys.stderr, flush=True)
    ratios = [two / one for one, two in zip(found[1], found[2], strict=True)]
    print(
        f"one gateway {statistics.median(found[1]):,.0f} requests/s, two {statistics.median(found[2]):,.0f}: "
        f"{statistics.median(ratios):.2f} × ({min(ratios):.2f} to {max(ratios):.2f}; target {AIM} ×)"
    )


if __name__ == "__main__":
    main()
