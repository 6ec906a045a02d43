"""Drains a device, and returns it to service; api."""

from __future__ import annotations

import time

from podium.api.http.service_context import ServiceContext
from podium.db.stores import device_command_writer


def drain_device(service: ServiceContext, device_id: str, reason: str) -> None:
    """Place no more trials on a device. Raises `NotFoundError`."""
    with service.database.write() as connection:
        device_command_writer.drain(connection, device_id, reason, time.time())
    service.wake("scheduler")


def return_device(service: ServiceContext, device_id: str) -> None:
    """Place trials on a device again. Raises `NotFoundError`."""
    with service.database.write() as connection:
        device_command_writer.return_device(connection, device_id, time.time())
    service.wake("scheduler")
