"""Selects the fastest execution plan of a group by benchmarking; worker process, or one that it forks.

A plan is selected for each batch size: a plan that is fast for one row is often slow for a thousand. A plan is used
only if its outputs equal those of the loop and it is faster by a margin, so that noise cannot cause a regression. Times
are compared in pairs: each one with the time of the loop in the same round, because other load slows down both.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import torch

from podium.ensemble.values.ensemble_spec import Precision
from podium.ensemble.worker.execution_plans import SLOW, GroupPlans, Plan
from podium.ensemble.worker.tensor_graph_recording import Compute

SIZES = (1, 64, 1024)  # rows; a batch uses the smallest size that holds it, or else the largest size
WARM_S = 8.0  # for plans with quick preparation, all groups and sizes together
SLOW_WARM_S = 30.0  # with compiled plans
BACKGROUND_WARM_S = 30.0  # while the worker serves with the loop: nobody waits, and other processes run first
MARGIN = 0.9  # of the loop's time
SAME_OPERATIONS = 0.99  # recorded_loop computes what the loop does, without its modules: noise cannot make it slower
ROUNDS = (5, 50)  # minimum and maximum
MIN_RUNS = 10  # approximate number of computations to benchmark a plan
MAX_SLOWDOWN = 3.0  # multiple of the loop's time at which a plan is rejected
# Relative to the largest output, or to 1 if that is larger. Plans of int8 compute the operations of the loop.
TOLERANCE = {
    Precision.FLOAT32: 1e-6,
    Precision.BFLOAT16: 2.0**-6,
    Precision.FLOAT16: 2.0**-9,
    Precision.INT8: 1e-6,
}

Clock = Callable[[], float]
Samples = Mapping[int, torch.Tensor]  # (rows, features) by number of rows


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """The plan for one batch size, and the times of the others: lower quartiles in microseconds."""

    rows: int
    plan: Plan
    compute: Compute
    took_us: Mapping[Plan, float] = field(default_factory=dict)
    refused: Mapping[Plan, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "plan": self.plan.value,
            "took_us": {plan.value: round(took, 1) for plan, took in self.took_us.items()},
            "refused": {plan.value: reason for plan, reason in self.refused.items()},
        }


class PlanState(StrEnum):
    """How far the selection of the plans of a worker is."""

    PREPARING = "preparing"  # the loop is used
    CHOSEN = "chosen"
    FAILED = "failed"  # the loop is used until the process ends


@dataclass(frozen=True, slots=True)
class GroupChoices:
    """The plans of a group by batch size, and why the loop is used if a plan or a member failed."""

    choices: Mapping[int, PlanChoice]
    fell_back: str = ""


@dataclass(frozen=True, slots=True)
class NetworkChoices:
    """What is chosen for an in-graph network by measurement, by batch size."""

    groups: Sequence[GroupChoices]
    threads: Mapping[int, int]
    at_once: Mapping[int, bool]  # whether devices compute concurrently
    devices_took_us: Mapping[int, Mapping[str, float]]
    warm_s: float


@dataclass(slots=True)
class PlanBenchmark:
    """Benchmarks plans on their device within a time budget, which excludes the preparation of slow plans."""

    plans: GroupPlans
    device: torch.device
    precision: Precision
    slow: bool = False
    clock: Clock = time.perf_counter

    def choose(self, sample: torch.Tensor, budget_s: float) -> PlanChoice:
        """Select the plan for batches as large as `sample` (rows, features)."""
        until_s = self.clock() + budget_s
        first_s = self.timed(self.plans.run_loop, sample)
        if first_s * MIN_RUNS > budget_s:
            refused = dict.fromkeys(self.plans.candidates(self.slow), "no time to compare")
            return PlanChoice(
                len(sample), Plan.LOOP, self.plans.run_loop, took_us={Plan.LOOP: first_s * 1e6}, refused=refused
            )
        loop_s = self.timed(self.plans.run_loop, sample)  # the first run is slower
        candidates, refused = self.candidates(sample, loop_s, until_s)
        candidates = {Plan.LOOP: self.plans.run_loop, **candidates}
        rounds = int((until_s - self.clock()) / (loop_s * len(candidates)))
        times_us = self._benchmark(candidates, sample, min(ROUNDS[1], max(ROUNDS[0], rounds)))
        plan = fastest(times_us)
        took_us = {each: statistics.quantiles(times, n=4)[0] for each, times in times_us.items()}
        return PlanChoice(len(sample), plan, candidates[plan], took_us=took_us, refused=refused)

    def timed(self, compute: Callable[[torch.Tensor], object], sample: torch.Tensor) -> float:
        """The time of one computation in seconds, including synchronization."""
        began = self.clock()
        compute(sample)
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return self.clock() - began

    def candidates(
        self, sample: torch.Tensor, loop_s: float, until_s: float
    ) -> tuple[dict[Plan, Compute], dict[Plan, str]]:
        """The valid plans, and the reasons for rejecting the others."""
        ready: dict[Plan, Compute] = {}
        refused: dict[Plan, str] = {}
        for plan in self.plans.candidates(self.slow):
            if plan not in SLOW and self.clock() + MIN_RUNS * loop_s > until_s:
                refused[plan] = "no time to compare"
                continue
            try:
                compute = self.plans.prepare(plan, sample)
                reason = self.mismatch(compute, sample) or self._slowness(compute, sample, loop_s)
            except Exception as error:  # noqa: BLE001 - any error of PyTorch: the loop always works
                reason = f"{type(error).__name__}: {error}"[:200]
            if reason:
                refused[plan] = reason
            else:
                ready[plan] = compute
        return ready, refused

    def mismatch(self, compute: Compute, sample: torch.Tensor) -> str:
        """How the outputs differ from those of the loop, on this number of rows and on fewer; empty if they do not."""
        for rows in {len(sample), max(2, len(sample) // 3)} if len(sample) > 1 else {1}:
            expected, found = self.plans.run_loop(sample[:rows]), compute(sample[:rows])
            if found.shape != expected.shape:
                return f"outputs have shape {tuple(found.shape)} for {rows} rows"
            difference = (found - expected).abs().max().item()
            if not difference <= TOLERANCE[self.precision] * max(1.0, expected.abs().max().item()):
                return f"outputs differ from the loop's by {difference:.1e}"
        return ""

    def _slowness(self, compute: Compute, sample: torch.Tensor, loop_s: float) -> str:
        took_s = min(self.timed(compute, sample) for _ in range(2))
        return f"too slow: {took_s * 1e6:.0f} us in the first run" if took_s > MAX_SLOWDOWN * loop_s else ""

    def _benchmark(
        self, candidates: Mapping[Plan, Compute], sample: torch.Tensor, rounds: int
    ) -> dict[Plan, list[float]]:
        """Each plan's times in microseconds by round; plans take turns, so that other load affects all."""
        took: dict[Plan, list[float]] = {plan: [] for plan in candidates}
        for _ in range(rounds):
            for plan, compute in candidates.items():
                took[plan].append(self.timed(compute, sample) * 1e6)
        return took


