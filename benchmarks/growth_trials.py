"""Growth with the number of trials: the scheduler with its search and database, and the page of a sweep."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from benchmarks import dashboard, page_times
from benchmarks.growth_series import Series
from benchmarks.run_settings import Plan
from benchmarks.simulation import simulate
from podium.sweep.runtime.layout import DataDirectory

COUNTS = (1_000, 10_000, 50_000, 200_000)
SLOTS = 16
TRIAL_S = 1.0
VISITS = 3
SWEEP = 1
DATA = "PODIUM_GROWTH_DATA"  # a folder that keeps the data of `pages`: filling it takes longer than the measurement
_MIB = 1 << 20


def scheduler(plan: Plan) -> list[Series]:
    """One simulated sweep with random search on 16 slots, in a process of its own, observed as it grows."""
    counts = plan.sizes((100, 200, 400), COUNTS)
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        process = context.Process(target=_simulate, args=(folder, counts, sender), daemon=True)
        process.start()
        sender.close()
        marks: list[dict[str, float]] = []
        while len(marks) < len(counts):
            try:
                marks.append(receiver.recv())
            except EOFError:
                raise RuntimeError(f"the simulation ended after {len(marks)} of {len(counts)} sizes") from None
            plan.say(f"{counts[len(marks) - 1]:,} trials, scheduler: {_text(marks[-1])}")
        process.join()
    return [
        _series("scheduler, processor time of the last trials, each", "ms", counts, marks, "scheduler_ms", each=True),
        _series("random search, processor time of the last trials, each", "ms", counts, marks, "search_ms", each=True),
        _series("scheduler with its search, memory", "MiB", counts, marks, "memory_mib"),
        _series("database", "MB", counts, marks, "database_mb"),
    ]


def _series(
    name: str, unit: str, counts: Sequence[int], marks: Sequence[dict[str, float]], key: str, *, each: bool = False
) -> Series:
    values = {count: mark[key] for count, mark in zip(counts, marks, strict=True)}
    return Series(name, unit, "trials", values, each=each)


def _simulate(folder: str, counts: Sequence[int], sender: Any) -> None:
    """In a process of its own: sends the figures of each size when it is reached."""
    waiting = list(counts)
    last = [0, 0.0, 0.0]

    def progress(ended: int, scheduler_s: float, search_s: float) -> None:
        if not waiting or ended < waiting[0]:
            return
        waiting.pop(0)
        trials = ended - last[0]
        sender.send(
            {
                "scheduler_ms": 1e3 * (scheduler_s - last[1]) / trials,
                "search_ms": 1e3 * (search_s - last[2]) / trials,
                "memory_mib": psutil.Process().memory_full_info().uss / _MIB,
                "database_mb": size_mb(Path(folder) / "podium.sqlite3"),
            }
        )
        last[:] = ended, scheduler_s, search_s

    simulate(Path(folder), SLOTS, max(counts), TRIAL_S, progress=progress)


def size_mb(path: Path) -> float:
    """The size of a database with its write-ahead log."""
    files = (path, path.with_name(path.name + "-wal"))
    return sum(file.stat().st_size for file in files if file.exists()) / 1e6


def pages(plan: Plan) -> list[Series]:
    """The requests of a sweep's page, and the page in Chromium, if it is installed; as in row 9."""
    counts = plan.sizes((100, 200), COUNTS)
    executable = page_times.chromium()
    found: dict[str, dict[int, float]] = {}
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        for count in counts:
            data = Path(os.environ.get(DATA, folder)) / str(count)
            measured = dashboard.podium(data, _prepared(data, count), executable, 1 if plan.quick else VISITS)
            for key, samples in measured.items():
                found.setdefault(key, {})[count] = sorted(samples)[len(samples) // 2]
            found.setdefault("generated MB", {})[count] = size_mb(DataDirectory(data).database)
            plan.say(f"{count:,} trials, page: {_text({key: values[count] for key, values in found.items()})}")
    return [
        Series(_PAGE_NAMES[what] + (", size" if unit == "kB" else ""), unit, "trials", values)
        for key, values in found.items()
        for what, unit in (key.rsplit(" ", 1),)
    ]


def _prepared(data: Path, count: int) -> int:
    """The sweep of a data directory, which is filled unless it exists."""
    return SWEEP if data.exists() else dashboard.prepare(data, count)


_PAGE_NAMES = {
    **dashboard.NAMES,
    "generated": "database, eight parameters and ten points a trial",
}


def _text(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in figures.items())
