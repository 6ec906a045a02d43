"""Growth with the number of slots: a real service with 2 and 16, the real scheduler with up to 1,000 simulated ones."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from pathlib import Path

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
    """The same rate of trials on more and more slots: the scheduler's processor time for one trial."""
    slots, trials = plan.sizes((2, 4, 8), SIMULATED), 40 if plan.quick else SIMULATED_TRIALS
    values = {}
    for count in slots:
        with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
            values[count] = simulate(Path(folder), count, trials, count / PER_SECOND).cpu_ms
        plan.say(f"{count:,} simulated slots, {PER_SECOND:g} trials/s: {values[count]:.2f} ms a trial")
    return [Series("scheduler, processor time a trial at 20 trials/s", "ms", "simulated slots", values)]
