"""Nodes: their reports, requests to leave, and the events of both."""

from __future__ import annotations

from typing import Any

import pytest

from podium.db.schema.database import Database
from podium.db.stores import device_command_writer, devices, event_outbox, nodes, sweeps
from podium.sweep.lifecycle.database_changes import (
    AttemptEnded,
    AttemptPlaced,
    AttemptReleased,
    Change,
    DeviceChanged,
    DeviceDrained,
    TrialPlanned,
)
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.values.attempt_assignment import AttemptKey
from podium.sweep.values.device_state import DeviceState
from podium.sweep.values.errors import NotFoundError
from podium.sweep.values.excluded_ray_node import RefusedNode
from podium.sweep.values.node_state_from_report import SILENT_AFTER_S, NodeState
from podium.sweep.values.slot_events import Ended
from podium.sweep.values.states import TrialState
from tests.node_reports import node_report
from tests.specs import spec

AT = 100.0


def report(database: Database, name: str = "b", at: float = AT, **changes: object) -> bool:
    with database.write() as connection:
        return nodes.record_report(connection, node_report(name, **changes), at)


def ask_to_leave(database: Database, name: str = "b", *, now: bool = False) -> None:
    with database.write() as connection:
        nodes.ask_to_leave(connection, name, AT, now=now)


def all_of(database: Database) -> list[nodes.NodeRow]:
    with database.read() as connection:
        return nodes.all_of(connection)


def kinds(database: Database) -> list[str]:
    with database.read() as connection:
        found = [event for event in event_outbox.after(connection, 0) if event["kind"].startswith("node.")]
    assert {event["payload"]["node"] for event in found} <= {"b"}
    return [event["kind"] for event in found]


def device(device_id: str, state: DeviceState = DeviceState.READY) -> DeviceChanged:
    return DeviceChanged(device_id, "gpu", 0, "host-b", "0", None, 99, state, "", AT)


def commit(database: Database, *changes: Change) -> None:
    DatabaseRecorder(database).commit(changes)


def drain(database: Database, device_id: str, reason: str) -> None:
    """Drain a device, as the scheduler shows it afterwards."""
    commit(database, DeviceDrained(device_id, reason, AT), device(device_id, DeviceState.DRAINED))


def run_trial_on(database: Database, device_id: str) -> None:
    with database.write() as connection:
        sweeps.accept(connection, spec(), AT)
    commit(
        database,
        TrialPlanned(1, 1, 0, {"x": 0.5}, "random", {}, AT),
        AttemptPlaced(AttemptKey(1, 1), 1, 0, device_id, "host-b", AT, ""),
    )


def test_report_is_stored_and_replaced_by_the_next(database: Database) -> None:
    report(database, at=AT, cores=16)
    report(database, at=AT + 3, cores=8, clock_offset_s=-0.5)
    (node,) = all_of(database)
    assert node.report == node_report("b", cores=8, clock_offset_s=-0.5)
    assert (node.joined_at, node.reported_at) == (AT, AT + 3)
    assert kinds(database) == ["node.joined"]


def test_nodes_have_their_own_devices(database: Database) -> None:
    report(database, "b")
    report(database, "b2")
    commit(database, *map(device, ("gpu-0", "b:gpu-0", "b:gpu-1", "b2:gpu-0")))
    run_trial_on(database, "b:gpu-1")
    first, second = all_of(database)
    assert (first.name, set(first.device_ids), first.busy) == ("b", {"b:gpu-0", "b:gpu-1"}, 1)
    assert (second.name, second.device_ids, second.busy) == ("b2", ("b2:gpu-0",), 0)


def test_node_is_drained_if_all_its_devices_are(database: Database) -> None:
    report(database)
    assert all_of(database)[0].state(AT) is NodeState.READY  # without devices
    commit(database, device("b:gpu-0"), device("b:gpu-1"), DeviceDrained("b:gpu-0", "on request", AT))
    assert all_of(database)[0].state(AT) is NodeState.READY
    commit(database, DeviceDrained("b:gpu-1", "on request", AT))
    assert all_of(database)[0].state(AT) is NodeState.DRAINED


