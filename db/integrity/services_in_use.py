"""Which services use a data directory and its database, also on other machines; the process of `podium doctor`.

A service on this machine holds the lock of its folder while it runs. The lock of one on another machine may be
invisible here, but the database has the lease of the service that leads, and lists those that stand by.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection

from podium.db.schema.dialect import is_postgres
from podium.db.stores import leader_lease
from podium.db.stores.leader_lease import EXPIRY_S, RENEWAL_S
from podium.sweep.runtime.component_status_reader import all_ready, read_components
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.local_service_discovery import is_locked

MISSED_RENEWAL_S = 2 * RENEWAL_S  # a leader that has not renewed its lease for so long may be replaced soon


@dataclass(frozen=True, slots=True)
class ServicesInUse:
    """The services of a data directory that run.

    `running`: whether there are any. `settled`: none runs, or all of their components are ready and one of them leads.
    `leads_here`: whether the one that leads, or led until its lease expired, or the only one, is on this machine.
    """

    running: bool
    settled: bool
    leads_here: bool


def services_in_use(connection: Connection, data: DataDirectory, this_host: str | None = None) -> ServicesInUse:
    """The services that run now. `this_host`: the name of this machine, for tests."""
    this_host = this_host or socket.gethostname()
    is_shared = is_postgres(connection)  # rows in SQLite's file are those of a database that was copied to it
    lease = leader_lease.read(connection) if is_shared else None
    leader = None if lease is None or lease.has_expired else lease.leader.host
    waiting = leader_lease.waiting(connection) if is_shared else ()
    others = {each.host for each in waiting if each.seen_s <= EXPIRY_S}
    others = (others if leader is None else others | {leader}) - {this_host}
    folders = list(_in_use(data, others))
    running = bool(folders or others)
    has_leader = lease is None or lease.age_s <= MISSED_RENEWAL_S
    ready = all(_is_ready(each, is_here=(each.service or leader or this_host) == this_host) for each in folders)
    return ServicesInUse(
        running=running,
        settled=not running or (has_leader and ready),
        leads_here=lease is None or lease.leader.host == this_host,
    )


def _in_use(data: DataDirectory, others: set[str]) -> Iterator[DataDirectory]:
    """The folders of the services that run, here and on `others`: one without a folder of its own has the root."""
    root, named = DataDirectory(data.root), data.services()
    if is_locked(root.service_lock) or others - {each.service for each in named}:
        yield root
    yield from (each for each in named if each.service in others or is_locked(each.service_lock))


def _is_ready(folder: DataDirectory, *, is_here: bool) -> bool:
    """Whether all components are ready, as the service has recorded; only those of this machine are looked up."""
    found = read_components(folder, is_here=is_here)
    return not found or all_ready(found)
