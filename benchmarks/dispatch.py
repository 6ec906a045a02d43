"""Rows 1 and 2: the overhead of a trivial trial that uses torch, compared with Ray Tune with fresh and reused actors.

Measured: a sweep of 200 trials over three float parameters with TPE, two at a time. In Podium, each trial runs in a
fresh process (uploaded code, the real service on two CPU slots, durable SQLite). The time per trial is the sweep's own
time, from the first placement to the end, divided by the number of trials. The second figure is the time from the
submission to the response with state `finished`, polled every 0.2 s. Each repetition starts a new service and a new
Ray, one after the other.

Not measured: the start of the service and of Ray; training; several machines; GPU contexts. Ray Tune with fresh actors
takes over a second per trial and therefore runs fewer trials; its reused actors (row 2) run all trials in the same two
processes, so a trial can affect later ones: row 2 compares Podium with weaker isolation.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.results import Figure, Row, at_most, ratio, times_less
from benchmarks.run_settings import Plan
from benchmarks.service import SweepTimes, document, fresh_service, timed_sweep

TRIALS = 200
FRESH_TRIALS = 20  # of Ray Tune with a new actor each
REPOSITORY = Path(__file__).parent.parent
WORK = "{} trivial trials, torch imported and used, TPE, 2 at a time, results on disk"


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Rows 1 and 2, as far as requested."""
    trials, fresh_trials = (20, 4) if plan.quick else (TRIALS, FRESH_TRIALS)
    podium: list[SweepTimes] = []
    fresh: list[float] = []
    reused: list[float] = []
    for seed in range(plan.repetitions):
        podium.append(podium_trials(trials, seed))
        plan.say(f"Podium: {1e3 * podium[-1].inside_s / trials:.1f} ms a trial")
        if 1 in numbers:
            fresh.append(ray_trials("fresh", fresh_trials, seed))
            plan.say(f"Ray Tune, fresh actors: {fresh[-1]:.0f} ms a trial")
        if 2 in numbers:
            reused.append(ray_trials("reused", trials, seed))
            plan.say(f"Ray Tune, reused actors: {reused[-1]:.1f} ms a trial")
    inside = Figure("a trial", "ms", tuple(1e3 * times.inside_s / trials for times in podium))
    outside = Figure("submit to finished, a trial", "ms", tuple(1e3 * times.outside_s / trials for times in podium))
    rows: list[Row] = []
    if 1 in numbers:
        peer = Figure("a trial", "ms", tuple(fresh))
        rows.append(
            Row(
                1, WORK.format(trials) + "; each in a fresh process", (inside, outside), plan.repetitions,
                targets=(times_less(inside, peer, 100), at_most(inside, 12)),
                peer_name="Ray Tune, a fresh actor each", peer=(peer,), ratios={"a trial": ratio(inside, peer)},
                notes=(f"Ray Tune ran {fresh_trials} trials a repetition",),
            )
        )  # fmt: skip
    if 2 in numbers:
        peer = Figure("a trial", "ms", tuple(reused))
        rows.append(
            Row(
                2, WORK.format(trials) + "; each in a fresh process (Podium only)", (inside, outside), plan.repetitions,
                targets=(times_less(inside, peer, 5),),
                peer_name="Ray Tune, reused actors, not isolated", peer=(peer,),
                ratios={"a trial": ratio(inside, peer)},
            )
        )  # fmt: skip
    return rows


def podium_trials(trials: int, seed: int) -> SweepTimes:
    """One sweep on a new service."""
    parameters = {name: {"min": -1.0, "max": 1.0} for name in "xyz"}
    with fresh_service("cpu:2") as client:
        return timed_sweep(client, document("trivial:objective", parameters, trials, seed=seed))


def ray_trials(kind: str, trials: int, seed: int, *devices: str) -> float:
    """Milliseconds per trial, in a new Ray; `devices`: "gpu", or nothing. Raises `CalledProcessError`."""
    command = [sys.executable, "-m", "benchmarks.ray_tune", kind, str(trials), str(seed), *devices]
    said = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    answer = json.loads(said.stdout.decode().strip().splitlines()[-1])
    return 1e3 * float(answer["took_s"]) / trials
