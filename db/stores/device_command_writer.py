"""Commands of clients for devices, validated and written in one transaction: drain, return; api."""

from __future__ import annotations

from sqlalchemy import Connection

from podium.db.stores import devices, event_outbox
from podium.db.stores.event_outbox import NewEvent
from podium.sweep.lifecycle.database_changes import DeviceDrained


def drain(connection: Connection, device_id: str, reason: str, at: float) -> None:
    """Drain a device; its running trial completes. Raises `NotFoundError`."""
    devices.get(connection, device_id)
    devices.drain(connection, [DeviceDrained(device_id, reason, at)])


def return_device(connection: Connection, device_id: str, at: float) -> None:
    """Return a drained device. Raises `NotFoundError`."""
    devices.get(connection, device_id)
    if devices.return_drained(connection, device_id):
        event_outbox.add(connection, [NewEvent(at, "device.returned", payload={"device": device_id})])
