"""The campaign on PostgreSQL: faults of the database server under load, then what clients were promised is checked."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from podium.db.integrity.main import audit
from podium.sweep.runtime.layout import DataDirectory
from tests.faults.journal import Journal, JournalResult, compare
from tests.faults.postgres_faults import DISK, FaultedServer
from tests.faults.service_under_fire import FaultedService, NotHealthyError
from tests.faults.workload import Workload

SETTLE_S = 180.0
PAUSE_S = 1.5  # mean time between health and the next fault


@dataclass(frozen=True, slots=True)
class PostgresPlan:
    """The parameters of a campaign; the same seed gives the same faults and pauses."""

    faults: int = 40
    seed: int = 7
    slots: int = 2
    trials: int = 30  # of a sweep


@dataclass(frozen=True, slots=True)
class DatabaseFault:
    """One fault of the server."""

    kind: str
    recovery_s: float  # from the end of the fault until the service was ready and trials ran


@dataclass(frozen=True, slots=True)
class PostgresOutcome:
    """What the campaign found."""

    plan: PostgresPlan
    faults: tuple[DatabaseFault, ...]
    verdict: JournalResult
    breaches: tuple[str, ...]  # by `podium doctor`, after each fault and at the end
    unhealthy: str  # why the campaign ended early
    unanswered: int
    left_out: str  # what could not be tried, and why
    took_s: float

    @property
    def passed(self) -> bool:
        return self.verdict.kept and not (self.breaches or self.unhealthy)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "passed": self.passed, "recovery": _recovery(self.faults)}


def run(plan: PostgresPlan, folder: Path, say: Callable[[str], None]) -> PostgresOutcome:
    """Run the whole campaign; however it ends, no process is left running."""
    server = FaultedServer(plan.seed)
    try:
        url_file = folder / "database.url"
        url_file.touch(mode=0o600)
        url_file.write_text(server.url)
        with FaultedService(folder / "data", plan.slots, ["--database-url-file", str(url_file)]) as service:
            service.wait_ready()
            return _run(plan, service, server, say)
    finally:
        server.close()


def _run(
    plan: PostgresPlan, service: FaultedService, server: FaultedServer, say: Callable[[str], None]
) -> PostgresOutcome:
    began, journal, breaches = time.monotonic(), Journal(), list[str]()
    workload = Workload(service.url, service.token, journal, trials=plan.trials, seed=plan.seed)
    workload.start()
    faults, unhealthy = list[DatabaseFault](), ""
    chosen = random.Random(plan.seed)
    try:
        for kind in _kinds(plan, list(server.faults), chosen):
            service.wait_all_ready()
            time.sleep(min(5.0, chosen.expovariate(1 / PAUSE_S)))
            server.faults[kind]()
            ended_s = time.monotonic()
            service.wait_all_ready()
            faults.append(DatabaseFault(kind, time.monotonic() - ended_s))
            breaches += _breaches(service.data, artifacts=False)
            say(f"{len(faults):4d}/{plan.faults} {kind}: healthy after {faults[-1].recovery_s:.2f} s")
    except NotHealthyError as error:
        unhealthy = str(error)
        workload.abort()
    if not unhealthy and not workload.finish(SETTLE_S):
        unhealthy = f"sweeps are not over {SETTLE_S:g} s after the last fault"
    service.stop()
    breaches += _breaches(service.data)
    return PostgresOutcome(
        plan=plan,
        faults=tuple(faults),
        verdict=compare(journal, service.data, []),
        breaches=tuple(breaches),
        unhealthy=unhealthy,
        unanswered=workload.unanswered,
        left_out="" if DISK in server.faults else f"{DISK}: only root may mount a file system",
        took_s=time.monotonic() - began,
    )


def _kinds(plan: PostgresPlan, kinds: list[str], chosen: random.Random) -> list[str]:
    """Each kind equally often, in random order."""
    wanted = [kinds[number % len(kinds)] for number in range(plan.faults)]
    chosen.shuffle(wanted)
    return wanted


def _breaches(data: DataDirectory, *, artifacts: bool = True) -> list[str]:
    return [f"{b.invariant} {b.rows}: {b.wrong}" for b in audit(data, artifacts=artifacts).breaches]


def _recovery(faults: tuple[DatabaseFault, ...]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for kind in sorted({fault.kind for fault in faults}):
        took = [fault.recovery_s for fault in faults if fault.kind == kind]
        found[kind] = {"faults": len(took), "median_s": statistics.median(took), "max_s": max(took)}
    return found


def table(outcome: PostgresOutcome) -> str:
    """The outcome as a readable table."""
    lines = [f"{'fault of the server':<22} {'times':>5} {'median':>8} {'max':>8}"]
    for kind, row in _recovery(outcome.faults).items():
        lines.append(f"{kind:<22} {row['faults']:5.0f} {row['median_s']:6.2f} s {row['max_s']:6.2f} s")
    v = outcome.verdict
    lines += [
        "",
        f"{v.sweeps} sweeps, {v.trials} trials, {v.attempts} attempts in {outcome.took_s:.0f} s;"
        f" {outcome.unanswered} times the client got no answer and asked again",
        f"lost {len(v.lost)}, counted twice {len(v.double)}, repeated {v.repeated} attempts",
        f"doctor: {'sound' if not outcome.breaches else f'{len(outcome.breaches)} breaches'}",
    ]
    wrong = (*v.lost, *v.double, *v.unexplained, *outcome.breaches)
    lines += [f"  {line}" for line in wrong[:40]]
    lines += [f"left out: {outcome.left_out}"] if outcome.left_out else []
    lines += [f"ended early: {outcome.unhealthy}"] if outcome.unhealthy else []
    return "\n".join([*lines, "passed" if outcome.passed else "FAILED"])
