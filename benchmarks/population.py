"""Row 21: population-based training with the same device-seconds, compared with Ray Tune's.

Measured: a small network on the digits of scikit-learn (`programs/population.py`, the same for both), one thread each,
two at a time; a population of 16, intervals of 20 passes, learning rate, momentum and weight decay; quantile 0.25,
resampling probability 0.25, factors 0.8 and 1.2. Both run for the same number of seconds: from the first trial's
placement (Podium), or from the call of `Tuner.fit` with Ray already running (Tune). Reported: the number of intervals
that ended by then, and the lowest validation loss at the end of one. Several seeds, in turn; the interval of the mean
difference is Student's, 95 %.

Not measured: start times; several machines; GPUs. The intervals are short, about 0.1 s of computation, so that the cost
of an interval matters: with intervals of minutes both do the same number.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn.datasets import load_digits

from benchmarks.dispatch import REPOSITORY
from benchmarks.programs import population
from benchmarks.results import Figure, Row, Target, more, times_more
from benchmarks.run_settings import Plan
from benchmarks.service import document, fresh_service

SECONDS = 25.0
SPACE: dict[str, Any] = {
    "lr": {"min": 1e-4, "max": 1.0, "log": True},
    "momentum": {"min": 0.0, "max": 0.95},
    "weight_decay": {"min": 1e-6, "max": 1e-2, "log": True},
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of one population."""

    intervals: int
    best: float


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 21."""
    seconds = 20.0 if plan.quick else SECONDS
    podium: list[Measurement] = []
    tune: list[Measurement] = []
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        data = _write_data(Path(folder))
        for seed in range(plan.repetitions):
            podium.append(podium_population(data, seconds, seed))
            plan.say(f"Podium: {podium[-1].intervals} intervals, lowest loss {podium[-1].best:.4f}")
            tune.append(tune_population(data, seconds, seed))
            plan.say(f"Ray Tune: {tune[-1].intervals} intervals, lowest loss {tune[-1].best:.4f}")
    ours, theirs = _figures(podium), _figures(tune)
    return [
        Row(
            21, f"population-based training, {population.POPULATION} trials, 2 at a time, {seconds:g} s each", ours,
            plan.repetitions, targets=(times_more(ours[0], theirs[0], 2), not_worse(podium, tune)),
            peer_name="Ray Tune with PopulationBasedTraining", peer=theirs,
            ratios={"done": more(ours[0], theirs[0])},
        )
    ]  # fmt: skip


def _figures(found: list[Measurement]) -> tuple[Figure, Figure]:
    intervals = Figure("done", "intervals", tuple(float(each.intervals) for each in found))
    return intervals, Figure("lowest loss", "nats", tuple(each.best for each in found))


def not_worse(podium: list[Measurement], tune: list[Measurement]) -> Target:
    """The target that the mean of the lowest losses is not higher, by the mean difference with its interval."""
    differences = [ours.best - theirs.best for ours, theirs in zip(podium, tune, strict=True)]
    mean = statistics.fmean(differences)
    text = f"{mean:+.4f} nats"
    if len(differences) > 1:
        half = float(stats.t.ppf(0.975, len(differences) - 1)) * statistics.stdev(differences) / len(differences) ** 0.5
        text += f", 95 % from {mean - half:+.4f} to {mean + half:+.4f}"
    return Target("mean lowest loss not higher", text, mean <= 0)


def podium_population(data: str, seconds: float, seed: int) -> Measurement:
    """One population on a new service, cancelled when its seconds are over."""
    wanted = document("population:objective", {**SPACE, "data": {"value": data}}, population.POPULATION, seed=seed)
    wanted |= {
        "method": {
            "type": "pbt",
            "population": population.POPULATION,
            "interval": {"step": population.STEPS},
            "quantile": population.QUANTILE,
            "resample": population.RESAMPLE,
            "perturb": list(population.PERTURB),
        },
        "metric": {"name": "loss", "goal": "minimize"},
    }
    with fresh_service("cpu:2") as client:
        sweep = client.submit(wanted)
        while (sweep := client.sweep(sweep["id"]))["started_at"] is None:
            time.sleep(0.05)
        end = datetime.fromisoformat(sweep["started_at"]) + timedelta(seconds=seconds)
        time.sleep(max(0.0, end.timestamp() - time.time()))
        client.cancel_sweep(sweep["id"])
        done = [
            interval["value"]
            for interval in client.intervals(sweep["id"])
            if interval["value"] is not None and datetime.fromisoformat(interval["ended_at"] or "") <= end
        ]
        failed = client.sweep(sweep["id"])["counts"].get("failed", 0)
    if failed:
        raise RuntimeError(f"{failed} trials failed")
    return Measurement(len(done), min(done))


def tune_population(data: str, seconds: float, seed: int) -> Measurement:
    """One population in a new Ray. Raises `CalledProcessError`."""
    command = [sys.executable, "-m", "benchmarks.ray_tune_population", data, str(seconds), str(seed)]
    said = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return Measurement(**json.loads(said.stdout.decode().strip().splitlines()[-1]))


def _write_data(folder: Path) -> str:
    digits = load_digits()
    file = folder / "digits.npz"
    np.savez(file, x=(digits.data / 16).astype(np.float32), y=digits.target.astype(np.int64))
    return str(file)
