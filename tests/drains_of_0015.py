"""Drained devices and a node as schema 0015 stored them, moved to a newer schema and back."""

from __future__ import annotations

from collections.abc import Callable

from alembic import command
from sqlalchemy import Connection, text

from podium.db.schema.database import Database
from podium.db.schema.migrate import alembic_config
from podium.db.stores import devices, nodes
from podium.sweep.values.drained_devices import DeviceDrain

_NODE = """
INSERT INTO nodes (name, address, joined_at, reported_at, podium_version, python_version, ray_version, cores, gpus,
  memory_bytes, disk_free_bytes, cache_bytes, clock_offset_s, uploads_waiting, leaving)
VALUES ('b', '10.0.0.2', 1.0, 2.0, '0.1.0', '3.11', '2.60', 8, 1, 1, 1, 1, 0.0, 3, false)
"""
_DEVICE = """
INSERT INTO devices (id, kind, position, node, visible, uuid, state, changed_at)
VALUES (:id, 'gpu', 0, '', '', :uuid, 'ready', 1.0)
"""
_DRAIN = "INSERT INTO devices_aside (device_id, reason, at) VALUES (:id, :reason, 1.0)"


def assert_kept(database: Database, migrate: Callable[[], object]) -> None:
    """Move a database to schema 0015, give it rows, and assert that `migrate` and a way back keep them."""
    _downgrade(database)
    with database.write() as connection:
        connection.execute(text(_NODE))
        connection.execute(text(_DEVICE), [{"id": "gpu-0", "uuid": "GPU-a"}, {"id": "cpu-0", "uuid": None}])
        drained = ("gpu-0", "cpu-0", "gone")
        connection.execute(text(_DRAIN), [{"id": name, "reason": f"why {name}"} for name in drained])
    migrate()
    with database.write() as connection:
        assert devices.drains(connection) == [
            DeviceDrain("cpu-0", "", "why cpu-0"),
            DeviceDrain("gone", "", "why gone"),
            DeviceDrain("gpu-0", "GPU-a", "why gpu-0"),
        ]
        (node,) = nodes.all_of(connection)
        assert (node.report.name, node.report.uploads_waiting, node.refused) == ("b", 3, "")
        assert (node.report.left_folders, node.report.left_processes) == ((), ())
        another = "INSERT INTO devices_aside (device_id, uuid, reason, at) VALUES ('gpu-0', 'GPU-b', 'another', 2.0)"
        connection.execute(text(another))
    _downgrade(database)
    with database.read() as connection:
        assert _names(connection) == ["cpu-0", "gone", "gpu-0"]
    migrate()


def _downgrade(database: Database) -> None:
    config = alembic_config()
    with database.write() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0015")


def _names(connection: Connection) -> list[str]:
    return list(connection.execute(text("SELECT device_id FROM devices_aside ORDER BY device_id")).scalars())
