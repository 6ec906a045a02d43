"""A fenced database refuses whoever was replaced, and says so once more to the process that must stop."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, select

from podium.db.schema.database import Database
from podium.db.schema.tables import events
from podium.db.stores import ensemble_host_lease, leader_lease
from podium.db.stores.fenced_database import FencedDatabase, fenced_for_host
from podium.db.stores.leader_lease import Contender
from podium.sweep.values.errors import FencedError, StorageFullError


def test_replaced_process_reads_and_writes_nothing(database: Database) -> None:
    with database.write() as connection:
        epoch = ensemble_host_lease.take(connection, "process 1", 1.0)
    told: list[FencedError] = []
    fenced = FencedDatabase(database, lambda connection: ensemble_host_lease.check(connection, epoch), told.append)
    with fenced.write() as connection:
        connection.execute(insert(events).values(at=1.0, kind="first"))
    with fenced.read() as connection:
        assert connection.execute(select(events.c.kind)).scalars().all() == ["first"]
    with database.write() as connection:
        assert ensemble_host_lease.take(connection, "process 2", 2.0) == epoch + 1
    for begin in (fenced.write, fenced.write_unordered, fenced.read):
        with pytest.raises(FencedError, match="another ensemble host"), begin() as connection:
            raise AssertionError("not reached")
    assert len(told) == 3
    with database.read() as connection:
        assert connection.execute(select(events.c.kind)).scalars().all() == ["first"]


def test_host_of_the_only_service_starts_without_a_write(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk may be full: the host serves the ensembles that exist."""

    def full(**_: object) -> None:
        raise StorageFullError

    monkeypatch.setattr(database, "write", full)
    assert fenced_for_host(database, 0, "process 1", 1.0, lambda _: None) is database


def test_host_of_a_leader_is_fenced_by_the_next_one(database: Database) -> None:
    with database.write() as connection:
        epoch = leader_lease.take(connection, Contender("a"), 1.0)
    fenced: list[FencedError] = []
    first = fenced_for_host(database, epoch, "process 1", 1.0, fenced.append)
    with first.read():
        pass
    fenced_for_host(database, epoch, "process 2", 2.0, fenced.append)
    with pytest.raises(FencedError), first.read():
        pass
    assert len(fenced) == 1
