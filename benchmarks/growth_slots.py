"""Growth with the number of slots: a real service with 2 and 16, the real scheduler with up to 1,000 simulated ones."""

from __future__ import annotations

import json
import multiprocessing
import tempfile
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import psutil

from benchmarks import service_parts
from benchmarks.growth_series import Series
from benchmarks.run_settings import Plan
from benchmarks.service import document, timed_sweep
from benchmarks.simulation import simulate
from podium.api.client.service_for_command import service
from podium.sweep.runtime.layout import DataDirectory

REAL = (2, 16)
SIMULATED = (2, 16, 100, 1_000)
TRIALS = 1_000
SIMULATED_TRIALS = 5_000
_SPACE = {name: {"min": -1.0, "max": 1.0} for name in "xyz"}
_MIB = 1 << 20
PER_SECOND = 20.0  # trials that end in a second with any number of slots, so that only this number differs


def real(plan: Plan) -> list[Series]:
    """A service with trivial trials: memory and processor time of its parts. Slots share the cores of one machine."""
    slots, trials = plan.sizes((1, 2), REAL), 20 if plan.quick else TRIALS
    memory: dict[str, dict[int, float]] = defaultdict(dict)
    processor: dict[str, dict[int, float]] = defaultdict(dict)
    for count in slots:
        with (
            tempfile.TemporaryDirectory(prefix="podium-bench-") as folder,
            service(Path(folder) / "data", f"cpu:{count}", own=True) as client,
        ):
            root: int = json.loads(DataDirectory(Path(folder) / "data").service_file.read_text())["pid"]
            before = service_parts.processor_s(root)
            sweep = document("trivial:objective", _SPACE, trials, method="random")
            timed_sweep(client, sweep)
            used = service_parts.used_s(before, service_parts.processor_s(root))
            for part, mib in service_parts.memory_mib(root).items():
                memory[part][count] = mib
        for part, seconds in used.items():
            processor[part][count] = 1e3 * seconds / trials
        plan.say(f"{count} slots, memory in MiB: {_text(memory, count)}")
        plan.say(f"{count} slots, processor ms a trial: {_text(processor, count)}")
    return [
        *_parts("memory", "MiB", memory),
        *_parts("processor time a trial", "ms", processor),
    ]


def _text(found: dict[str, dict[int, float]], count: int) -> str:
    return ", ".join(f"{part} {values[count]:.3g}" for part, values in found.items() if count in values)


def _parts(what: str, unit: str, found: dict[str, dict[int, float]]) -> list[Series]:
    counts = {count for values in found.values() for count in values}
    whole = {count: sum(values.get(count, 0.0) for values in found.values()) for count in counts}
    named = {"all parts": whole, **{part: values for part, values in found.items() if set(values) == counts}}
    return [Series(f"{what}, {part}", unit, "slots", dict(values)) for part, values in named.items()]


def simulated(plan: Plan) -> list[Series]:
    """The same rate of trials on more and more slots: the scheduler's processor time for one trial, and its memory.

    Each number of slots in a process of its own.
    """
    slots, trials = plan.sizes((2, 4, 8), SIMULATED), 40 if plan.quick else SIMULATED_TRIALS
    processor: dict[int, float] = {}
    memory: dict[int, float] = {}
    for count in slots:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            processor[count], memory[count] = process.submit(_simulate, count, trials).result()
        figures = f"{processor[count]:.2f} ms a trial, {memory[count]:.0f} MiB"
        plan.say(f"{count:,} simulated slots, {PER_SECOND:g} trials/s: {figures}")
    return [
        Series("scheduler, processor time a trial at 20 trials/s", "ms", "simulated slots", processor),
        Series("scheduler with its search, memory", "MiB", "simulated slots", memory),
    ]


def _simulate(slots: int, trials: int) -> tuple[float, float]:
    """Processor time of the scheduler for one trial in ms, and the memory of this process in MiB after the last one."""
    memory_mib = 0.0

    def progress(ended: int, scheduler_s: float, search_s: float) -> None:
        nonlocal memory_mib
        if ended >= trials and not memory_mib:
            memory_mib = psutil.Process().memory_full_info().uss / _MIB

    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        outcome = simulate(Path(folder), slots, trials, slots / PER_SECOND, progress=progress)
    return outcome.cpu_ms, memory_mib
