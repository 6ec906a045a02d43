"""A host on fakes, stepped by hand: a real database, a clock to move, workers that do what the test says."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from podium.db.stores import ensemble_changes, ensembles
from podium.db.stores.ensembles import EnsembleRow
from podium.db.stores.replicas import ReplicaRow
from podium.ensemble.host.host_loop import Host
from podium.ensemble.host.worker_port import OnNews, Phase, Sight, WorkerPlan
from podium.ensemble.values.ensemble_spec import MemberState
from podium.sweep.lifecycle.state_changes import DeviceChanged
from podium.sweep.values.errors import EnsembleError
from tests.fakes import FakeClock
from tests.service_rig import AT, ServiceRig, new_version


class FakeWorker:
    """Is seen as the test has set it; see `podium.ensemble.host.worker_port.Worker`."""

    def __init__(self, plan: WorkerPlan, pid: int) -> None:
        self._plan = plan
        self.pid = pid
        self.sight = Sight(Phase.STARTING)
        self.killed = False

    @property
    def plan(self) -> WorkerPlan:
        return self._plan

    def look(self) -> Sight:
        return self.sight

    def kill(self) -> None:
        self.killed = True

    def come_up(self, **about: Any) -> None:
        self.sight = Sight(Phase.READY, pid=self.pid, **about)


class FakeWorkers:
    """Remembers every worker that was placed; see `podium.ensemble.host.worker_port.Workers`."""

    def __init__(self) -> None:
        self.placed: list[FakeWorker] = []
        self.refuses = ""

    def place(self, plan: WorkerPlan, on_news: OnNews) -> FakeWorker:
        assert plan.name not in {worker.plan.name for worker in self.placed}, "a name is never used twice"
        if self.refuses:
            raise EnsembleError(self.refuses)
        self.placed.append(FakeWorker(plan, 1000 + len(self.placed)))
        return self.placed[-1]

    def find(self, plan: WorkerPlan, on_news: OnNews) -> FakeWorker | None:
        return next((worker for worker in self.living if worker.plan.name == plan.name), None)

    def end_all_but(self, names: Collection[str]) -> None:
        for worker in self.living:
            worker.killed = worker.plan.name not in names

    @property
    def living(self) -> list[FakeWorker]:
        """Those that nobody has ended and that did not end by themselves."""
        return [w for w in self.placed if not w.killed and w.sight.phase is not Phase.GONE]

    @property
    def names(self) -> list[str]:
        return [worker.plan.name for worker in self.living]

    def __getitem__(self, name: str) -> FakeWorker:
        return next(worker for worker in self.placed if worker.plan.name == name)


class HostRig:
    """One host after another over the same database and the same workers; `device_ids` are ready."""

    def __init__(self, folder: Path, *device_ids: str, trials: int = 3) -> None:
        self.service = ServiceRig(folder)
        self.clock = FakeClock()
        self.workers = FakeWorkers()
        for device_id in device_ids:
            self.device(device_id)
        self.sweep_id = self.service.sweep()
        self.trial_ids = [self.service.trial(self.sweep_id, number, 0.9 - number / 10) for number in range(trials)]
        self.restart()

    def restart(self) -> None:
        """Another host comes up; what the one before it had in memory is gone."""
        self.host = Host(self.service.settings, self.service.database, self.workers, self.clock)

    def device(self, device_id: str, state: str = "ready", reason: str = "") -> None:
        """What the scheduler writes of a device."""
        kind, position = device_id.split("-")
        visible = "" if kind == "cpu" else position
        changed = DeviceChanged(device_id, kind, int(position), "node", visible, None, 99, state, reason, AT)
        self.service.commit(changed)

    def build(self, **options: Any) -> EnsembleRow:
        """An ensemble of all trials, before the host has seen it."""
        return self.row(self.service.ensemble(self.sweep_id, self.trial_ids, **options))

    def add_version(self, canary_share: float | None = None, **options: Any) -> int:
        with self.service.database.write() as connection:
            return ensemble_changes.add_version(connection, 1, new_version(self.trial_ids, **options), canary_share, AT)

    def change(self, what: str) -> None:
        """A client has the ensemble: stop, start, retire, roll_back, promote."""
        with self.service.database.write() as connection:
            getattr(ensemble_changes, what)(connection, 1, AT)

    def step(self, seconds: float = 0.0) -> None:
        """Some time passes, and the host looks."""
        self.clock.advance(seconds)
        self.host.step()

    def come_up(self) -> None:
        """Every worker that is starting gets ready, and the host hears of it."""
        self.step()
        for worker in self.workers.living:
            if worker.sight.phase in (Phase.STARTING, Phase.WARMING):
                worker.come_up()
        self.step()

    def die(self, name: str, reason: str = "killed, as played") -> None:
        self.workers[name].sight = Sight(Phase.GONE, reason)
        self.step()

    def row(self, ensemble_id: int = 1) -> EnsembleRow:
        with self.service.database.read() as connection:
            return ensembles.get(connection, ensemble_id)

    def replicas(self, version: int = 1, ensemble_id: int = 1) -> list[ReplicaRow]:
        """By member, then by number."""
        members = self.row(ensemble_id).versions[version].members
        return [replica for member in members for replica in member.replicas]

    def states(self, version: int = 1, ensemble_id: int = 1) -> list[MemberState]:
        return [replica.state for replica in self.replicas(version, ensemble_id)]

    def close(self) -> None:
        self.service.close()
