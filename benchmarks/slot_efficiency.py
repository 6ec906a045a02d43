"""Row 4: the share of the slots' time that trials use: 16 real slots, then 100 and 1,000 simulated slots.

Real: 1,000 trials of 1 s (they sleep) on the service with 16 CPU slots, random search. Efficiency is the sum of the
trials' seconds divided by 16 and by the sweep's own time, from the first placement to the end. Since 1,000 is not a
multiple of 16, even a perfect scheduler needs 63 s and reaches 99.2 %; a figure of its own is the share of these 63 s.
The machine has fewer than 16 cores: process starts, Ray, the search and the database share the processor, unlike on
sixteen machines. Ray's documentation reports 87 % for Ray Tune with this workload on 16 cores.

Simulated: the real scheduler, its recorder on a real SQLite file, and the real search, with slots that exist only on a
simulated clock (`benchmarks.simulation`). Each step of the scheduler advances this clock by the real duration of the
step, including the disk, and the search answers with the delay of a separate thread, one ask after the other.
Efficiency is the shortest possible time of these trials on that number of slots, divided by the actual time. It
measures the loss caused by the control loop alone. It excludes Ray calls, the network, process starts and the reports
of the trials, and ignores that loop and search share one interpreter. Trials take 1 s or 60 s, plus or minus a tenth,
ten per slot. With 1,000 slots and trials of 1 s, each step receives so much news that it writes many trials in one
transaction. The last shape has 8 slots on each of 125 nodes: messages take 1 ms, slots send heartbeats every 2 s,
and release a device before the files of its attempt are stored.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.results import Figure, Row, at_least
from benchmarks.run_settings import Plan
from benchmarks.service import SweepTimes, document, fresh_service, timed_sweep
from benchmarks.simulation import Outcome, simulate

SLOTS = 16
TRIALS = 1000
AIM_PERCENT = 97.0  # of simulated slots
REAL_AIM_PERCENT = 98.5
SLOTS_OF_NODE = 8
# Slots, seconds a trial, slots of a node (0: on the head).
SHAPES = (
    (100, 1.0, 0),
    (1000, 1.0, 0),
    (100, 60.0, 0),
    (1000, 60.0, 0),
    (1000, 1.0, SLOTS_OF_NODE),
)
TRIALS_A_SLOT = 10


def run(plan: Plan, numbers: frozenset[int]) -> list[Row]:
    """Row 4."""
    repetitions = min(3, plan.repetitions)
    real = [] if plan.quick else [real_slots(plan) for _ in range(repetitions)]
    figures = _real_figures(real) if real else []
    targets = [at_least(figures[0], REAL_AIM_PERCENT)] if figures else []
    for slots, trial_s, slots_of_node in ((20, 1.0, 0), (20, 1.0, 4)) if plan.quick else SHAPES:
        simulated = simulated_figures(slots, trial_s, repetitions, plan, slots_of_node)
        targets.append(at_least(simulated[0], AIM_PERCENT))
        figures += simulated
    return [
        Row(
            4,
            f"{TRIALS:,} trials of 1 s on {SLOTS} slots; the scheduler alone with more slots on a simulated clock",
            figures,
            repetitions,
            targets=targets,
            notes=("Ray's documentation reports 87 % for Ray Tune on the first shape",),
        )
    ]


def real_slots(plan: Plan) -> SweepTimes:
    """The sweep on the real service."""
    parameters = {"seconds": {"value": 1.0}, "x": {"min": 0.0, "max": 1.0}}
    with fresh_service(f"cpu:{SLOTS}") as client:
        times = timed_sweep(client, document("sleeping:objective", parameters, TRIALS, method="random"))
    busy = "unknown" if times.busy_share is None else f"{100 * times.busy_share:.1f} %"
    plan.say(f"{SLOTS} real slots: {_percent(times):.1f} %, devices busy {busy}")
    return times


def _percent(times: SweepTimes) -> float:
    return 100 * times.trials / (SLOTS * times.inside_s)


def _real_figures(real: list[SweepTimes]) -> list[Figure]:
    shortest_s = -(-TRIALS // SLOTS)
    return [
        Figure(f"{SLOTS} real slots, 1 s", "%", tuple(_percent(times) for times in real)),
        Figure(
            f"{SLOTS} real slots, 1 s, of the shortest possible time", "%",
            tuple(100 * shortest_s / times.inside_s for times in real),
        ),
        Figure(
            f"{SLOTS} real slots, slot time per trial without its sleep", "ms a trial",
            tuple(1e3 * (SLOTS * times.inside_s - times.trials) / times.trials for times in real),
        ),
    ]  # fmt: skip


def simulated_figures(slots: int, trial_s: float, repetitions: int, plan: Plan, slots_of_node: int = 0) -> list[Figure]:
    """Efficiency, and the cost of a trial in the scheduler."""
    what = f"{slots} simulated slots, {trial_s:g} s"
    if slots_of_node:
        what = f"{slots} simulated slots on {slots // slots_of_node} nodes, {trial_s:g} s"
    outcomes: list[Outcome] = []
    for _ in range(repetitions):
        with tempfile.TemporaryDirectory(prefix="podium-bench-") as folder:
            outcomes.append(simulate(Path(folder), slots, slots * TRIALS_A_SLOT, trial_s, slots_of_node=slots_of_node))
        last = outcomes[-1]
        plan.say(
            f"{what}: {100 * last.efficiency:.1f} %, {last.step_ms:.2f} ms a trial, "
            f"{last.cpu_ms:.2f} of it processor, {last.search_ms:.2f} search, {last.steps} steps"
        )
    return [
        Figure(what, "%", tuple(100 * outcome.efficiency for outcome in outcomes)),
        Figure(f"{what}, scheduler", "ms a trial", tuple(outcome.step_ms for outcome in outcomes)),
        Figure(f"{what}, its processor time", "ms a trial", tuple(outcome.cpu_ms for outcome in outcomes)),
    ]
