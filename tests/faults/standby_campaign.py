"""The campaign of a standby: the leader is killed, frozen or cut off, again and again, while sweeps run."""

from __future__ import annotations

import random
import signal
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.cluster.machines import Network, unavailable_reason
from tests.cluster.standby_rig import StandbyPair
from tests.running_service import function_sweep, wait_for

KINDS = ("killed", "frozen", "cut")
NAMES = ("a", "b")
LIMIT_S = 15.0
WAIT_S = 180.0
SETTLE_S = 300.0
PAUSE_S = 2.0
PROGRAM = """
import time

def train(trial):
    for step in range(4):
        time.sleep(0.4)
        trial.report(1.0 / (step + 1), step)
    return 1.0
"""


@dataclass(frozen=True, slots=True)
class StandbyPlan:
    """The parameters of a campaign; the same seed gives the same kinds and pauses."""

    takeovers: int = 100
    seed: int = 7
    trials: int = 16  # of a sweep
    kinds: tuple[str, ...] = ()  # these, in this order; (): random ones


@dataclass(frozen=True, slots=True)
class Takeover:
    """One takeover. Times since the leader was killed, frozen or cut off; `works_s`: the next scheduler writes."""

    kind: str
    leads_s: float
    works_s: float


@dataclass(frozen=True, slots=True)
class StandbyOutcome:
    """What the campaign found."""

    plan: StandbyPlan
    takeovers: tuple[Takeover, ...]
    sweeps: int
    trials: int
    lost: int
    double: int
    problems: tuple[str, ...]
    took_s: float

    @property
    def late(self) -> int:
        """Takeovers that took longer than the limit."""
        return sum(each.works_s > LIMIT_S for each in self.takeovers)

    @property
    def passed(self) -> bool:
        return not (self.lost or self.double or self.problems or self.late)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "late": self.late, "passed": self.passed}


def run(plan: StandbyPlan, folder: Path, say: Callable[[str], None]) -> StandbyOutcome:
    """Run the whole campaign; however it ends, no process is left running. Needs root: see `unavailable_reason`."""
    if reason := unavailable_reason():
        raise RuntimeError(reason)
    code = folder / "code"
    code.mkdir()
    (code / "program.py").write_text(PROGRAM)
    with Network(folder / "m") as network, StandbyPair(network, folder) as pair:
        return StandbyCampaign(plan, pair, code, say).run()


class StandbyCampaign:
    """See the module."""

    def __init__(self, plan: StandbyPlan, pair: StandbyPair, code: Path, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._pair = pair
        self._code = code
        self._say = say
        self._random = random.Random(plan.seed)
        self._sweeps: list[int] = []
        self._takeovers: list[Takeover] = []
        self._problems: list[str] = []

    def run(self) -> StandbyOutcome:
        """Take over as often as planned, then let the sweeps end and check everything."""
        began = time.monotonic()
        for name in NAMES:
            self._pair.add(name)
            self._pair.wait_until_ready(name)
        kinds = self._plan.kinds or tuple(self._random.choices(KINDS, k=self._plan.takeovers))
        try:
            for kind in kinds:
                self._take_over(kind)
            self._settle()
        except AssertionError as error:
            self._problems.append(str(error))
        lost = double = 0
        for sweep_id in self._sweeps:
            found = self._pair.count_problems(sweep_id, self._plan.trials)
            lost, double = lost + found["lost"], double + found["counted twice"]
        return StandbyOutcome(
            plan=self._plan,
            takeovers=tuple(self._takeovers),
            sweeps=len(self._sweeps),
            trials=len(self._sweeps) * self._plan.trials,
            lost=lost,
            double=double,
            problems=tuple(self._problems),
            took_s=time.monotonic() - began,
        )

    def _take_over(self, kind: str) -> None:
        leader = self._pair.wait_for_leader(*NAMES, timeout_s=WAIT_S)
        (successor,) = set(NAMES) - {leader}
        wait_for("the other service stands by", lambda: self._stands_by(successor), WAIT_S)
        self._keep_busy(successor)
        time.sleep(min(8.0, self._random.expovariate(1 / PAUSE_S)))
        started = time.monotonic()
        self._inflict(kind, leader)
        self._pair.wait_for_leader(successor, timeout_s=WAIT_S)
        leads_s = time.monotonic() - started
        wait_for("its scheduler works", lambda: self._scheduler() == successor, WAIT_S)
        self._takeovers.append(Takeover(kind, leads_s, time.monotonic() - started))
        self._recover(kind, leader)
        found = self._takeovers[-1]
        self._say(
            f"{len(self._takeovers):4d} {leader} {kind}: {successor} leads after {leads_s:.1f} s, its scheduler works "
            f"after {found.works_s:.1f} s"
        )

    def _stands_by(self, name: str) -> bool:
        return bool(self._pair.rows("SELECT 1 FROM standbys WHERE host = %s", name))

    def _scheduler(self) -> str:
        """The machine of the scheduler that has the lease."""
        ((holder,),) = self._pair.rows("SELECT holder FROM scheduler_lease")
        return str(holder).rpartition(" on ")[2]

    def _keep_busy(self, name: str) -> None:
        """Submit a sweep through the api of the standby, unless one has work left for the next takeover."""
        if self._sweeps and self._pair.finished(self._sweeps[-1]) < self._plan.trials // 2:
            return
        document = function_sweep(
            self._code, "program:train", name=f"sweep-{len(self._sweeps)}", run_cap=self._plan.trials,
            retries={"infrastructure": 100, "node_lost": 100},
        )  # fmt: skip
        self._sweeps.append(self._pair.services[name].submit(document, self._pair.folder))

    def _inflict(self, kind: str, name: str) -> None:
        if kind == "killed":
            self._pair.services[name].kill()
        elif kind == "frozen":
            self._pair.stop_processes(name)
        else:
            self._pair.services[name].machine.unplug()

    def _recover(self, kind: str, name: str) -> None:
        if kind == "killed":
            self._pair.add(name)
            self._pair.wait_until_ready(name, WAIT_S)
        elif kind == "frozen":
            self._pair.stop_processes(name, signal.SIGCONT)
        else:
            self._pair.services[name].machine.plug()

    def _settle(self) -> None:
        for sweep_id in self._sweeps:
            wait_for(f"sweep {sweep_id} has finished", lambda: self._pair.state(sweep_id) == "finished", SETTLE_S)  # noqa: B023
        self._pair.audit()


def table(outcome: StandbyOutcome) -> str:
    """The outcome for people."""
    lines = ["kind    takeovers  leads: median, most  scheduler works: median, most"]
    for kind in KINDS:
        of_kind = [each for each in outcome.takeovers if each.kind == kind]
        if of_kind:
            leads, works = [each.leads_s for each in of_kind], [each.works_s for each in of_kind]
            lines.append(
                f"{kind:8s}{len(of_kind):9d}  {statistics.median(leads):8.1f} s {max(leads):6.1f} s"
                f"  {statistics.median(works):15.1f} s {max(works):6.1f} s"
            )
    lines += [f"problem: {each}" for each in outcome.problems]
    lines.append(
        f"{len(outcome.takeovers)} takeovers, {outcome.late} later than {LIMIT_S:g} s; {outcome.trials} trials of "
        f"{outcome.sweeps} sweeps: {outcome.lost} lost, {outcome.double} counted twice; {outcome.took_s:.0f} s; "
        f"{'passed' if outcome.passed else 'failed'}"
    )
    return "\n".join(lines)
