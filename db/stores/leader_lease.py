"""The lease of the service that leads: its scheduler and its host may write; one row, by the clock of the database.

A database on a server may have several services. One leads, the others stand by, and take the lease when the leader has
not renewed it for `EXPIRY_S`. Whoever takes it increases the epoch, and fences the scheduler and the host of the
predecessor in the same transaction: their next write is refused, also if they were suspended for a while.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Float, delete, func, literal, or_, select, update

from podium.db.schema.dialect import database_clock, insert
from podium.db.schema.tables import host_lease, leader_lease, scheduler_lease, standbys
from podium.sweep.values.errors import FencedError

RENEWAL_S = 3.0  # between two renewals
EXPIRY_S = 10.0  # without a renewal: then another service may take the lease
FORGET_S = 60.0  # a service that stands by is listed for this long after it was seen last
_ID = 1


@dataclass(frozen=True, slots=True)
class Contender:
    """A start of a service.

    `holder`: its random name, which begins with that of the service and a hyphen, if the service locks a folder while
    it runs; `ray`: id of its Ray cluster, "" for a Ray of its own.
    """

    holder: str
    host: str = ""
    url: str = ""
    ray: str = ""

    def succeeds(self, other: Contender) -> bool:
        """Whether the other one was an earlier start of this service, which has ended: the folder was locked."""
        service, hyphen, _ = self.holder.partition("-")
        return bool(hyphen) and other.holder != self.holder and other.holder.partition("-")[0] == service


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease as it was read. `age_s`: since it was renewed; `held_s`: since it was taken."""

    epoch: int
    leader: Contender
    age_s: float
    held_s: float

    @property
    def has_expired(self) -> bool:
        """Whether another service may take it."""
        return self.age_s > EXPIRY_S


@dataclass(frozen=True, slots=True)
class Standby:
    """A service that stands by."""

    holder: str
    host: str
    url: str
    waits_s: float
    seen_s: float  # ago


def read(connection: Connection, now: float | None = None) -> Lease | None:
    """The lease; None before the first service. `now`: the time of the database's clock, for tests."""
    row = connection.execute(select(leader_lease, _now(now).label("now")).where(leader_lease.c.id == _ID)).one_or_none()
    if row is None:
        return None
    leader = Contender(row.holder, row.host, row.url, row.ray)
    return Lease(row.epoch, leader, row.now - row.renewed_at, row.now - row.taken_at)


def take(
    connection: Connection, contender: Contender, now: float | None = None, *, predecessor: Lease | None = None
) -> int:
    """Take the lease if it is free or has expired; returns the new epoch, or 0.

    To be called in an ordered write: what the predecessor has written is then before it, and whatever it writes later
    is refused. `predecessor`: the lease as it was read; that of an earlier start of this service is taken at once.
    """
    clock = _now(now)
    values = {
        "holder": contender.holder, "host": contender.host, "url": contender.url, "ray": contender.ray,
        "taken_at": clock, "renewed_at": clock,
    }  # fmt: skip
    free = leader_lease.c.renewed_at < clock - EXPIRY_S
    if predecessor is not None and contender.succeeds(predecessor.leader):
        free = or_(free, leader_lease.c.holder == predecessor.leader.holder)
    first = insert(leader_lease).values(id=_ID, epoch=_first_epoch(), **values)
    taken = first.on_conflict_do_update(
        index_elements=["id"], set_={**values, "epoch": leader_lease.c.epoch + 1}, where=free
    )
    epoch: int | None = connection.execute(taken.returning(leader_lease.c.epoch)).scalar_one_or_none()
    if epoch is None:
        return 0
    for lease in (scheduler_lease, host_lease):
        connection.execute(update(lease).values(epoch=lease.c.epoch + 1))
    connection.execute(delete(standbys).where(standbys.c.holder == contender.holder))
    return epoch


def renew(connection: Connection, contender: Contender, epoch: int, now: float | None = None) -> bool:
    """Renew the lease; whether it still belongs to this start of a service. May be called in an unordered write.

    The Ray cluster of the service may have changed: it has another id after its head was started again.
    """
    mine = (leader_lease.c.holder == contender.holder, leader_lease.c.epoch == epoch)
    renewed = update(leader_lease).where(*mine).values(renewed_at=_now(now), ray=contender.ray)
    return connection.execute(renewed).rowcount > 0


def release(connection: Connection, holder: str, epoch: int) -> None:
    """Let another service take the lease at once."""
    mine = (leader_lease.c.holder == holder, leader_lease.c.epoch == epoch)
    connection.execute(update(leader_lease).where(*mine).values(renewed_at=0.0))


def check(connection: Connection, epoch: int) -> None:
    """Raises `FencedError` unless the lease has this epoch; to be called in the transaction that it guards."""
    found = connection.execute(select(leader_lease.c.epoch).where(leader_lease.c.id == _ID)).scalar_one_or_none()
    if found != epoch:
        raise FencedError(f"another service leads since epoch {found}; this one had epoch {epoch}")


def stand_by(connection: Connection, contender: Contender, now: float | None = None) -> None:
    """Record that a service stands by, and forget those that have not been seen for long."""
    clock = _now(now)
    values = {"holder": contender.holder, "host": contender.host, "url": contender.url, "seen_at": clock}
    seen = insert(standbys).values(**values, since=clock)
    connection.execute(seen.on_conflict_do_update(index_elements=["holder"], set_=values))
    connection.execute(delete(standbys).where(standbys.c.seen_at < clock - FORGET_S))


def leave(connection: Connection, holder: str) -> None:
    """A service no longer stands by."""
    connection.execute(delete(standbys).where(standbys.c.holder == holder))


def waiting(connection: Connection, now: float | None = None) -> list[Standby]:
    """The services that stand by, by host."""
    rows = connection.execute(select(standbys, _now(now).label("now")).order_by(standbys.c.host, standbys.c.holder))
    return [Standby(row.holder, row.host, row.url, row.now - row.since, row.now - row.seen_at) for row in rows]


def _now(now: float | None) -> ColumnElement[float]:
    return database_clock() if now is None else literal(now, Float)


def _first_epoch() -> ColumnElement[int]:
    """Above the epochs of schedulers so far, which slots have seen."""
    return func.coalesce(select(func.max(scheduler_lease.c.epoch)).scalar_subquery(), 0) + 1
