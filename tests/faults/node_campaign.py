"""The campaign of several machines: faults of nodes at random times, then checks of what clients were promised."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tests.cluster.machines import Network, one_way_reason, unavailable_reason
from tests.faults.faulted_cluster import BLIPS, DURATIONS, ONE_WAY, FaultedCluster
from tests.faults.journal import Journal, JournalResult, compare
from tests.faults.node_checks import Fault, Loss, breaches, losses, problems
from tests.faults.node_victims import ON_HEAD
from tests.faults.service_under_fire import NotHealthyError
from tests.faults.workload import CODE, Workload
from tests.running_service import function_sweep

# How often each is done, of 100.
WEIGHTS = {
    "slot": 6, "slot relay": 4, "trial": 8, "raylet": 6, "agent": 9, "guardian": 5, "template": 6, "machine": 6,
    "cut 2 s": 9, "cut 4 s": 8, "cut 20 s": 3, "cut 120 s": 1, "sends nothing 4 s": 3, "receives nothing 4 s": 3,
    "sends nothing 20 s": 1, "receives nothing 20 s": 1, "raylet stopped": 4, "agent stopped": 4,
    "disk full": 5, "nodes": 5, "scheduler": 3,
}  # fmt: skip
PAUSE_S = 1.5  # mean time between health and the next fault
SETTLE_S = 240.0  # for the sweeps that are open at a quiet point
FUNCTIONS = ("node_trials:weights", "node_trials:folders")


@dataclass(frozen=True, slots=True)
class NodePlan:
    """The parameters of a campaign; the same seed gives the same faults, nodes and pauses."""

    faults: int = 100
    nodes: int = 3
    seed: int = 7
    head_slots: int = 1
    node_slots: int = 2
    trials: int = 24  # of a sweep
    quiet_every: int = 20  # faults between two quiet points, at which everything is checked
    kinds: tuple[str, ...] = ()  # these, in this order; (): `faults` random ones


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """What the campaign found."""

    plan: NodePlan
    faults: tuple[Fault, ...]
    losses: tuple[Loss, ...]
    verdict: JournalResult
    problems: tuple[str, ...]  # after faults, and at quiet points
    unexplained: tuple[str, ...]  # lost attempts that no fault explains
    skipped: str  # why one-way cuts were left out
    unhealthy: str  # why the campaign ended early
    unanswered: int  # requests of the client without a response
    restarts: int  # of `podium node join`, when it had ended
    took_s: float

    @property
    def lost_by_blips(self) -> tuple[Loss, ...]:
        """Attempts that a cut of at most 4 s has cost."""
        return tuple(loss for loss in self.losses if self.faults[loss.fault].kind in BLIPS)

    @property
    def passed(self) -> bool:
        kept = not (self.verdict.lost or self.verdict.double)
        return kept and not (self.problems or self.unexplained or self.unhealthy or self.lost_by_blips)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "passed": self.passed, "by_kind": by_kind(self)}


def run(plan: NodePlan, folder: Path, say: Callable[[str], None]) -> NodeOutcome:
    """Run the whole campaign; however it ends, no process is left running. Needs root: see `unavailable_reason`.

    `folder` has a short path: paths of sockets are limited.
    """
    if reason := unavailable_reason():
        raise RuntimeError(reason)
    with Network(folder / "m") as network:
        cluster = FaultedCluster(
            network, folder, nodes=plan.nodes, head_slots=plan.head_slots, node_slots=plan.node_slots
        )
        return NodeCampaign(plan, cluster, folder, say).run()


class NodeCampaign:
    """See the module."""

    def __init__(self, plan: NodePlan, cluster: FaultedCluster, folder: Path, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._cluster = cluster
        self._runs = folder / "runs"
        self._runs.touch()
        self._say = say
        self._random = random.Random(plan.seed)
        self._journal = Journal()
        self._faults: list[Fault] = []
        self._problems: list[str] = []
        self._unanswered = 0
        self._next_sweep = 0
        self._skipped = one_way_reason()

    def run(self) -> NodeOutcome:
        """Rounds of faults with sweeps, each followed by checks without any."""
        began, unhealthy = time.monotonic(), ""
        faults = self._drawn()
        while faults and not unhealthy:
            unhealthy = self._round(faults[: self._plan.quiet_every])
            del faults[: self._plan.quiet_every]
        found, unexplained = losses(self._cluster, self._faults)
        verdict = compare(
            self._journal, self._cluster.rig.data, [fault.took_effect for fault in self._faults], [self._runs]
        )
        try:
            self._cluster.rig.close()
        except Exception as error:
            self._problems.append(f"the service does not stop: {error}")
        return NodeOutcome(
            plan=self._plan,
            faults=tuple(self._faults),
            losses=tuple(found),
            verdict=verdict,
            problems=tuple(dict.fromkeys(self._problems)),
            unexplained=tuple(unexplained),
            skipped=self._skipped,
            unhealthy=unhealthy,
            unanswered=self._unanswered,
            restarts=self._cluster.restarts,
            took_s=time.monotonic() - began,
        )

    def _drawn(self) -> list[tuple[str, str]]:
        """What to do, and to which node."""
        weights = {kind: weight for kind, weight in WEIGHTS.items() if not (self._skipped and kind in ONE_WAY)}
        kinds = list(self._plan.kinds)
        if not kinds:
            kinds = self._random.choices(list(weights), list(weights.values()), k=self._plan.faults)
        names = sorted(self._cluster.nodes)
        return [(kind, "" if kind in ON_HEAD else self._random.choice(names)) for kind in kinds]

    def _round(self, faults: list[tuple[str, str]]) -> str:
        """Faults while sweeps run, then checks; why the campaign ends early, or ""."""
        workload = Workload(
            self._cluster.url, self._cluster.token, self._journal, trials=self._plan.trials, seed=self._plan.seed,
            document=self._sweep, first=self._next_sweep, prepare=self._cluster.rig.head.enter_network,
        )  # fmt: skip
        workload.start()
        try:
            for kind, name in faults:
                self._do(kind, name)
            self._cluster.until(lambda: workload.finish(1.0), lambda: "the sweeps that were open have ended")
        except NotHealthyError as error:
            workload.abort()
            return str(error)
        finally:
            self._unanswered += workload.unanswered
            self._next_sweep = workload.next
        found = problems(self._cluster)
        self._say(f"quiet after {len(self._faults)} faults: {len(found)} problems")
        for line in found:
            self._say(f"  {line}")
        self._problems += found
        return ""

    def _do(self, kind: str, name: str) -> None:
        self._cluster.wait_healthy()
        time.sleep(min(5.0, self._random.expovariate(1 / PAUSE_S)))
        self._faults.append(Fault(kind, name, time.time()))  # known also if it never recovers
        at = self._cluster.inflict(kind, name, self._random)
        self._faults[-1] = Fault(kind, name, at)
        recovered_at = self._cluster.wait_healthy()
        self._faults[-1] = replace(self._faults[-1], recovered_at=recovered_at)
        where = name or "the head"
        self._say(f"{len(self._faults):4d} {kind} on {where}: all devices work after {recovered_at - at:.1f} s")
        for line in breaches(self._cluster, artifacts=False):
            self._say(f"  {line}")
            self._problems.append(f"after fault {len(self._faults)}, {kind} on {where}: {line}")

    def _sweep(self, number: int, trials: int, seed: int) -> dict[str, Any]:
        """The sweep with this number: trials of 2 to 5 s, repeated as often as they are lost."""
        return function_sweep(
            CODE,
            FUNCTIONS[number % len(FUNCTIONS)],
            name=f"sweep-{number}",
            seed=seed + number,
            parameters={
                "x": {"min": 0.0, "max": 1.0}, "seconds": {"min": 2.0, "max": 5.0}, "runs": {"value": str(self._runs)},
            },
            run_cap=trials,
            retries={"infrastructure": 100, "node_lost": 100, "user": 100, "max_consecutive_failures": 1000},
        )  # fmt: skip


def by_kind(outcome: NodeOutcome) -> dict[str, dict[str, float]]:
    """How often each fault was done, what it cost, and how long it took until its trials ran again."""
    rows: dict[str, dict[str, float]] = {}
    for kind in DURATIONS:
        positions = {position for position, fault in enumerate(outcome.faults) if fault.kind == kind}
        if not positions:
            continue
        lost = [loss for loss in outcome.losses if loss.fault in positions]
        again = [loss.again_s for loss in lost if loss.again_s is not None]
        recovered = [outcome.faults[p].recovered_at - outcome.faults[p].at for p in positions]
        rows[kind] = {"faults": len(positions), "lost": len(lost), "healthy_max_s": max(recovered)}
        if again:
            rows[kind] |= {"again_median_s": statistics.median(again), "again_max_s": max(again)}
    return rows


def table(outcome: NodeOutcome) -> str:
    """The outcome as a readable table."""
    lines = [
        f"{'':<22} {'':>6} {'attempts':>8} {'until the trial runs again':>26} {'all devices':>12}",
        f"{'fault':<22} {'times':>6} {'lost':>8} {'median':>13} {'max':>12} {'work, max':>12}",
    ]
    for kind, row in by_kind(outcome).items():
        again = [f"{row[name]:.1f} s" if name in row else "-" for name in ("again_median_s", "again_max_s")]
        lines.append(
            f"{kind:<22} {row['faults']:6.0f} {row['lost']:8.0f} {again[0]:>13} {again[1]:>12}"
            f" {row['healthy_max_s']:10.1f} s"
        )
    v = outcome.verdict
    blips = sum(fault.kind in BLIPS for fault in outcome.faults)
    lines += [
        "",
        f"{v.sweeps} sweeps, {v.trials} trials, {v.attempts} attempts in {outcome.took_s:.0f} s;"
        f" {outcome.unanswered} times the client got no answer and asked again",
        f"lost {len(v.lost)}, counted twice {len(v.double)}, unexplained {len(outcome.unexplained)}",
        f"cuts of at most 4 s: {blips}; attempts lost by them: {len(outcome.lost_by_blips)}",
        f"`podium node join` ended and was started again {outcome.restarts} times",
        f"problems after faults and at quiet points: {len(outcome.problems)}",
    ]
    wrong = (*v.lost, *v.double, *outcome.unexplained, *map(str, outcome.lost_by_blips), *outcome.problems)
    lines += [f"  {line}" for line in wrong[:40]]
    lines += [f"no one-way cuts: {outcome.skipped}"] if outcome.skipped else []
    lines += [f"ended early: {outcome.unhealthy}"] if outcome.unhealthy else []
    return "\n".join([*lines, "passed" if outcome.passed else "FAILED"])
