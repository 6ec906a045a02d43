"""Row 5: a real sweep with the same device-seconds, Fashion-MNIST with ASHA, compared with Ray Tune with Optuna.

Measured: a network with its own training loop (`programs/fashion.py`, the same for both) on 20,000 training and 5,000
validation images, one thread each, two at a time, five parameters, TPE, ASHA with rungs at 1, 3 and 9 epochs, for the
same number of seconds from the first trial's placement (Podium) or from the call of `Tuner.fit` with Ray already
running (Tune). Reported: the number of trials done by then, including pruned ones, and the best validation accuracy
that any of them reported. Several seeds, in turn; the interval of the mean difference is Student's, 95 %.

Not measured: start times; several machines; GPUs. For Tune, all trials with at least one report count, although the
last two may have been cut off, which favors Tune. On neither side do trials share data: each reads the files itself.
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

from benchmarks.dispatch import REPOSITORY
from benchmarks.results import Figure, Row, Target, more, times_more
from benchmarks.run_settings import Plan
from benchmarks.service import document, fresh_service
from podium.sweep.data import memory_mapped_datasets

SECONDS = 45.0
TRAIN_ROWS, VALIDATION_ROWS = 20_000, 5_000
FASHION = "/usr/share/datasets/fashion-mnist"  # the folder of Debian's package dataset-fashion-mnist
SPACE: dict[str, Any] = {
    "lr": {"min": 1e-4, "max": 1.0, "log": True},
    "momentum": {"min": 0.0, "max": 0.95},
    "hidden": {"values": [32, 64, 128, 256]},
    "dropout": {"min": 0.0, "max": 0.5},
    "batch_size": {"values": [64, 128, 256]},
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result of one sweep."""

    trials: int
    best: float


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 5."""
    seconds = 20.0 if plan.quick else SECONDS
    podium: list[Measurement] = []
    tune: list[Measurement] = []
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
        _write_data(Path(folder))
        for seed in range(plan.repetitions):
            podium.append(podium_sweep(folder, seconds, seed))
            plan.say(f"Podium: {podium[-1].trials} trials, best {podium[-1].best:.4f}")
            tune.append(tune_sweep(folder, seconds, seed))
            plan.say(f"Ray Tune: {tune[-1].trials} trials, best {tune[-1].best:.4f}")
    ours, theirs = _figures(podium), _figures(tune)
    return [
        Row(
            5, f"Fashion-MNIST, ASHA, TPE, 2 at a time, {seconds:g} s each", ours, plan.repetitions,
            targets=(times_more(ours[0], theirs[0], 1.3), not_lower(podium, tune)),
            peer_name="Ray Tune with OptunaSearch and ASHAScheduler", peer=theirs,
            ratios={"done": more(ours[0], theirs[0])},
        )
    ]  # fmt: skip


def _figures(found: list[Measurement]) -> tuple[Figure, Figure]:
    trials = Figure("done", "trials", tuple(float(each.trials) for each in found))
    return trials, Figure("best accuracy", "%", tuple(100 * each.best for each in found))


def not_lower(podium: list[Measurement], tune: list[Measurement]) -> Target:
    """The target that the mean of the best accuracies is not lower, by the mean difference with its interval."""
    differences = [100 * (ours.best - theirs.best) for ours, theirs in zip(podium, tune, strict=True)]
    mean = statistics.fmean(differences)
    text = f"{mean:+.2f} points"
    if len(differences) > 1:
        half = float(stats.t.ppf(0.975, len(differences) - 1)) * statistics.stdev(differences) / len(differences) ** 0.5
        text += f", 95 % from {mean - half:+.2f} to {mean + half:+.2f}"
    return Target("mean best accuracy not lower", text, mean >= 0)


def podium_sweep(data: str, seconds: float, seed: int) -> Measurement:
    """One sweep on a new service, cancelled when its seconds are over."""
    wanted = document("fashion:objective", {**SPACE, "data": {"value": data}}, 10_000, seed=seed)
    wanted |= {
        "metric": {"name": "val_accuracy", "goal": "maximize"},
        "early_terminate": {"type": "asha", "min_iter": 1, "eta": 3},
    }
    with fresh_service("cpu:2") as client:
        sweep = client.submit(wanted)
        while (sweep := client.sweep(sweep["id"]))["started_at"] is None:
            time.sleep(0.05)
        end = datetime.fromisoformat(sweep["started_at"]) + timedelta(seconds=seconds)
        time.sleep(max(0.0, end.timestamp() - time.time()))
        client.cancel_sweep(sweep["id"])
        done = [
            trial
            for trial in client.trials(sweep["id"])
            if trial["state"] in ("finished", "pruned") and datetime.fromisoformat(trial["ended_at"] or "") <= end
        ]
        best = max((_best_report(client.metrics(trial["id"])) for trial in done), default=0.0)
    return Measurement(len(done), best)


def _best_report(curves: dict[str, list[list[float]]]) -> float:
    return max(accuracy for _, accuracy in curves["val_accuracy"])


def tune_sweep(data: str, seconds: float, seed: int) -> Measurement:
    """One sweep in a new Ray. Raises `CalledProcessError`."""
    command = [sys.executable, "-m", "benchmarks.ray_tune_fashion", data, str(seconds), str(seed)]
    said = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return Measurement(**json.loads(said.stdout.decode().strip().splitlines()[-1]))


def _write_data(folder: Path) -> None:
    source = {"name": "fashion-mnist", "root": FASHION}
    loaded = memory_mapped_datasets.load(source, {"split": [0.7, 0.1, 0.1, 0.1], "seed": 0}, folder / "cache")
    for name, split, rows in (("train", "train", TRAIN_ROWS), ("validation", "validation", VALIDATION_ROWS)):
        inputs, targets = loaded.split(split)
        np.save(folder / f"x_{name}.npy", inputs[:rows])
        np.save(folder / f"y_{name}.npy", targets[:rows])
