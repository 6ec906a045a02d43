"""Row 23, on a GPU: trials with a CUDA context, the memory that remains after them, and in-graph ensembles.

Trials: as rows 1 and 2, one at a time, and each computes its value on the GPU, so that it creates a CUDA context.
Ray Tune's trials have one GPU each. A fresh actor creates a context, reused actors keep theirs.

Memory: sweeps of one trial that allocates 4 GB and ends. From the response with state `finished`, for a second, NVML
reports the used memory of the GPU; the lowest value, less that before the first trial, is what the trial left.

In-graph ensembles: as row 6, with the networks on the GPU. The loop copies its rows to the GPU once, computes each
network in turn, and copies all predictions and their mean back. The plans that Podium measured, among them the loop and
`vmap`, are in the notes.

Skipped on machines without a GPU. Not measured: several GPUs, and the service in front of ensembles.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

from benchmarks import ensemble_in_graph
from benchmarks.dispatch import ray_trials
from benchmarks.results import Figure, Row, at_most, ratio, times_less
from benchmarks.run_settings import Plan
from benchmarks.service import SweepTimes, document, fresh_service, timed_sweep
from podium.api.client.client import Client
from podium.sweep.runtime.gpu_usage import GpuMeter

TRIALS = 60
FRESH_TRIALS = 10  # of Ray Tune with a new actor each
LARGE_TRIALS = 10  # sweeps of one trial with much memory
LEFT_MB = 64  # memory that other processes may take meanwhile
RELEASE_S = 1.0
INTERVAL_S = 0.01
MISSING = "there is no GPU"
WORK = "{} trials that compute their value on the GPU, each with a CUDA context, TPE, one at a time"


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 23."""
    if not torch.cuda.is_available():
        plan.say(f"row 23 is skipped: {MISSING}")
        return []
    trials, fresh_trials = (10, 2) if plan.quick else (TRIALS, FRESH_TRIALS)
    repetitions = min(2, plan.repetitions)
    podium: list[SweepTimes] = []
    fresh, reused = [], []
    left: list[float] = []
    for seed in range(repetitions):
        with fresh_service("gpu") as client:
            podium.append(timed_sweep(client, trivial_trials(trials, seed)))
            plan.say(f"Podium: {1e3 * podium[-1].inside_s / trials:.1f} ms a trial")
            left += left_mb(client, 2 if plan.quick else LARGE_TRIALS)
            plan.say(f"memory left by trials: at most {max(left):.1f} MB")
        fresh.append(ray_trials("fresh", fresh_trials, seed, "gpu"))
        reused.append(ray_trials("reused", trials, seed, "gpu"))
        plan.say(f"Ray Tune: {fresh[-1]:.0f} ms with fresh actors, {reused[-1]:.1f} ms with reused ones")
    inside = Figure("a trial", "ms", tuple(1e3 * times.inside_s / trials for times in podium))
    memory = Figure("memory left by a trial of 4 GB, the most", "MB", (max(left),))
    peers = Figure("a trial", "ms", tuple(fresh)), Figure("a trial, reused actors", "ms", tuple(reused))
    found: dict[str, list[ensemble_in_graph.Measured]] = {}
    for kind in ensemble_in_graph.KINDS[:1] if plan.quick else ensemble_in_graph.KINDS:
        for members in ensemble_in_graph.MEMBERS:
            for each in ensemble_in_graph.in_new_process(
                ensemble_in_graph.one_ensemble, kind, members, plan, torch.device("cuda", 0)
            ):
                found.setdefault(each.name, []).append(each)
                plan.say(each.note)
    ours = [Figure(name, "us", tuple(each.ours_us for each in runs)) for name, runs in found.items()]
    loop = [Figure(name, "us", tuple(each.loop_us for each in runs)) for name, runs in found.items()]
    ratios = {name: statistics.median(each.ratio for each in runs) for name, runs in found.items()}
    targets = times_less(inside, peers[0], 100), at_most(memory, LEFT_MB), ensemble_in_graph.never_slower(ratios)
    about = f"{torch.cuda.get_device_name(0)}, CUDA {torch.version.cuda}; {fresh_trials} trials with fresh actors"
    return [
        Row(
            23, WORK.format(trials) + "; in-graph ensembles on the GPU: p50 of a call",
            (inside, memory, *ours), repetitions, targets=targets,
            peer_name="Ray Tune, a fresh actor each, and reused actors; a plain loop over the members",
            peer=(*peers, *loop),
            ratios={"a trial": ratio(inside, peers[0]), "reused actors": ratio(inside, peers[1]), **ratios},
            notes=(about, *(each.note for runs in found.values() for each in runs)),
        )
    ]  # fmt: skip


def trivial_trials(trials: int, seed: int) -> Any:
    """The sweep of rows 1 and 2, on the GPU."""
    parameters = {name: {"min": -1.0, "max": 1.0} for name in "xyz"}
    return document("gpu_trials:trivial", parameters, trials, seed=seed)


def left_mb(client: Client, trials: int) -> list[float]:
    """The memory that each of several trials left on the GPU, in MB, each in a sweep of its own."""
    meter = GpuMeter([str(device["uuid"]) for device in client.devices()])
    before = _used_mb(meter)
    left = []
    for number in range(trials):
        timed_sweep(client, document("gpu_trials:large", {"x": {"min": 0.0, "max": 1.0}}, 1, seed=number))
        end = time.monotonic() + RELEASE_S
        lowest = _used_mb(meter)
        while time.monotonic() < end and lowest > before:
            time.sleep(INTERVAL_S)
            lowest = min(lowest, _used_mb(meter))
        left.append(lowest - before)
    return left


def _used_mb(meter: GpuMeter) -> float:
    used = meter.read(()).memory_bytes
    if used is None:
        raise RuntimeError("NVML reports no memory of the GPU")
    return used / 1e6
