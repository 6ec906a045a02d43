"""The token by which the nodes of an existing Ray cluster get and send files; scheduler process."""

from __future__ import annotations

from podium.db.access import tokens
from podium.db.access.tokens import Role
from podium.db.schema.database import Database
from podium.db.stores import scheduler_lease
from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import ServiceError

NAME = "nodes of the Ray cluster"
CREATOR = "scheduler"  # `serve` revokes the tokens of its own at the next start


def ensure(database: Database, data: DataDirectory, at: float, epoch: int) -> str:
    """The token in the data directory; a new one if there is none, or if it was revoked.

    `epoch`: of the scheduler. Raises `PodiumError`.
    """
    token = _stored(data)
    with database.write() as connection:
        scheduler_lease.check(connection, epoch)
        if token and tokens.holder(connection, token, at) is not None:
            return token
        token = tokens.new_token()
        tokens.add(connection, NAME, role=Role.NODE, token=token, at=at, by=CREATOR)
        try:
            write_atomic(data.node_token, token.encode() + b"\n", mode=0o600)
        except OSError as error:
            raise ServiceError(f"cannot write {data.node_token}: {error.strerror or error}") from error
    return token


def _stored(data: DataDirectory) -> str:
    try:
        return data.node_token.read_text().strip()
    except OSError:
        return ""
