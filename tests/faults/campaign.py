"""The campaign: kills components and the whole service at random times, then checks what clients were promised."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from podium.db.integrity.main import audit
from tests.faults.history import History
from tests.faults.journal import Journal, JournalResult, compare, ends_of_killed, noticed_s
from tests.faults.service_under_fire import FaultedService, NotHealthyError
from tests.faults.victims import KINDS, ON_RAY, ON_SLOT
from tests.faults.workload import Workload

# How often each is killed, of 100. A kill of the whole service takes ten seconds, so it is rare.
WEIGHTS = {
    "scheduler": 24, "api": 15, "gateway": 8, "host": 12, "slot": 6, "slot relay": 4, "fork server": 6,
    "raylet": 4, "gcs": 3, "guardian": 3, "serve": 15,
}  # fmt: skip
AIM_S = {kind: 12.0 if kind in (*ON_RAY, "serve") else 5.0 for kind in KINDS} | {"trial": 2.0}
SECOND_KILL_SHARE = 0.2  # share of the kills that are followed by another during recovery
SECOND_KILL_WITHIN_S = 2.0
PAUSE_S = 0.8  # mean time between health and the next kill
SETTLE_S = 180.0  # for the sweeps that are open at the end
RAY_NOTICES_S = 5.0  # Ray's own processes are checked once a second and end in sequence


@dataclass(frozen=True, slots=True)
class Plan:
    """The parameters of a campaign; the same seed gives the same victims and pauses."""

    server_kills: int = 200
    trial_kills: int = 200
    seed: int = 7
    slots: int = 2
    trials: int = 30  # of a sweep
    history: int = 0  # finished trials that exist in advance
    each_kind_once: bool = False


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill."""

    kind: str  # one of `KINDS`, or "trial"
    at: float
    recovery_s: float | None = None  # until it was healthy again; None when another was killed meanwhile
    pid: int | None = None  # of a trial's process

    @property
    def took_effect(self) -> tuple[float, float]:
        """The interval in which running attempts may be lost with it."""
        return self.at, self.at + (RAY_NOTICES_S if self.kind in (*ON_RAY, *ON_SLOT, "serve") else 0.0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the campaign found."""

    plan: Plan
    kills: tuple[Kill, ...]
    verdict: JournalResult
    breaches: tuple[str, ...]  # by `podium doctor`
    orphans: tuple[str, ...]
    unhealthy: str  # why the campaign ended early
    unanswered: int  # requests of the client without a response
    took_s: float

    @property
    def passed(self) -> bool:
        return self.verdict.kept and not (self.breaches or self.orphans or self.unhealthy)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "passed": self.passed, "recovery": recovery_of(self.kills)}


@dataclass(slots=True)
class TargetedKill:
    """Kills the processes of trials in sequence until it is stopped."""

    service: FaultedService
    wanted: int
    pause_s: float
    random: random.Random
    kills: list[Kill] = field(default_factory=list)
    stop_event: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while len(self.kills) < self.wanted and not self.stop_event.wait(self.random.expovariate(1 / self.pause_s)):
            trials = self.service.census().trials()
            if trials:
                with suppress(ProcessLookupError):
                    self._kill(self.random.choice(trials).pid)

    def _kill(self, pid: int) -> None:
        at = time.time()
        self.service.kill("trial", pid)
        self.kills.append(Kill("trial", at, pid=pid))


def run(plan: Plan, folder: Path, say: Callable[[str], None]) -> Outcome:
    """Run the whole campaign; however it ends, no process is left running."""
    with FaultedService(folder / "data", plan.slots) as service:
        service.wait_ready()
        return Campaign(plan, service, say).run()


class Campaign:
    """See the module."""

    def __init__(self, plan: Plan, service: FaultedService, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._service = service
        self._say = say
        self._random = random.Random(plan.seed)
        self._journal = Journal()
        self._kills: list[Kill] = []

    def run(self) -> Outcome:
        """Run the workload with kills, wait until everything has ended, and compare."""
        began, service = time.monotonic(), self._service
        history = History(service, self._plan.history, self._journal)
        workload = Workload(service.url, service.token, self._journal, trials=self._plan.trials, seed=self._plan.seed)
        workload.start()
        unhealthy = self._run_kills()
        if unhealthy:
            workload.abort()
        elif workload.finish(SETTLE_S):
            history.close()
        else:
            unhealthy = f"sweeps are not over {SETTLE_S:g} s after the last kill"
        orphans = [f"{trial.pid} of a trial that has ended" for trial in service.census().trials()]
        service.stop()
        orphans += [f"{process.pid} {' '.join(process.cmdline())[:80]}" for process in service.processes()]
        ended = ends_of_killed(service.data)
        noticed = [replace(k, recovery_s=noticed_s(ended, k.pid, k.at)) if k.pid else k for k in self._kills]
        kills = tuple(sorted(noticed, key=lambda kill: kill.at))
        return Outcome(
            plan=self._plan,
            kills=kills,
            verdict=compare(self._journal, service.data, [kill.took_effect for kill in kills]),
            breaches=tuple(f"{b.invariant} {b.rows}: {b.wrong}" for b in audit(service.data).breaches),
            orphans=tuple(orphans),
            unhealthy=unhealthy,
            unanswered=workload.unanswered,
            took_s=time.monotonic() - began,
        )

    def _run_kills(self) -> str:
        """All kills; why they were ended early, or ""."""
        pause_s = 4.0 * self._plan.server_kills / max(1, self._plan.trial_kills)
        snipe = TargetedKill(self._service, self._plan.trial_kills, pause_s, random.Random(self._plan.seed + 1))
        thread = threading.Thread(target=snipe.run, name="snipe", daemon=True)
        try:
            self._service.wait_all_ready()
            thread.start()
            for kind, second in self._victims():
                self._kill_one(kind, second)
            self._wait_for(snipe, thread)
        except NotHealthyError as error:
            return str(error)
        finally:
            snipe.stop_event.set()
            if thread.is_alive():
                thread.join()
            self._kills += snipe.kills
        return ""

    def _wait_for(self, snipe: TargetedKill, thread: threading.Thread) -> None:
        """Wait for the trials that are still to be killed."""
        snipe.pause_s = 0.2
        end = time.monotonic() + SETTLE_S
        while thread.is_alive() and time.monotonic() < end:
            thread.join(1.0)

    def _victims(self) -> list[tuple[str, str | None]]:
        """What to kill, and what to kill during the recovery."""
        wanted = self._plan.server_kills
        kinds = self._random.choices(list(WEIGHTS), list(WEIGHTS.values()), k=wanted)
        if self._plan.each_kind_once:
            kinds[: len(KINDS)] = self._random.sample(KINDS, len(KINDS))[:wanted]
        victims: list[tuple[str, str | None]] = []
        while kinds:
            first = kinds.pop()
            follows = bool(kinds) and self._random.random() < SECOND_KILL_SHARE
            victims.append((first, kinds.pop() if follows else None))
        return victims

    def _kill_one(self, kind: str, second: str | None) -> None:
        self._service.wait_all_ready()
        time.sleep(min(5.0, self._random.expovariate(1 / PAUSE_S)))
        at, pid = self._kill(kind)
        if second is None:
            recovery_s = self._service.wait_healthy(kind, pid) - at
            self._note(Kill(kind, at, recovery_s))
            return
        self._note(Kill(kind, at))
        time.sleep(self._random.uniform(0, SECOND_KILL_WITHIN_S))
        also_at, also_pid = self._kill(second)
        self._note(Kill(second, also_at))
        self._service.wait_healthy(second, also_pid)

    def _kill(self, kind: str) -> tuple[float, int]:
        """Kill one process of a kind, as soon as one exists. Raises `NotHealthyError`."""
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            pids = self._service.census().of(kind, self._service.data)
            if pids:
                pid = self._random.choice(pids)
                at = time.time()
                with suppress(ProcessLookupError):
                    self._service.kill(kind, pid)
                    return at, pid
            time.sleep(0.02)
        raise NotHealthyError(f"there is no {kind} to kill within 60 s")

    def _note(self, kill: Kill) -> None:
        self._kills.append(kill)
        took = "another follows" if kill.recovery_s is None else f"healthy after {kill.recovery_s:.2f} s"
        self._say(f"{len(self._kills):4d}/{self._plan.server_kills} {kill.kind}: {took}")


def recovery_of(kills: tuple[Kill, ...]) -> dict[str, dict[str, float]]:
    """How often each kind was killed, and how long it took until it was healthy again."""
    found: dict[str, dict[str, float]] = {}
    for kind in (*KINDS, "trial"):
        took = sorted(kill.recovery_s for kill in kills if kill.kind == kind and kill.recovery_s is not None)
        killed = sum(kill.kind == kind for kill in kills)
        if took:
            p95 = took[min(len(took) - 1, int(0.95 * len(took)))]
            measured = {"median_s": statistics.median(took), "p95_s": p95, "max_s": took[-1]}
            found[kind] = {"kills": killed, "measured": len(took), "aim_s": AIM_S[kind], **measured}
        elif killed:
            found[kind] = {"kills": killed, "measured": 0}
    return found


def table(outcome: Outcome) -> str:
    """The outcome as a readable table."""
    lines = [f"{'killed':<12} {'times':>5} {'measured':>8} {'median':>8} {'p95':>8} {'max':>8} {'aim':>6}"]
    for kind, row in recovery_of(outcome.kills).items():
        times = [f"{row[name]:6.2f} s" if name in row else f"{'-':>8}" for name in ("median_s", "p95_s", "max_s")]
        aim = f"{row['aim_s']:4.0f} s" if "aim_s" in row else f"{'-':>6}"
        lines.append(f"{kind:<12} {row['kills']:5.0f} {row['measured']:8.0f} {' '.join(times)} {aim}")
    v = outcome.verdict
    lines += [
        "",
        f"{v.sweeps} sweeps, {v.trials} trials, {v.attempts} attempts in {outcome.took_s:.0f} s;"
        f" {outcome.unanswered} times the client got no answer and asked again",
        f"lost {len(v.lost)}, counted twice {len(v.double)}, orphans {len(outcome.orphans)}",
        f"repeated {v.repeated} attempts, of {v.in_flight} in flight at a kill; {len(v.unexplained)} without one",
        f"doctor: {'sound' if not outcome.breaches else f'{len(outcome.breaches)} breaches'}",
    ]
    wrong = (*v.lost, *v.double, *v.unexplained, *outcome.orphans, *outcome.breaches)
    lines += [f"  {line}" for line in wrong[:40]]
    lines += [f"ended early: {outcome.unhealthy}"] if outcome.unhealthy else []
    return "\n".join([*lines, "passed" if outcome.passed else "FAILED"])
