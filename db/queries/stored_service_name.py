"""The random name of the service, which a migration wrote; scheduler."""

from __future__ import annotations

from sqlalchemy import Connection, select

from podium.db.schema.tables import service


def read(connection: Connection) -> str:
    """The name that tells this service from others in the same Ray cluster."""
    name: str = connection.execute(select(service.c.name)).scalar_one()
    return name
