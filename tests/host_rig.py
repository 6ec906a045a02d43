"""A host on fakes, stepped manually: a real database, a manual clock, and workers that the test controls."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from podium.db.stores import ensemble_reader, ensemble_writer, nodes
from podium.db.stores.ensemble_reader import EnsembleRow
from podium.db.stores.member_replicas import ReplicaRow
from podium.ensemble.host.host_loop import HostLoop
from podium.ensemble.host.worker_launcher_interface import OnChange, WorkerConfig, WorkerStatus
from podium.ensemble.values.ensemble_states import MemberState
from podium.ensemble.worker.control_messages import Phase
from podium.sweep.lifecycle.database_changes import DeviceChanged
from podium.sweep.values.device_state import DeviceState
from podium.sweep.values.errors import EnsembleError
from tests.fakes import FakeClock
from tests.node_reports import node_report
from tests.service_rig import AT, ServiceRig, new_version


class FakeWorkerHandle:
    """Has the status that the test has set; see `podium.ensemble.host.worker_launcher_interface.WorkerHandle`."""

    def __init__(self, config: WorkerConfig, pid: int) -> None:
        self._config = config
        self.pid = pid
        self.status = WorkerStatus(Phase.STARTING)
        self.killed = False

    @property
    def config(self) -> WorkerConfig:
        return self._config

    def poll(self) -> WorkerStatus:
        return self.status

    def kill(self) -> None:
        self.killed = True

    def become_ready(self, **about: Any) -> None:
        self.status = WorkerStatus(Phase.READY, pid=self.pid, **about)


class FakeWorkerLauncher:
    """Remembers every worker that was placed; see `podium.ensemble.host.worker_launcher_interface.WorkerLauncher`."""

    def __init__(self) -> None:
        self.placed: list[FakeWorkerHandle] = []
        self.refuses = ""

    def launch(self, config: WorkerConfig, on_change: OnChange) -> FakeWorkerHandle:
        assert config.assignment.name not in {worker.config.assignment.name for worker in self.placed}, (
            "a name is never used twice"
        )
        if self.refuses:
            raise EnsembleError(self.refuses)
        self.placed.append(FakeWorkerHandle(config, 1000 + len(self.placed)))
        return self.placed[-1]

    def find(self, config: WorkerConfig, on_change: OnChange) -> FakeWorkerHandle | None:
        return next(
            (worker for worker in self.running if worker.config.assignment.name == config.assignment.name), None
        )

    def kill_all_except(self, names: Collection[str]) -> None:
        for worker in self.running:
            worker.killed = worker.config.assignment.name not in names

    @property
    def running(self) -> list[FakeWorkerHandle]:
        """The workers that have not ended."""
        return [w for w in self.placed if not w.killed and w.status.phase is not Phase.EXITED]

    @property
    def names(self) -> list[str]:
        return [worker.config.assignment.name for worker in self.running]

    def __getitem__(self, name: str) -> FakeWorkerHandle:
        return next(worker for worker in self.placed if worker.config.assignment.name == name)


class HostRig:
    """One host after another over the same database and the same workers; `device_ids` are ready."""

    def __init__(self, folder: Path, *device_ids: str, trials: int = 3) -> None:
        self.service = ServiceRig(folder)
        self.clock = FakeClock()
        self.workers = FakeWorkerLauncher()
        for device_id in device_ids:
            self.device(device_id)
        self.sweep_id = self.service.sweep()
        self.trial_ids = [self.service.trial(self.sweep_id, number, 0.9 - number / 10) for number in range(trials)]
        self.restart()

    def restart(self) -> None:
        """Start a new host; the in-memory state of the previous one is lost."""
        self.host = HostLoop(self.service.settings, self.service.database, self.workers, self.clock)

    def device(self, device_id: str, state: str = "ready", reason: str = "") -> None:
        """The record that the scheduler writes about a device."""
        node_name, _, local_id = device_id.rpartition(":")
        kind, position = local_id.split("-")
        visible = "" if kind == "cpu" else position
        changed = DeviceChanged(
            device_id, kind, int(position), node_name or "node", visible, None, 99, DeviceState(state), reason, AT
        )
        self.service.commit(changed)

    def node(self, name: str) -> None:
        """The report of a node that starts members."""
        with self.service.database.write() as connection:
            nodes.record_report(connection, node_report(name), AT)

    def build(self, **options: Any) -> EnsembleRow:
        """Create an ensemble of all trials, before the host has seen it."""
        return self.row(self.service.ensemble(self.sweep_id, self.trial_ids, **options))

    def add_version(self, canary_share: float | None = None, **options: Any) -> int:
        with self.service.database.write() as connection:
            return ensemble_writer.add_version(connection, 1, new_version(self.trial_ids, **options), canary_share, AT)

    def change(self, what: str) -> None:
        """A client command on the ensemble: stop, start, retire, roll_back, promote."""
        with self.service.database.write() as connection:
            getattr(ensemble_writer, what)(connection, 1, AT)

    def step(self, seconds: float = 0.0) -> None:
        """Advance the time and run one step of the host."""
        self.clock.advance(seconds)
        self.host.step()

    def become_ready(self) -> None:
        """Make every starting worker ready, and run a step of the host."""
        self.step()
        for worker in self.workers.running:
            if worker.status.phase in (Phase.STARTING, Phase.WARMING):
                worker.become_ready()
        self.step()

    def die(self, name: str, reason: str = "killed, as played") -> None:
        self.workers[name].status = WorkerStatus(Phase.EXITED, reason)
        self.step()

    def row(self, ensemble_id: int = 1) -> EnsembleRow:
        with self.service.database.read() as connection:
            return ensemble_reader.get(connection, ensemble_id)

    def replicas(self, version: int = 1, ensemble_id: int = 1) -> list[ReplicaRow]:
        """By member, then by number."""
        members = self.row(ensemble_id).versions[version].members
        return [replica for member in members for replica in member.replicas]

    def states(self, version: int = 1, ensemble_id: int = 1) -> list[MemberState]:
        return [replica.state for replica in self.replicas(version, ensemble_id)]

    def close(self) -> None:
        self.service.close()
