"""Members that span devices: all of their devices are of one machine, different, recorded, and reserved together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from podium.db.stores import devices, member_replicas
from podium.ensemble.values.ensemble_spec import Placement
from podium.ensemble.values.ensemble_states import EnsembleState
from tests.host_rig import HostRig

MakeRig = Callable[..., HostRig]


@pytest.fixture
def make_host(tmp_path: Path) -> Iterator[MakeRig]:
    made: list[HostRig] = []

    def make(*device_ids: str, trials: int = 2) -> HostRig:
        made.append(HostRig(tmp_path, *device_ids, trials=trials))
        return made[-1]

    yield make
    for rig in made:
        rig.close()


def test_each_member_has_devices_of_its_own_while_there_are_enough(make_host: MakeRig) -> None:
    rig = make_host("gpu-0", "gpu-1", "gpu-2", "gpu-3", "cpu-0")
    rig.build(devices=2)
    rig.become_ready()
    assert [replica.device_ids for replica in rig.replicas()] == [("gpu-0", "gpu-1"), ("gpu-2", "gpu-3")]
    configs = [worker.config for worker in rig.workers.placed]
    assert [config.visible for config in configs] == ["0,1", "2,3"]
    assert [config.assignment.files[0].stages for config in configs] == [(0, 1), (0, 1)]
    with rig.service.database.read() as connection:
        held = {row.id: [member.position for member in row.members] for row in devices.all_of(connection)}
    assert held == {"gpu-0": [0], "gpu-1": [0], "gpu-2": [1], "gpu-3": [1], "cpu-0": []}


def test_cpu_slots_are_stages_on_the_cpu(make_host: MakeRig) -> None:
    rig = make_host("cpu-0", "cpu-1", trials=1)
    rig.build(devices=2, quorum=1)
    rig.become_ready()
    (worker,) = rig.workers.placed
    assert worker.config.device_ids == ("cpu-0", "cpu-1")
    assert (worker.config.visible, worker.config.assignment.files[0].stages) == ("", (0, 0))


def test_devices_of_a_member_are_of_one_machine(make_host: MakeRig) -> None:
    rig = make_host("gpu-0", "b:gpu-0", "b:gpu-1", trials=1)
    rig.node("b")
    rig.build(devices=2, quorum=1)
    rig.step()
    assert [replica.device_ids for replica in rig.replicas()] == [("b:gpu-0", "b:gpu-1")]


def test_member_waits_if_no_machine_has_enough_devices(make_host: MakeRig) -> None:
    rig = make_host("cpu-0", "b:cpu-0", trials=1)
    rig.node("b")
    rig.build(devices=2, quorum=1)
    rig.step()
    assert rig.workers.placed == []
    assert "no machine has 2 devices of one kind that are ready" in rig.row().reason
    rig.device("cpu-1")
    rig.become_ready()
    assert [replica.device_ids for replica in rig.replicas()] == [("cpu-0", "cpu-1")]
    assert rig.row().state is EnsembleState.READY


def test_dedicated_member_reserves_all_of_its_devices(make_host: MakeRig) -> None:
    rig = make_host("cpu-0", "cpu-1", "cpu-2", trials=1)
    rig.build(devices=2, quorum=1, placement=Placement.DEDICATED)
    rig.step()
    assert rig.workers.placed == []
    with rig.service.database.read() as connection:
        assert set(member_replicas.dedicated(connection)) == {"cpu-0", "cpu-1"}
    rig.device("cpu-0", "dedicated")
    rig.step()
    assert rig.workers.placed == [], "one of two is not enough"
    assert "waiting for cpu-1 to be free of trials" in rig.row().reason
    rig.device("cpu-1", "dedicated")
    rig.become_ready()
    assert [replica.device_ids for replica in rig.replicas()] == [("cpu-0", "cpu-1")]
    rig.change("stop")
    rig.step()
    rig.step(60.0)
    with rig.service.database.read() as connection:
        assert member_replicas.dedicated(connection) == {}
    assert [replica.device_ids for replica in rig.replicas()] == [()]


def test_restarted_host_finds_the_worker_on_its_devices(make_host: MakeRig) -> None:
    rig = make_host("cpu-0", "cpu-1", "cpu-2")
    rig.build(devices=2)
    rig.become_ready()
    before = [(worker.pid, worker.config.device_ids) for worker in rig.workers.running]
    rig.restart()
    rig.step()
    assert [(worker.pid, worker.config.device_ids) for worker in rig.workers.running] == before