def fastest(times: Mapping[Plan, Sequence[float]]) -> Plan:
    """The plan with the least time relative to the loop's, or the loop if none is clearly faster.

    Under load single times vary by a multiple. So the greater of two estimates counts: the median of the rounds, and
    the ratio of the lower quartiles.
    """
    loop = times[Plan.LOOP]
    found, least = Plan.LOOP, 1.0
    for plan, took in times.items():
        median = statistics.median(relative(took, loop))
        estimate = max(median, statistics.quantiles(took, n=4)[0] / statistics.quantiles(loop, n=4)[0])
        margin = SAME_OPERATIONS if plan is Plan.RECORDED_LOOP else MARGIN
        if plan is not Plan.LOOP and estimate < min(margin, least):
            found, least = plan, estimate
    return found


def relative(took: Sequence[float], base: Sequence[float]) -> list[float]:
    """The times relative to those of the same rounds."""
    return [one / other for one, other in zip(took, base, strict=True)]


def samples(features: int, device: torch.device, example: torch.Tensor | None = None) -> Samples:
    """Sample inputs by number of rows; see `sample_rows`."""
    rows = sample_rows(max(SIZES), features, example)
    return {size: rows[:size].to(device) for size in SIZES}


def sample_rows(count: int, features: int, example: torch.Tensor | None = None) -> torch.Tensor:
    """Sample inputs (count, features) at several magnitudes: raw inputs are not standardized.

    With an `example`, its rows are repeated: a user's network may accept no others, for example word indices.
    """
    if example is not None:
        return example.repeat(-(-count // len(example)), 1)[:count]
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn((count, features), generator=generator)
    rows *= torch.tensor([1.0, 4.0, 16.0]).repeat(count)[:count, None]
    return rows
