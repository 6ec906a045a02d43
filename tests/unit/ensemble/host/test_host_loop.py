"""The host on a real database and fake workers: placement, health checks, restarts, versions, takeover, shutdown."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from podium.db.schema.tables import ensemble_versions
from podium.db.stores import event_outbox
from podium.db.stores import member_replicas as replica_store
from podium.ensemble.host import live_replica
from podium.ensemble.host.live_replica import MAX_RESTART_DELAY_S, restart_delay_s
from podium.ensemble.host.worker_launcher_interface import WorkerStatus
from podium.ensemble.values.ensemble_spec import Mode, Placement
from podium.ensemble.values.ensemble_states import EnsembleState, MemberState
from podium.ensemble.worker.control_messages import Phase
from tests.host_rig import HostRig

MakeRig = Callable[..., HostRig]
STARTING, WARMING, READY = MemberState.STARTING, MemberState.WARMING, MemberState.READY
RESTARTING, FAILED, STOPPED = MemberState.RESTARTING, MemberState.FAILED, MemberState.STOPPED


@pytest.fixture
def make_host(tmp_path: Path) -> Iterator[MakeRig]:
    """Creates a host with fakes: `make_host("cpu-0", trials=2)`."""
    made: list[HostRig] = []

    def make(*device_ids: str, trials: int = 3) -> HostRig:
        made.append(HostRig(tmp_path, *device_ids, trials=trials))
        return made[-1]

    yield make
    for rig in made:
        rig.close()


@pytest.fixture
def rig(make_host: MakeRig) -> HostRig:
    """Two devices, and an ensemble of three members that is ready."""
    rig = make_host("cpu-0", "cpu-1")
    rig.build()
    rig.become_ready()
    return rig


# Starting members.


def test_ensemble_is_ready_when_its_last_member_is(make_host: MakeRig) -> None:
    rig = make_host("cpu-0", "cpu-1")
    assert rig.build().state is EnsembleState.BUILDING
    rig.step()
    assert rig.states() == [STARTING] * 3
    assert rig.workers.names == ["worker-1-1-0-0-1", "worker-1-1-1-0-1", "worker-1-1-2-0-1"]
    rig.workers.placed[0].status = WorkerStatus(Phase.WARMING)
    rig.step()
    assert rig.states() == [WARMING, STARTING, STARTING]
    assert rig.row().state is EnsembleState.WARMING
    for number, worker in enumerate(rig.workers.placed):
        assert rig.row().state is EnsembleState.WARMING, "not ready until the last member is"
        worker.become_ready()
        rig.step()
        assert rig.states()[number] is READY
    assert (rig.row().state, rig.row().reason) == (EnsembleState.READY, "")


def test_stored_replica_matches_the_configuration_of_its_worker(rig: HostRig) -> None:
    for member, worker in zip(rig.row().active.members, rig.workers.placed, strict=True):
        (replica,) = member.replicas
        assert (replica.device_id,) == worker.config.device_ids
        assert (replica.pid, replica.epoch, replica.node) == (worker.pid, 1, "node")
        assert replica.endpoint == worker.config.assignment.endpoint
        assert worker.config.assignment.endpoint == f"unix:{rig.service.settings.runtime.replica_socket(replica.id, 1)}"
        assert worker.config.assignment.files[0].sha256 == member.files.model_sha256


def test_members_share_devices_with_a_reason_when_devices_are_fewer(rig: HostRig) -> None:
    assert [replica.device_id for replica in rig.replicas()] == ["cpu-0", "cpu-1", "cpu-0"]
    assert [replica.reason for replica in rig.replicas()] == [
        "",
        "",
        "shares cpu-0 with 1 other member of this ensemble",
    ]


def test_members_are_not_placed_on_nodes_without_an_agent(make_host: MakeRig) -> None:
    rig = make_host("b:gpu-0", "b:gpu-1", "cpu-0", trials=2)
    rig.build()
    rig.become_ready()
    assert [replica.device_id for replica in rig.replicas()] == ["cpu-0", "cpu-0"]
    rig.device("cpu-0", "lost", "its slot is gone")
    for name in rig.workers.names:
        rig.die(name)
    rig.step(60.0)
    assert rig.workers.running == []
    assert "no device is ready" in rig.row().reason


def test_members_are_spread_over_nodes(make_host: MakeRig) -> None:
    rig = make_host("cpu-0", "cpu-1", "b:cpu-0", "b:cpu-1", "c:cpu-0", trials=4)
    rig.node("b")
    rig.node("c")
    rig.build()
    rig.become_ready()
    assert [replica.device_id for replica in rig.replicas()] == ["cpu-0", "b:cpu-0", "c:cpu-0", "cpu-1"]
    far = rig.workers.placed[1].config
    assert (far.node_name, far.node) == ("b", "b")
    assert far.assignment.files[0].path.startswith("trials/"), "the key of a file in the store of the head"


def test_worker_on_a_node_reports_its_endpoint(make_host: MakeRig) -> None:
    rig = make_host("b:cpu-0", trials=1)
    rig.node("b")
    rig.build(quorum=1)
    rig.step()
    assert [replica.endpoint for replica in rig.replicas()] == [None]
    rig.workers.placed[0].become_ready(endpoint="tls:10.0.0.6:8401#00")
    rig.step()
    assert [replica.endpoint for replica in rig.replicas()] == ["tls:10.0.0.6:8401#00"]


def test_worker_on_a_node_has_time_to_fetch_its_files(make_host: MakeRig) -> None:
    rig = make_host("b:cpu-0", trials=1)
    rig.node("b")
    rig.build(quorum=1)
    rig.step()
    slow = rig.workers.placed[0]
    rig.step(live_replica.START_TIMEOUT_S + 1)
    assert not slow.killed
    rig.step(live_replica.NODE_START_TIMEOUT_S)
    assert slow.killed


def test_in_graph_members_stay_on_this_machine(make_host: MakeRig) -> None:
    rig = make_host("b:gpu-0", "b:gpu-1", "b:gpu-2", "cpu-0")
    rig.node("b")
    rig.build(mode=Mode.IN_GRAPH, quorum=3)
    rig.become_ready()
    assert [replica.device_id for replica in rig.replicas()] == ["cpu-0"] * 3


def test_replicas_of_a_member_are_on_different_devices(make_host: MakeRig) -> None:
    rig = make_host("cpu-0", "cpu-1", trials=2)
    rig.build(replicas=2)
    rig.become_ready()
    for member in rig.row().active.members:
        assert {replica.device_id for replica in member.replicas} == {"cpu-0", "cpu-1"}
    assert len(rig.workers.running) == 4
    rig.die("worker-1-1-0-0-1")
    assert rig.states() == [RESTARTING, READY, READY, READY]
    assert rig.row().state is EnsembleState.READY, "the member's other replica answers"
    assert rig.row().reason == "trial 0 of sweep 1: replica 0: killed, as played"


def test_in_graph_members_share_one_worker_and_its_status(make_host: MakeRig) -> None:
    rig = make_host("gpu-0", "gpu-1")
    rig.build(mode=Mode.IN_GRAPH, quorum=3, replicas=2)
    rig.step()
    assert rig.workers.names == ["worker-1-1-0-0-1", "worker-1-1-0-1-1"]
    plan = rig.workers.placed[0].config
    assert (plan.assignment.in_graph, plan.visible) == (True, "0,1")
    assert [file.device_index for file in plan.assignment.files] == [0, 1, 0]
    for worker in rig.workers.placed:
        worker.become_ready(plan={"groups": [3]})
    rig.step()
    assert rig.row().state is EnsembleState.READY
    assert rig.row().active.plan == {"groups": [3]}
    rig.workers.placed[0].become_ready(plan={"groups": [4]})  # it has prepared its plans while it served
    rig.step()
    rig.step()
    assert rig.row().active.plan == {"groups": [4]}, "that of the other worker is older"
    assert rig.row().state is EnsembleState.READY
    for number, worker in enumerate(rig.workers.placed):
        mine = [member.replicas[number] for member in rig.row().active.members]
        assert {(r.endpoint, r.pid, r.epoch) for r in mine} == {(worker.config.assignment.endpoint, worker.pid, 1)}
    for name in ("worker-1-1-0-0-1", "worker-1-1-0-1-1"):
        rig.die(name)
    assert rig.states() == [RESTARTING] * 6
    assert rig.row().state is EnsembleState.BELOW_QUORUM


def test_members_wait_with_a_reason_when_no_device_is_ready(make_host: MakeRig) -> None:
    rig = make_host()
    rig.build()
    rig.step()
    assert rig.row().reason == "; ".join(f"trial {n} of sweep 1: no device is ready" for n in range(3))
    rig.device("cpu-0", "lost", "its slot is gone")
    rig.step(1)
    assert rig.workers.placed == []
    rig.device("cpu-0")
    rig.become_ready()
    assert (rig.row().state, rig.row().reason) == (EnsembleState.READY, "")


# Death and restart.


def test_dead_member_is_replaced_in_a_new_epoch(rig: HostRig) -> None:
    rig.die("worker-1-1-1-0-1")
    assert rig.states() == [READY, RESTARTING, READY]
    dead = rig.replicas()[1]
    assert (dead.endpoint, dead.pid, dead.restarts) == (None, None, 1)
    with rig.service.database.read() as connection:
        event = next(each for each in event_outbox.of_ensemble(connection, 1, 9) if "member" in each["kind"])
    assert event["kind"] == "ensemble.member_restarting"
    assert event["payload"] == {"version": 1, "members": [1], "reason": "killed, as played"}
    assert (rig.row().state, rig.row().reason) == (EnsembleState.DEGRADED, "trial 1 of sweep 1: killed, as played")
    rig.step(0.2)
    assert rig.states() == [READY, STARTING, READY]
    assert rig.workers.names == ["worker-1-1-0-0-1", "worker-1-1-2-0-1", "worker-1-1-1-0-2"]
    assert rig.row().state is EnsembleState.DEGRADED, "an ensemble that was ready does not warm again"
    assert rig.row().reason == "trial 1 of sweep 1: killed, as played", (
        "the reason stays while the ensemble is degraded"
    )
    rig.become_ready()
    assert (rig.row().state, rig.row().reason) == (EnsembleState.READY, "")
    assert rig.replicas()[1].epoch == 2


def test_ensemble_is_below_quorum_until_members_recover(rig: HostRig) -> None:
    rig.die("worker-1-1-0-0-1")
    rig.die("worker-1-1-1-0-1")
    assert rig.row().state is EnsembleState.BELOW_QUORUM
    assert rig.row().reason.startswith("trial 0 of sweep 1: killed, as played")
    rig.step(1)
    rig.become_ready()
    assert rig.row().state is EnsembleState.READY


def test_restart_delay_grows_for_a_member_that_keeps_dying(make_host: MakeRig) -> None:
    rig = make_host("cpu-0", trials=1)
    rig.build()
    starts: list[float] = []
    while len(starts) < 12:
        rig.step(0.1 if len(starts) < 5 else 1.0)
        if rig.workers.running:
            starts.append(rig.clock.monotonic_s())
            rig.die(rig.workers.names[0])
    waits = [later - earlier for earlier, later in itertools.pairwise(starts)]
    assert waits[0] < 0.5
    assert MAX_RESTART_DELAY_S / 2 <= waits[-1] <= MAX_RESTART_DELAY_S + 1
    assert rig.replicas()[0].restarts == 12
    assert rig.replicas()[0].epoch == 12


def test_restart_delay_is_reset_after_a_stable_period(rig: HostRig) -> None:
    for epoch in range(1, 9):
        rig.die(f"worker-1-1-0-0-{epoch}")
        rig.step(MAX_RESTART_DELAY_S)
        rig.become_ready()
    rig.step(live_replica.STABLE_S)
    rig.die("worker-1-1-0-0-9")
    rig.step(0.2)
    assert "worker-1-1-0-0-10" in rig.workers.names


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_restart_delay_is_bounded_and_starts_short(deaths: int, jitter: float) -> None:
    assert 0 < restart_delay_s(deaths, jitter) <= MAX_RESTART_DELAY_S
    assert restart_delay_s(deaths, jitter) <= restart_delay_s(deaths + 2, jitter)
    assert restart_delay_s(1, jitter) <= 0.2


def test_hung_worker_is_killed_and_replaced(rig: HostRig) -> None:
    hung = rig.workers["worker-1-1-2-0-1"]
    hung.become_ready(unresponsive_s=live_replica.HEALTH_TIMEOUT_S)
    rig.step()
    assert rig.states() == [READY] * 3
    hung.become_ready(unresponsive_s=live_replica.HEALTH_TIMEOUT_S + 1)
    rig.step()
    assert hung.killed
    assert rig.replicas()[2].reason == "no answer for 30 s"
    rig.step(1)
    rig.become_ready()
    assert rig.states() == [READY] * 3


@pytest.mark.parametrize(
    ("phase", "limit_s", "says"),
    [
        (Phase.STARTING, live_replica.START_TIMEOUT_S, "no process"),
        (Phase.WARMING, live_replica.LOAD_TIMEOUT_S, "not loaded"),
    ],
)
def test_worker_that_does_not_start_in_time_is_replaced(rig: HostRig, phase: Phase, limit_s: float, says: str) -> None:
    rig.die("worker-1-1-0-0-1")
    rig.step(1)
    slow = rig.workers["worker-1-1-0-0-2"]
    slow.status = WorkerStatus(phase)
    rig.step()
    rig.step(limit_s - 1)
    assert not slow.killed
    rig.step(2)
    assert slow.killed
    assert rig.states()[0] is RESTARTING
    assert says in rig.replicas()[0].reason


def test_placement_failure_is_retried(make_host: MakeRig) -> None:
    rig = make_host("cpu-0", trials=1)
    rig.build()
    rig.workers.refuses = "worker-1-1-0-0-1 cannot be placed: as played"
    rig.step()
    assert rig.states() == [RESTARTING]
    assert rig.row().reason == "trial 0 of sweep 1: worker-1-1-0-0-1 cannot be placed: as played"
    rig.workers.refuses = ""
    rig.step(1)
    rig.become_ready()
    assert rig.row().state is EnsembleState.READY


def test_member_that_cannot_be_loaded_is_named_and_not_retried(make_host: MakeRig) -> None:
    rig = make_host("cpu-0")
    rig.build()
    rig.step()
    rig.workers.placed[1].status = WorkerStatus(Phase.LOAD_FAILED, "model.safetensors is damaged")
    rig.become_ready()
    rig.step(1000)
    assert rig.states() == [READY, FAILED, READY]
    assert (rig.row().state, rig.row().reason) == (
        EnsembleState.DEGRADED,
        "trial 1 of sweep 1: model.safetensors is damaged",
    )
    assert rig.workers.placed[1].killed
    assert len(rig.workers.placed) == 3
    rig.restart()
    rig.step()
    assert len(rig.workers.placed) == 3, "the next host does not retry it either"


def test_one_damaged_member_fails_all_members_in_graph(make_host: MakeRig) -> None:
    rig = make_host("cpu-0")
    rig.build(mode=Mode.IN_GRAPH, quorum=3)
    rig.step()
    rig.workers.placed[0].status = WorkerStatus(Phase.LOAD_FAILED, "member 1: model.safetensors is damaged")
    rig.step()
    assert rig.states() == [FAILED] * 3
    assert rig.row().state is EnsembleState.BELOW_QUORUM
    assert rig.row().reason == "member 1: model.safetensors is damaged"


# A new host.


def test_next_host_adopts_living_workers_and_replaces_dead_ones(rig: HostRig) -> None:
    rig.workers["worker-1-1-1-0-1"].killed = True
    rig.restart()
    rig.step()
    assert rig.states() == [READY, STARTING, READY]
    assert rig.row().state is EnsembleState.DEGRADED
    rig.become_ready()
    assert rig.workers.names == ["worker-1-1-0-0-1", "worker-1-1-2-0-1", "worker-1-1-1-0-2"]
    assert [replica.pid for replica in rig.replicas()] == [1000, 1003, 1002]


def test_next_host_adopts_workers_that_are_still_starting(make_host: MakeRig) -> None:
    rig = make_host("cpu-0")
    rig.build()
    rig.step()
    rig.restart()
    rig.become_ready()
    assert rig.states() == [READY] * 3
    assert len(rig.workers.placed) == 3


def test_ensemble_warms_again_after_a_restart_of_the_service(rig: HostRig) -> None:
    for worker in rig.workers.placed:
        worker.killed = True
    rig.restart()
    rig.step()
    assert (rig.row().state, rig.row().reason) == (EnsembleState.WARMING, "")
    rig.become_ready()
    assert rig.row().state is EnsembleState.READY
    assert {replica.epoch for replica in rig.replicas()} == {2}


def test_next_host_ends_an_ensemble_that_was_stopped_meanwhile(rig: HostRig) -> None:
    rig.change("stop")
    rig.restart()
    rig.step()
    assert rig.workers.running == []
    assert rig.states() == [STOPPED] * 3
    assert {replica.endpoint for replica in rig.replicas()} == {None}


def test_next_host_kills_a_worker_that_is_being_restarted(rig: HostRig) -> None:
    """The host died after it wrote `restarting` and before it killed the worker."""
    with rig.service.database.write() as connection:
        replica_store.change(connection, rig.replicas()[1].id, RESTARTING, "no answer for 30 s")
    old = rig.workers["worker-1-1-1-0-1"]
    rig.restart()
    rig.step()
    assert old.killed
    assert rig.workers.names == ["worker-1-1-0-0-1", "worker-1-1-2-0-1", "worker-1-1-1-0-2"]


# Unexpected errors.


def test_error_in_one_replica_does_not_affect_the_others(
    make_host: MakeRig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = make_host("cpu-0")
    rig.build()
    rig.step()
    rig.workers.placed[2].become_ready()
    with monkeypatch.context() as patch:
        patch.setattr(rig.workers.placed[0], "poll", lambda: [][0])
        rig.step()
    assert rig.states() == [STARTING, STARTING, READY]
    assert "cannot reconcile worker-1-1-0-0-1" in caplog.text
    assert "IndexError" in caplog.text
    rig.become_ready()
    assert rig.states() == [READY] * 3


def test_unreadable_ensemble_does_not_affect_the_others(rig: HostRig, caplog: pytest.LogCaptureFixture) -> None:
    other = rig.service.ensemble(rig.sweep_id, rig.trial_ids)
    with rig.service.database.write() as connection:
        damage = update(ensemble_versions).where(ensemble_versions.c.ensemble_id == 1)
        connection.execute(damage.values(combination="not JSON"))
    rig.become_ready()
    assert rig.row(other).state is EnsembleState.READY
    assert "cannot read ensemble 1" in caplog.text


def test_loop_continues_after_an_unexpected_error(
    rig: HostRig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def step() -> None:
        if caplog.text:
            rig.host.stop()
        rig.host.wake()
        raise ZeroDivisionError

    monkeypatch.setattr(rig.host, "step", step)
    rig.host.run()
    assert caplog.text.count("a step failed; retrying") == 2


# Versions.


def test_ready_version_takes_over_and_the_old_one_drains(rig: HostRig) -> None:
    assert rig.add_version(deadline_ms=100.0) == 2
    rig.step()
    assert (rig.row().version, rig.row().target) == (1, 2)
    assert len(rig.workers.running) == 6
    rig.become_ready()
    assert (rig.row().version, rig.row().target, rig.row().state) == (2, None, EnsembleState.READY)
    rig.step()
    rig.step(live_replica.MIN_DRAIN_S - 0.1)
    assert rig.states(1) == [READY] * 3, "earlier requests may still be in flight"
    rig.step(0.2)
    assert rig.states(1) == [STOPPED] * 3
    assert rig.workers.names == ["worker-1-2-0-0-1", "worker-1-2-1-0-1", "worker-1-2-2-0-1"]


@pytest.mark.parametrize(("deadline_ms", "drain_s"), [(10_000.0, 10.0), (600_000.0, 60.0)])
def test_drain_lasts_for_the_deadline_of_the_old_version_up_to_one_minute(
    make_host: MakeRig, deadline_ms: float, drain_s: float
) -> None:
    rig = make_host("cpu-0")
    rig.build(deadline_ms=deadline_ms)
    rig.become_ready()
    rig.add_version(deadline_ms=100.0)
    rig.become_ready()
    rig.step()
    rig.step(drain_s - 0.1)
    assert rig.states(1) == [READY] * 3
    rig.step(0.2)
    assert rig.states(1) == [STOPPED] * 3


def test_version_takes_over_with_a_quorum_when_the_rest_failed(rig: HostRig) -> None:
    rig.add_version()
    rig.step()
    rig.workers["worker-1-2-0-0-1"].status = WorkerStatus(Phase.LOAD_FAILED, "damaged")
    rig.workers["worker-1-2-1-0-1"].become_ready()
    rig.step()
    assert rig.row().version == 1, "one member is still starting"
    rig.become_ready()
    assert rig.row().version == 2
    assert (rig.row().state, rig.row().reason) == (EnsembleState.DEGRADED, "trial 0 of sweep 1: damaged")


def test_version_that_cannot_take_over_leaves_the_active_one_unchanged(rig: HostRig) -> None:
    rig.add_version()
    rig.step()
    for position in (0, 1):
        rig.workers[f"worker-1-2-{position}-0-1"].status = WorkerStatus(Phase.LOAD_FAILED, "damaged")
    rig.become_ready()
    rig.step(1000)
    assert (rig.row().version, rig.row().target, rig.row().state) == (1, 2, EnsembleState.READY)
    assert rig.row().reason == "version 2 cannot take over: trial 0 of sweep 1: damaged; trial 1 of sweep 1: damaged"
    rig.change("roll_back")
    rig.step()
    rig.step(live_replica.MIN_DRAIN_S)
    assert (rig.row().target, rig.row().reason) == (None, "")
    assert rig.states(2) == [STOPPED] * 3
    assert len(rig.workers.running) == 3


def test_crash_looping_version_never_takes_over(rig: HostRig) -> None:
    rig.add_version()
    rig.step()
    rig.workers["worker-1-2-1-0-1"].become_ready()
    rig.workers["worker-1-2-2-0-1"].become_ready()
    for epoch in range(1, 5):
        rig.die(f"worker-1-2-0-0-{epoch}")
        assert rig.row().version == 1
        rig.step(10)
    assert rig.row().state is EnsembleState.READY


def test_rollback_restarts_the_members_of_a_drained_version(rig: HostRig) -> None:
    rig.add_version()
    rig.become_ready()
    rig.step()
    rig.step(live_replica.MIN_DRAIN_S)
    rig.change("roll_back")
    assert rig.row().target == 1
    rig.become_ready()
    assert (rig.row().version, rig.row().target) == (1, None)
    assert {replica.epoch for replica in rig.replicas(1)} == {2}
    rig.step()
    rig.step(live_replica.MIN_DRAIN_S)
    assert rig.states(2) == [STOPPED] * 3


def test_rollback_skips_versions_that_were_never_active_or_rolled_back(rig: HostRig) -> None:
    rig.add_version(0.5)
    rig.change("roll_back")  # version 2 was never active
    rig.add_version()
    rig.become_ready()
    rig.change("roll_back")  # version 3 was active, and was rolled back
    assert rig.row().target == 1
    rig.become_ready()
    rig.add_version()
    rig.become_ready()
    assert rig.row().version == 4
    rig.change("roll_back")
    assert rig.row().target == 1


def test_second_rollback_goes_one_version_further_back(rig: HostRig) -> None:
    for _ in range(2):
        rig.add_version()
        rig.become_ready()
    for target in (2, 1):
        rig.change("roll_back")
        assert rig.row().target == target
        rig.become_ready()
        assert rig.row().version == target


def test_rollback_before_the_drain_ends_keeps_the_old_workers(rig: HostRig) -> None:
    rig.add_version()
    rig.become_ready()
    rig.step()
    rig.change("roll_back")
    rig.step()
    assert rig.row().version == 1
    rig.step(live_replica.MIN_DRAIN_S)
    assert rig.states(1) == [READY] * 3
    assert {replica.epoch for replica in rig.replicas(1)} == {1}


def test_canary_runs_next_to_the_active_version_until_promoted(rig: HostRig) -> None:
    rig.add_version(0.1)
    rig.become_ready()
    assert (rig.row().version, rig.row().canary) == (1, 2)
    assert rig.states(2) == [READY] * 3
    rig.change("promote")
    rig.step()
    assert (rig.row().version, rig.row().canary) == (2, None)
    rig.step()
    rig.step(live_replica.MIN_DRAIN_S)
    assert rig.states(1) == [STOPPED] * 3


def test_removed_canary_drains(rig: HostRig) -> None:
    rig.add_version(0.1)
    rig.become_ready()
    rig.change("roll_back")
    rig.step()
    assert rig.states(2) == [READY] * 3
    rig.step(live_replica.MIN_DRAIN_S)
    assert rig.states(2) == [STOPPED] * 3
    assert len(rig.workers.running) == 3


# Stop and start.


@pytest.mark.parametrize("what", ["stop", "retire"])
def test_stopped_ensemble_drains_and_leaves_no_worker(rig: HostRig, what: str) -> None:
    rig.change(what)
    rig.step()
    rig.step(live_replica.MIN_DRAIN_S)
    assert rig.workers.running == []
    for replica in rig.replicas():
        assert (replica.state, replica.endpoint, replica.pid, replica.device_id) == (STOPPED, None, None, None)


def test_restarted_ensemble_has_new_epochs_and_retries_failed_members(make_host: MakeRig) -> None:
    rig = make_host("cpu-0")
    rig.build()
    rig.step()
    rig.workers.placed[1].status = WorkerStatus(Phase.LOAD_FAILED, "damaged")
    rig.become_ready()
    rig.change("stop")
    rig.step()
    rig.step(live_replica.MIN_DRAIN_S)
    assert rig.states() == [STOPPED] * 3
    rig.change("start")
    rig.become_ready()
    assert (rig.row().state, rig.row().reason) == (EnsembleState.READY, "")
    assert {replica.epoch for replica in rig.replicas()} == {2}


@pytest.mark.parametrize("before", [[], ["stop"]], ids=["running", "stopped within one step"])
def test_start_retries_failed_members(make_host: MakeRig, before: list[str]) -> None:
    rig = make_host("cpu-0")
    rig.build()
    rig.step()
    rig.workers.placed[1].status = WorkerStatus(Phase.LOAD_FAILED, "damaged")
    rig.become_ready()
    assert rig.row().state is EnsembleState.DEGRADED
    for what in [*before, "start"]:
        rig.change(what)
    rig.become_ready()
    assert rig.row().state is EnsembleState.READY
    assert [replica.epoch for replica in rig.replicas()] == [1, 2, 1], "ready members are not restarted"


# Dedicated devices.


def reserved(rig: HostRig) -> dict[str, str]:
    """The dedicated devices, as the scheduler reads them."""
    with rig.service.database.read() as connection:
        return replica_store.dedicated(connection)


def test_dedicated_member_waits_until_its_device_is_reserved_and_free(make_host: MakeRig) -> None:
    rig = make_host("cpu-0", "cpu-1", trials=1)
    rig.service.trial(rig.sweep_id, 7, None)  # runs on cpu-0
    rig.build(placement=Placement.DEDICATED)
    rig.step()
    assert reserved(rig) == {"cpu-1": "dedicated to trial 0 of sweep 1, a member of ensemble small-1"}, "the idle one"
    assert (rig.states(), rig.workers.placed) == ([STARTING], [])
    assert rig.row().reason == "trial 0 of sweep 1: waiting for cpu-1 to be free of trials"
    rig.step(1)
    assert rig.workers.placed == []
    rig.device("cpu-1", "dedicated", "to member 0")
    rig.become_ready()
    assert (rig.row().state, rig.row().reason) == (EnsembleState.READY, "")
    assert rig.workers.placed[0].config.device_ids == ("cpu-1",)
    rig.die("worker-1-1-0-0-1")
    assert list(reserved(rig)) == ["cpu-1"], "it keeps the device while it restarts"
    rig.step(1)
    rig.become_ready()
    assert rig.replicas()[0].device_id == "cpu-1"
    rig.change("stop")
    assert reserved(rig) == {}


def test_dedicated_member_waits_for_a_running_trial(make_host: MakeRig) -> None:
    rig = make_host("cpu-0", trials=1)
    rig.service.trial(rig.sweep_id, 7, None)
    rig.build(placement=Placement.DEDICATED)
    rig.step()
    rig.device("cpu-0", "dedicated", "to member 0")
    rig.step(1)
    assert rig.workers.placed == [], "the scheduler has drained it, but its trial runs"


def test_dedicated_members_share_devices_when_devices_are_fewer(make_host: MakeRig) -> None:
    rig = make_host("cpu-0", "cpu-1")
    rig.build(placement=Placement.DEDICATED)
    rig.step()
    assert [replica.device_id for replica in rig.replicas()] == ["cpu-0", "cpu-1", "cpu-0"]
    for device_id in ("cpu-0", "cpu-1"):
        rig.device(device_id, "dedicated", "")
    rig.become_ready()
    assert rig.states() == [READY] * 3
    assert "shares cpu-0" in rig.replicas()[0].reason


def test_shared_members_avoid_dedicated_devices_while_others_exist(make_host: MakeRig) -> None:
    rig = make_host("cpu-0", "cpu-1", "cpu-2", trials=1)
    rig.build(placement=Placement.DEDICATED)
    rig.step()
    rig.device("cpu-0", "dedicated", "")
    rig.become_ready()
    other = rig.service.ensemble(rig.sweep_id, rig.trial_ids, replicas=3)
    rig.step()
    devices = [replica.device_id for replica in rig.replicas(ensemble_id=other)]
    assert "cpu-0" not in devices
    assert set(devices) == {"cpu-1", "cpu-2"}
