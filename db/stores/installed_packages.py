"""Lists of packages installed at the submission of sweeps, stored once by hash; api."""

from __future__ import annotations

from sqlalchemy import Connection, select

from podium.db.schema.dialect import insert
from podium.db.schema.tables import environments, sweeps
from podium.sweep.values.errors import NotFoundError


def add(connection: Connection, sha256: str, packages: str, at: float) -> None:
    """Store a list of packages unless it exists."""
    values = {"sha256": sha256, "packages": packages, "first_at": at}
    connection.execute(insert(environments).values(values).on_conflict_do_nothing())


def packages_of(connection: Connection, sweep_id: int) -> str:
    """The packages installed when a sweep was submitted, one per line. Raises `NotFoundError`."""
    statement = select(sweeps.c.id, environments.c.packages).join(environments, isouter=True)
    row = connection.execute(statement.where(sweeps.c.id == sweep_id)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no sweep {sweep_id}")
    if row.packages is None:
        raise NotFoundError(f"the packages of sweep {sweep_id} were not recorded")
    packages: str = row.packages
    return packages
