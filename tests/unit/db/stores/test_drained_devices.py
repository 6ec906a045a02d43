"""Drained devices as rows: a GPU stays drained when its number changes, and is returned under its new one."""

from __future__ import annotations

import pytest

from podium.db.schema.database import Database
from podium.db.stores import device_command_writer, devices, event_outbox
from podium.sweep.lifecycle.database_changes import DeviceChanged
from podium.sweep.scheduling.database_recorder import DatabaseRecorder
from podium.sweep.values.device_state import DeviceState

AT = 100.0
A, B = "GPU-0a", "GPU-0b"


def order(database: Database, *uuids: str) -> None:
    """The GPUs of the machine in the order of their numbers; other devices are forgotten."""
    with database.write() as connection:
        devices.forget(connection, [])
    changes = [
        DeviceChanged(f"gpu-{position}", "gpu", position, "host", str(position), uuid, 9, DeviceState.READY, "", AT)
        for position, uuid in enumerate(uuids)
    ]
    DatabaseRecorder(database).commit(changes)


def drain(database: Database, device_id: str, reason: str) -> None:
    with database.write() as connection:
        device_command_writer.drain(connection, device_id, reason, AT)


def drained(database: Database) -> dict[str, str]:
    with database.read() as connection:
        return devices.drained(connection)


@pytest.fixture
def swapped(database: Database) -> Database:
    """`gpu-0` was drained, and is `gpu-1` now."""
    order(database, A, B)
    drain(database, "gpu-0", "broken fan")
    order(database, B, A)
    return database


def test_gpu_stays_drained_when_its_number_changes(swapped: Database) -> None:
    assert drained(swapped) == {"gpu-1": "broken fan"}


def test_gpu_is_returned_under_its_new_number(swapped: Database) -> None:
    with swapped.write() as connection:
        device_command_writer.return_device(connection, "gpu-0", AT)
        assert devices.drained(connection) == {"gpu-1": "broken fan"}, "it is not drained"
        device_command_writer.return_device(connection, "gpu-1", AT)
        assert devices.drained(connection) == {}
        kinds = [event["kind"] for event in event_outbox.after(connection, 0)]
    assert kinds.count("device.returned") == 1


def test_gpu_that_has_the_number_of_a_drained_one_can_be_drained(swapped: Database) -> None:
    drain(swapped, "gpu-0", "too hot")
    drain(swapped, "gpu-1", "ignored: it has a reason")
    assert drained(swapped) == {"gpu-0": "too hot", "gpu-1": "broken fan"}
    order(swapped, A, B)
    assert drained(swapped) == {"gpu-0": "broken fan", "gpu-1": "too hot"}


def test_gpu_that_was_taken_out_leaves_its_number_free(swapped: Database) -> None:
    order(swapped, B)
    assert drained(swapped) == {}
    order(swapped, A)
    assert drained(swapped) == {"gpu-0": "broken fan"}
