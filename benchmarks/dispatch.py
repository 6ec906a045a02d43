"""Rows 1 and 2: what one trivial trial costs, torch imported and used, against Ray Tune with fresh and reused actors.

Measured: a sweep of 200 trials over three float parameters with TPE, two at a time, each trial in a fresh process on
Podium's side (code uploaded, the real service on two CPU slots, SQLite durable); time per trial is the sweep's own
time, first placement to end, over the trials. The second figure goes from the submission to the answer that says
`finished`, polled every 0.2 s. Each repetition is a new service and a new Ray, cold, in turn.

Not measured: the start of the service and of Ray; training; many machines; GPU contexts. Ray Tune with fresh actors
takes over a second a trial and runs fewer of them; its reused actors (row 2) run all trials in the same two
processes, so one trial can spoil the next: what Podium is compared with there isolates less.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.plan import Plan
from benchmarks.results import Figure, Row, at_most, ratio, times_less
from benchmarks.service import SweepTimes, document, fresh_service, timed_sweep

TRIALS = 200
FRESH_TRIALS = 20  # of Ray Tune with a new actor each
REPOSITORY = Path(__file__).parent.parent
WORK = "{} trivial trials, torch imported and used, TPE, 2 at a time, results on disk"


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Rows 1 and 2, those that are wanted."""
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


def ray_trials(kind: str, trials: int, seed: int) -> float:
    """Milliseconds a trial, in a new Ray. Raises `CalledProcessError`."""
    command = [sys.executable, "-m", "benchmarks.ray_tune", kind, str(trials), str(seed)]
    said = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    answer = json.loads(said.stdout.decode().strip().splitlines()[-1])
    return 1e3 * float(answer["took_s"]) / trials
