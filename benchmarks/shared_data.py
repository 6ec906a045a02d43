"""Row 12: eight trials that load the same 1 GB, memory and time, compared with eight trials that each load a copy.

Measured on one `.npz` file (uncompressed float32, 250 columns, a target with ten classes): the total memory of eight
processes that have loaded it and read every row, minus their memory before; and the loading time. Each process stands
for a trial: it has the imports of a forked trial process, opens the data as a trial does
(`memory_mapped_datasets.load`, which `trial.data` calls), sums all rows in batches of 4,096 as in training, and keeps
the data. The first process finds an empty cache, reads the file and writes the cache; the other seven use it. Memory is
the sum of the proportional set sizes (PSS, from `/proc/PID/smaps_rollup`): a page shared by eight processes counts
once, and file pages count as long as they are mapped.

The peer does what each trial of a plain script does, as in the examples of Ray Tune and Optuna: `numpy.load` of the
same file, in eight processes of the same kind. On both sides, processes load one after the other. Ray's
`tune.with_parameters` would also share data that fits into the driver's memory; it is not measured. Not measured: a
cold disk (the file was just written), several machines, CSV and Parquet, the time of the splits alone.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import Figure, Row, Target, at_most, ratio
from benchmarks.run_settings import Plan

TRIALS = 8
BYTES = 1_000_000_000
COLUMNS = 250
SECOND_MS = 50.0
COPIES = 1.1
SPLIT = {"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}

_COMMON = """
import json, sys, time
import numpy as np
from pathlib import Path
from podium.sweep.data import memory_mapped_datasets
from podium.sweep.training import fit  # what a trial process is forked with
def pss():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
def say(**values):
    print(json.dumps(values), flush=True)
    sys.stdin.readline()
say()
say(pss=pss())
began = time.perf_counter()
{load}
load_s = time.perf_counter() - began
total = sum(float(inputs[row : row + 4096].sum()) for row in range(0, len(inputs), 4096))
say(load_s=load_s, total=total)
say(pss=pss())
"""
_PODIUM = """
loaded = memory_mapped_datasets.load(
    {{"file": {file!r}, "target": "y", "task": "classification"}}, {split!r}, Path({cache!r})
)
inputs = loaded.inputs
"""
_PEER = """
with np.load({file!r}) as archive:
    inputs, targets = archive["x"], archive["y"]
"""


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of eight processes that load one after the other and keep the data."""

    first_s: float
    others_s: tuple[float, ...]
    memory: float  # bytes of all of them, minus their memory before


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 12."""
    size = 20_000_000 if plan.quick else BYTES
    ours: list[Measurement] = []
    theirs: list[Measurement] = []
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        file = Path(folder) / "rows.npz"
        write(file, size)
        for repetition in range(min(3, plan.repetitions)):
            cache = str(Path(folder) / f"cache-{repetition}")
            podium = _PODIUM.format(file=str(file), split=SPLIT, cache=cache)
            ours.append(loaded(podium))
            theirs.append(loaded(_PEER.format(file=str(file))))
            plan.say(f"Podium {_summary(ours[-1], size)}; a copy each {_summary(theirs[-1], size)}")
    return [_row(size, ours, theirs)]


def _row(size: int, ours: list[Measurement], theirs: list[Measurement]) -> Row:
    copies = Figure("memory of all", "copies", tuple(found.memory / size for found in ours))
    peers = Figure("memory of all", "copies", tuple(found.memory / size for found in theirs))
    second = Figure("second load", "ms", tuple(1e3 * statistics.median(found.others_s) for found in ours))
    slowest = Figure("slowest of the seven", "ms", tuple(1e3 * max(found.others_s) for found in ours))
    first = Figure("first load, into the cache", "s", tuple(found.first_s for found in ours))
    each = Figure("load, each", "ms", tuple(1e3 * statistics.median(found.others_s) for found in theirs))
    return Row(
        12, f"{TRIALS} trials load the same {size / 1e9:g} GB (.npz) and read all of it",
        [copies, second, slowest, first],
        len(ours),
        targets=[_one_copy(copies), at_most(second, SECOND_MS)],
        peer_name="numpy.load in each", peer=[peers, each],
        ratios={copies.name: ratio(copies, peers), second.name: ratio(second, each)},
        notes=("times are medians of the seven later processes; PSS of all eight minus their memory before",),
    )  # fmt: skip


def _one_copy(copies: Figure) -> Target:
    found = at_most(copies, COPIES)
    return Target(f"one copy in memory (≤ {COPIES:g})", found.measured, found.reached)


def _summary(found: Measurement, size: int) -> str:
    return f"{found.memory / size:.2f} copies, {1e3 * statistics.median(found.others_s):.1f} ms"


def write(file: Path, size: int) -> None:
    """Rows of noise, and classes."""
    rows = size // (4 * COLUMNS)
    generator = np.random.default_rng(0)
    inputs = generator.random((rows, COLUMNS), dtype=np.float32)
    np.savez(file, x=inputs, y=generator.integers(0, 10, rows))


def loaded(load: str) -> Measurement:
    """Let eight processes load in turn; returns their times and their total memory."""
    code = _COMMON.format(load=load)
    processes = [Child(code) for _ in range(TRIALS)]
    try:
        together(processes)
        before = sum(child.read_message()["pss"] for child in processes)
        first_s, *others_s = [child.next()["load_s"] for child in processes]
        for child in processes:
            child.go()
        after = sum(child.read_message()["pss"] for child in processes)
    finally:
        for child in processes:
            child.end()
    return Measurement(first_s, tuple(others_s), after - before)


def together(processes: list[Child]) -> None:
    """Wait until all are up; otherwise shared pages would be attributed to the first processes."""
    for child in processes:
        child.read_message()
    for child in processes:
        child.go()


class Child:
    """A process that prints a line of JSON and then waits for a line before it continues."""

    def __init__(self, code: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def read_message(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process ended with status {self._process.wait()}")
        said: dict[str, Any] = json.loads(line)
        return said

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def next(self) -> dict[str, Any]:
        """Let the process continue, and return its next line."""
        self.go()
        return self.read_message()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