def test_node_that_reports_again_after_silence_has_an_event(database: Database) -> None:
    report(database)
    late = AT + SILENT_AFTER_S + 1
    assert all_of(database)[0].state(late) is NodeState.SILENT
    report(database, at=late)
    assert all_of(database)[0].state(late) is NodeState.READY
    assert kinds(database) == ["node.joined", "node.reconnected"]


def test_node_leaves_when_nothing_runs_on_it(database: Database) -> None:
    report(database)
    commit(database, device("b:gpu-0"), device("b:gpu-1"))
    run_trial_on(database, "b:gpu-0")
    ask_to_leave(database)
    assert all_of(database)[0].state(AT) is NodeState.LEAVING
    for device_id in ("b:gpu-0", "b:gpu-1"):
        assert not report(database)  # the scheduler may still place a trial
        drain(database, device_id, nodes.LEAVES)
    assert not report(database)  # the trial runs
    commit(database, device("b:gpu-0", DeviceState.LOST), device("gpu-0"))
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE trials SET state = 'finished'")
    assert not report(database, uploads_waiting=1)
    assert report(database)
    assert kinds(database) == ["node.joined", "node.leaving"]


def test_node_leaves_when_its_files_are_sent(database: Database) -> None:
    """Its device is free, and its agent, which was restarted, knows of no files."""
    report(database)
    commit(database, device("b:gpu-0"))
    run_trial_on(database, "b:gpu-0")
    commit(database, AttemptReleased(AttemptKey(1, 1), 1, 0, 5.0, AT))
    drain(database, "b:gpu-0", nodes.LEAVES)
    ask_to_leave(database)
    assert not report(database, at=AT + 1)
    end = Ended(AttemptKey(1, 1), TrialState.FINISHED, AT, AT + 5, value=0.5)
    commit(database, AttemptEnded(end, 1, 0, TrialState.FINISHED, 5.0))
    assert report(database, at=AT + 2)


def test_device_runs_no_trial_that_has_left_it(database: Database) -> None:
    commit(database, device("b:gpu-0"))
    run_trial_on(database, "b:gpu-0")
    with database.read() as connection:
        assert devices.get(connection, "b:gpu-0").trial_id == 1
    commit(database, AttemptReleased(AttemptKey(1, 1), 1, 0, 5.0, AT))
    with database.read() as connection:
        found = devices.get(connection, "b:gpu-0")
        assert (found.trial_id, found.state) == (None, DeviceState.READY)
        assert [event["kind"] for event in event_outbox.after(connection, 0)][-1] == "trial.sending"


def test_release_is_recorded_before_the_end_in_the_same_commit(database: Database) -> None:
    commit(database, device("b:gpu-0"))
    run_trial_on(database, "b:gpu-0")
    end = Ended(AttemptKey(1, 1), TrialState.FINISHED, AT, AT + 5, value=0.5)
    commit(
        database,
        AttemptReleased(AttemptKey(1, 1), 1, 0, 5.0, AT),
        AttemptEnded(end, 1, 0, TrialState.FINISHED, 5.0),
    )
    with database.read() as connection:
        kinds_of_trial = [event["kind"] for event in event_outbox.after(connection, 0) if event["trial_id"] == 1]
    assert kinds_of_trial == ["trial.running", "trial.sending", "trial.finished"]


def test_node_that_shall_leave_now_waits_for_nothing(database: Database) -> None:
    report(database)
    commit(database, device("b:gpu-0"))
    run_trial_on(database, "b:gpu-0")
    ask_to_leave(database)
    assert not report(database)
    ask_to_leave(database, now=True)
    ask_to_leave(database)  # does not withdraw that
    assert report(database, uploads_waiting=1)
    assert kinds(database) == ["node.joined", "node.leaving", "node.leaving"]


