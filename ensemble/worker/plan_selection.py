"""Which plan computes a group the quickest, found by trying them before the first request; worker.

One choice for each size of a batch: what is quick for one row is often slow for a thousand. A plan is taken only if
its answers equal the loop's and it beats the loop by a margin, so that noise cannot make things slower.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from podium.ensemble.worker.execution_plans import SLOW, GroupPlans, Plan
from podium.ensemble.worker.recorded_computation import Compute

SIZES = (1, 64, 1024)  # rows; a batch belongs to the first that it does not exceed, a larger one to the last
WARM_S = 8.0  # for trying plans that are prepared quickly, all groups and sizes together
SLOW_WARM_S = 30.0  # where there is patience for compilers
MARGIN = 0.9  # of the loop's time
ROUNDS = (5, 50)  # at least, at most
MIN_RUNS = 10  # computations that it takes to try a plan, about
HOPELESS = 3.0  # times the loop's, at the first try
TOLERANCE = {torch.float32: 1e-6, torch.bfloat16: 2.0**-6}  # of the largest answer, or of 1 if that is more

Clock = Callable[[], float]
Samples = Mapping[int, torch.Tensor]  # rows (rows, features) by their number


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """The plan for batches of one size, and what the others took: lower quartiles, in microseconds."""

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


@dataclass(slots=True)
class PlanBenchmark:
    """Times plans on the device they run on, within a time that is bounded but for the slow plans' preparation."""

    plans: GroupPlans
    device: torch.device
    precision: torch.dtype
    slow: bool = False
    clock: Clock = time.perf_counter

    def choose(self, sample: torch.Tensor, budget_s: float) -> PlanChoice:
        """The plan for batches as large as `sample` (rows, features)."""
        until_s = self.clock() + budget_s
        first_s = self.timed(self.plans.loop, sample)
        if first_s * MIN_RUNS > budget_s:
            refused = dict.fromkeys(self.plans.candidates(self.slow), "no time to compare")
            return PlanChoice(len(sample), Plan.LOOP, self.plans.loop, {Plan.LOOP: first_s * 1e6}, refused)
        loop_s = self.timed(self.plans.loop, sample)  # the first is slower
        candidates, refused = self.candidates(sample, loop_s, until_s)
        candidates = {Plan.LOOP: self.plans.loop, **candidates}
        rounds = int((until_s - self.clock()) / (loop_s * len(candidates)))
        took_us = self._race(candidates, sample, min(ROUNDS[1], max(ROUNDS[0], rounds)))
        plan = min(took_us, key=lambda plan: took_us[plan] * (MARGIN if plan is Plan.LOOP else 1))
        return PlanChoice(len(sample), plan, candidates[plan], took_us, refused)

    def timed(self, compute: Callable[[torch.Tensor], object], sample: torch.Tensor) -> float:
        """Seconds that one computation takes, its results awaited."""
        began = self.clock()
        compute(sample)
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return self.clock() - began

    def candidates(
        self, sample: torch.Tensor, loop_s: float, until_s: float
    ) -> tuple[dict[Plan, Compute], dict[Plan, str]]:
        """The plans that work, equal the loop and are not hopeless; and why the others are out."""
        ready: dict[Plan, Compute] = {}
        refused: dict[Plan, str] = {}
        for plan in self.plans.candidates(self.slow):
            if plan not in SLOW and self.clock() + MIN_RUNS * loop_s > until_s:
                refused[plan] = "no time to compare"
                continue
            try:
                compute = self.plans.prepare(plan, sample)
                reason = self._wrong(compute, sample) or self._hopeless(compute, sample, loop_s)
            except Exception as error:  # noqa: BLE001 - whatever PyTorch raises, there is always the loop
                reason = f"{type(error).__name__}: {error}"[:200]
            if reason:
                refused[plan] = reason
            else:
                ready[plan] = compute
        return ready, refused

    def _wrong(self, compute: Compute, sample: torch.Tensor) -> str:
        """Why its answers are not the loop's, on this many rows and on fewer."""
        for rows in {len(sample), max(2, len(sample) // 3)} if len(sample) > 1 else {1}:
            expected, found = self.plans.loop(sample[:rows]), compute(sample[:rows])
            if found.shape != expected.shape:
                return f"answers have shape {tuple(found.shape)} for {rows} rows"
            difference = (found - expected).abs().max().item()
            if not difference <= TOLERANCE[self.precision] * max(1.0, expected.abs().max().item()):
                return f"answers differ from the loop's by {difference:.1e}"
        return ""

    def _hopeless(self, compute: Compute, sample: torch.Tensor, loop_s: float) -> str:
        took_s = min(self.timed(compute, sample) for _ in range(2))
        return f"took {took_s * 1e6:.0f} us at once" if took_s > HOPELESS * loop_s else ""

    def _race(self, candidates: Mapping[Plan, Compute], sample: torch.Tensor, rounds: int) -> dict[Plan, float]:
        """Microseconds, the lower quartile: what else the machine does only adds. In turn, so that it adds to all."""
        took: dict[Plan, list[float]] = {plan: [] for plan in candidates}
        for _ in range(rounds):
            for plan, compute in candidates.items():
                took[plan].append(self.timed(compute, sample) * 1e6)
        return {plan: statistics.quantiles(times, n=4)[0] for plan, times in took.items()}


def samples(features: int, device: torch.device, example: torch.Tensor | None = None) -> Samples:
    """Rows to try plans on, by their number: of several magnitudes, for raw rows are no standard ones.

    Where there is an `example`, its rows again and again: a user's network may take no others, indices of words say.
    """
    if example is not None:
        rows = example.repeat(-(-max(SIZES) // len(example)), 1)
        return {size: rows[:size].to(device) for size in SIZES}
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn((max(SIZES), features), generator=generator)
    rows *= torch.tensor([1.0, 4.0, 16.0]).repeat(max(SIZES))[: max(SIZES), None]
    return {size: rows[:size].to(device) for size in SIZES}
