"""What measuring the usage of trials costs: `python -m benchmarks.usage_cost` prints the share of a core per device.

The processor time of one sample of a real process tree, of its event on both ends, and of its rows, at one sample per
second and device. The tree is a process with `--children` processes, as a trial with workers that load its data.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from podium.db.schema.migrate import migrate
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.stores import attempt_usage
from podium.sweep.lifecycle.database_changes import UsageSampled
from podium.sweep.protocol.scheduler_slot_messages import decode_events, encode_event, join_events
from podium.sweep.runtime.process_usage import ProcessTreeMeter
from podium.sweep.slots.attempt_usage_watch import BATCH
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.slot_events import Sampled
from podium.sweep.values.usage_samples import UsageSample

_TREE = """
import os, sys, time
block = bytearray(os.urandom(1 << 20)) * int(sys.argv[2])
for _ in range(int(sys.argv[1])):
    if os.fork() == 0: time.sleep(3600); os._exit(0)
print(flush=True); time.sleep(3600)
"""


def _cost_s(step: Callable[[], object], times: int) -> float:
    """Processor seconds of this process per call."""
    began_s = time.process_time()
    for _ in range(times):
        step()
    return (time.process_time() - began_s) / times


def _sampling_s(children: int, memory_mb: int) -> float:
    command = [sys.executable, "-c", _TREE, str(children), str(memory_mb)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as tree:
        try:
            assert tree.stdout is not None and tree.stdout.readline()
            meter = ProcessTreeMeter(os.getpid())

            def sample() -> None:
                pids = meter.pids()
                meter.roughly(pids)
                meter.totals(pids)

            return _cost_s(sample, 200)
        finally:
            os.killpg(tree.pid, 9)


def _event(first: float) -> Sampled:
    samples = tuple(UsageSample(first + n, 1.0, 1.5, 1 << 30, 0, 0, 93.0, 1 << 33) for n in range(BATCH))
    return Sampled(AttemptKey(1, 1), samples, 0, 1 << 34, 1 << 36)


def _event_s() -> float:
    return _cost_s(lambda: decode_events(join_events([encode_event(1, _event(0.0))])), 500) / BATCH


def _rows_s() -> float:
    """With the merging of a trial of three hours."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "podium.sqlite3"
        migrate(path)
        database = SqliteDatabase(path)
        now = [1.7e9]

        def write() -> None:
            with database.write(durable=False) as connection:
                attempt_usage.add(connection, [UsageSampled(replace(_event(now[0])))])
            now[0] += BATCH

        with database.write() as connection:
            connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
            connection.exec_driver_sql(
                "INSERT INTO sweeps (id, name, state, spec, metric, goal, run_cap, created_at)"
                " VALUES (1, 'one', 'running', '{}', 'loss', 'minimize', 1, 0)"
            )
            connection.exec_driver_sql(
                "INSERT INTO trials (id, sweep_id, number, state, sampler, created_at)"
                " VALUES (1, 1, 0, 'running', 'random', 0)"
            )
        cost_s = _cost_s(write, 3 * 3600 // BATCH) / BATCH
        database.close()
        return cost_s


def main() -> None:
    """Print the costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=8)
    parser.add_argument("--memory-mb", type=int, default=1024)
    wanted = parser.parse_args()
    parts = {
        f"sample of {wanted.children + 1} processes, {wanted.memory_mb} MB": _sampling_s(
            wanted.children, wanted.memory_mb
        ),
        "sample of 1 process, 1,024 MB": _sampling_s(0, 1024),
        "event, encoded and decoded": _event_s(),
        "rows, with a commit": _rows_s(),
    }
    for name, cost_s in parts.items():
        print(f"{name}: {1000 * cost_s:.2f} ms per second, {100 * cost_s:.3f} % of a core")
    print("shared memory, measured exactly: at most 0.5 % of a core")


if __name__ == "__main__":
    main()