def test_request_to_leave_can_be_withdrawn(database: Database) -> None:
    report(database)
    drain(database, "b:gpu-0", nodes.LEAVES)
    drain(database, "b:gpu-1", "broken fan")
    ask_to_leave(database, now=True)
    with database.write() as connection:
        nodes.keep(connection, "b")
        assert list(devices.drained(connection)) == ["b:gpu-1"]
    assert not report(database)
    assert all_of(database)[0].state(AT) is NodeState.READY


def test_forgotten_node_has_no_devices(database: Database) -> None:
    report(database)
    commit(database, device("gpu-0"))
    drain(database, "b:gpu-0", "broken fan")
    drain(database, "b:gpu-1", nodes.LEAVES)
    with database.write() as connection:
        nodes.forget(connection, "b", AT)
        assert [each.id for each in devices.all_of(connection)] == ["gpu-0"]
        assert devices.drained(connection) == {"b:gpu-0": "broken fan"}  # as it was drained before
    assert all_of(database) == []
    assert kinds(database) == ["node.joined", "node.left"]
    assert not report(database)


def test_what_a_node_has_left_is_stored_with_its_report(database: Database) -> None:
    left: dict[str, Any] = {
        "left_folders": ("trials/7/12/1-0a1b2c3d",),
        "left_processes": ("99 trials/7/12/1-0a1b2c3d",),
    }
    report(database, **left)
    assert all_of(database)[0].report == node_report("b", **left)
    report(database)
    assert all_of(database)[0].report == node_report("b")


def set_refused(database: Database, **refused: RefusedNode) -> None:
    with database.write() as connection:
        nodes.set_refused(connection, refused, AT)


def test_refused_nodes_are_those_of_the_last_call(database: Database) -> None:
    report(database)
    old = RefusedNode("10.0.0.7", {"podium": "9.0", "python": "3.13.5"}, 4, 1, "this node has podium 9.0")
    set_refused(database, c=old, d=old)
    set_refused(database, d=old)
    ready, refused = all_of(database)
    assert (ready.name, ready.refused, ready.state(AT)) == ("b", "", NodeState.READY)
    assert (refused.name, refused.refused, refused.state(AT + 90)) == ("d", old.reason, NodeState.REFUSED)
    found = refused.report
    assert (found.address, found.podium_version, found.ray_version, found.cores) == ("10.0.0.7", "9.0", "", 4)
    set_refused(database)
    assert [node.name for node in all_of(database)] == ["b"]


def test_refused_node_that_reports_is_used(database: Database) -> None:
    set_refused(database, b=RefusedNode("10.0.0.7", {}, 4, 1, "this node has podium 9.0"))
    report(database)
    assert all_of(database)[0].state(AT) is NodeState.READY
    set_refused(database)
    assert [node.name for node in all_of(database)] == ["b"]


def test_unknown_node_is_refused_with_the_known_ones(database: Database) -> None:
    report(database, "b")
    with database.write() as connection:
        for call in (
            lambda: nodes.ask_to_leave(connection, "c", AT),
            lambda: nodes.forget(connection, "c", AT),
            lambda: nodes.keep(connection, "c"),
            lambda: nodes.get(connection, "c"),
        ):
            with pytest.raises(NotFoundError, match="there is no node 'c'; known: b"):
                call()
        assert nodes.get(connection, "b").report == node_report("b")


def test_device_keeps_the_reason_for_which_it_was_drained_before_the_node_leaves(database: Database) -> None:
    commit(database, device("b:gpu-0"))
    with database.write() as connection:
        device_command_writer.drain(connection, "b:gpu-0", "broken fan", AT)
        device_command_writer.drain(connection, "b:gpu-0", nodes.LEAVES, AT)
        assert devices.drained(connection) == {"b:gpu-0": "broken fan"}


def test_nodes_that_were_asked_to_leave(database: Database) -> None:
    report(database)
    with database.read() as connection:
        assert nodes.leaving(connection) == frozenset()
    ask_to_leave(database)
    with database.read() as connection:
        assert nodes.leaving(connection) == {"b"}
