"""The contract of the leader's lease: one service leads, another may take over after the lease has expired."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, insert, select

from podium.db.schema import tables
from podium.db.schema.database import Database
from podium.db.schema.dialect import database_clock
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.tables import events
from podium.db.stores import ensemble_host_lease, leader_lease, scheduler_lease
from podium.db.stores.leader_election import Leadership
from podium.db.stores.leader_lease import EXPIRY_S, RENEWAL_S, Contender
from podium.sweep.values.errors import DatabaseError, FencedError
from tests.postgres_databases import NAME
from tests.postgres_server import postgres_server

START = 1_000.0


class FakeClock:
    """The clock of the database."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def contender(database: Database, clock: FakeClock) -> Callable[[str], Leadership]:
    return lambda name: Leadership(database, Contender(name, f"host-{name}", f"http://{name}", "ray"), clock=clock)


def test_first_service_leads_and_the_second_waits(
    database: Database, clock: FakeClock, contender: Callable[[str], Leadership]
) -> None:
    first, second = contender("a"), contender("b")
    assert first.try_acquire_or_renew().epoch == 1
    clock.now += 2.0
    state = second.try_acquire_or_renew()
    assert state.epoch == 0 and state.lease is not None
    assert state.lease.leader == Contender("a", "host-a", "http://a", "ray") and state.lease.age_s == 2.0
    with database.read() as connection:
        (waiting,) = leader_lease.waiting(connection, clock())
    assert (waiting.holder, waiting.host, waiting.url, waiting.seen_s) == ("b", "host-b", "http://b", 0.0)


def test_lease_is_taken_only_after_it_has_expired(clock: FakeClock, contender: Callable[[str], Leadership]) -> None:
    first, second = contender("a"), contender("b")
    first.try_acquire_or_renew()
    clock.now += EXPIRY_S
    assert second.try_acquire_or_renew().epoch == 0
    clock.now += 0.1
    assert second.try_acquire_or_renew().epoch == 2
    assert first.try_acquire_or_renew().epoch == 0, "the first one stands by, and does not take it back"
    clock.now += EXPIRY_S - 0.1
    assert first.try_acquire_or_renew().epoch == 0 and second.try_acquire_or_renew().epoch == 2


def test_renewed_lease_does_not_expire(clock: FakeClock, contender: Callable[[str], Leadership]) -> None:
    first, second = contender("a"), contender("b")
    for _ in range(10):
        assert first.try_acquire_or_renew().epoch == 1
        clock.now += RENEWAL_S
        assert second.try_acquire_or_renew().epoch == 0


def test_leader_says_which_ray_cluster_it_uses_now(database: Database, clock: FakeClock) -> None:
    leader = Leadership(database, Contender("a", ray="session 1"), clock=clock)
    for each in ("session 1", "session 2"):
        leader.use_ray(each)
        assert leader.try_acquire_or_renew().epoch == 1
        with database.read() as connection:
            lease = leader_lease.read(connection, clock())
        assert lease is not None and lease.leader.ray == each


def test_restarted_process_of_the_leader_keeps_its_epoch(
    clock: FakeClock, contender: Callable[[str], Leadership]
) -> None:
    assert contender("a").try_acquire_or_renew().epoch == contender("a").try_acquire_or_renew().epoch == 1
    clock.now += 2 * EXPIRY_S
    assert contender("a").try_acquire_or_renew().epoch == 1, "nobody has taken the lease"


def test_released_lease_is_taken_at_once(clock: FakeClock, contender: Callable[[str], Leadership]) -> None:
    first, second = contender("a"), contender("b")
    first.try_acquire_or_renew()
    first.release()
    assert second.try_acquire_or_renew().epoch == 2


def test_service_that_was_started_again_takes_it_at_once(
    clock: FakeClock, contender: Callable[[str], Leadership]
) -> None:
    """Its folder was locked by its earlier start."""
    assert contender("a-1").try_acquire_or_renew().epoch == 1
    assert contender("a-2").try_acquire_or_renew().epoch == 2
    assert contender("b-1").try_acquire_or_renew().epoch == 0


def test_leader_whose_lease_is_taken_during_its_renewal_ends_no_session(
    database: Database, clock: FakeClock, contender: Callable[[str], Leadership], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own scheduler and host still read and write."""
    ended: list[str] = []
    first = Leadership(database, Contender("a-1"), clock=clock, end_sessions=ended.append)
    assert first.try_acquire_or_renew().epoch == 1
    renewal = database.write_unordered

    def taken_before() -> AbstractContextManager[Connection]:
        monkeypatch.undo()
        clock.now += EXPIRY_S + 1
        assert contender("b-1").try_acquire_or_renew().epoch == 2
        return renewal()

    monkeypatch.setattr(database, "write_unordered", taken_before)
    state = first.try_acquire_or_renew()
    assert state.epoch == 0 and state.lease is not None and state.lease.leader.holder == "b-1"
    assert ended == []


def test_takeover_fences_scheduler_and_host(
    database: Database, clock: FakeClock, contender: Callable[[str], Leadership]
) -> None:
    contender("a").try_acquire_or_renew()
    with database.write() as connection:
        epoch = scheduler_lease.take(connection, "process 1", 1.0, leader_epoch=1)
        of_host = ensemble_host_lease.take(connection, "process 2", 1.0, leader_epoch=1)
        scheduler_lease.check(connection, epoch)
        ensemble_host_lease.check(connection, of_host)
    clock.now += EXPIRY_S + 1
    assert contender("b").try_acquire_or_renew().epoch == 2
    for check in (
        lambda connection: scheduler_lease.check(connection, epoch),
        lambda connection: ensemble_host_lease.check(connection, of_host),
        lambda connection: scheduler_lease.take(connection, "process 3", 2.0, leader_epoch=1),
        lambda connection: ensemble_host_lease.take(connection, "process 4", 2.0, leader_epoch=1),
    ):
        with pytest.raises(FencedError), database.write() as connection:
            check(connection)
    with database.write() as connection:
        assert scheduler_lease.take(connection, "process 3", 2.0, leader_epoch=2) > epoch
        assert ensemble_host_lease.take(connection, "process 4", 2.0, leader_epoch=2) > of_host


def test_first_epoch_is_above_those_of_schedulers_before(
    database: Database, contender: Callable[[str], Leadership]
) -> None:
    with database.write() as connection:
        scheduler_lease.take(connection, "process 1", 1.0, after=41)
    assert contender("a").try_acquire_or_renew().epoch == 43


def test_standby_that_is_not_seen_is_forgotten(
    database: Database, clock: FakeClock, contender: Callable[[str], Leadership]
) -> None:
    for name in "abc":
        contender(name).try_acquire_or_renew()
    clock.now += leader_lease.FORGET_S + 1
    contender("a").try_acquire_or_renew()
    contender("c").try_acquire_or_renew()
    with database.read() as connection:
        assert [each.holder for each in leader_lease.waiting(connection, clock())] == ["c"]


def test_clock_of_the_database_runs_within_a_transaction(database: Database) -> None:
    with database.read() as connection:
        first: float = connection.execute(select(database_clock())).scalar_one()
        threading.Event().wait(0.02)
        assert 0.01 < connection.execute(select(database_clock())).scalar_one() - first < 10


def test_renewal_waits_for_no_other_write(
    database: Database, clock: FakeClock, contender: Callable[[str], Leadership]
) -> None:
    if not isinstance(database, PostgresDatabase):
        pytest.skip("SQLite has one writer")
    leader = contender("a")
    leader.try_acquire_or_renew()
    with database.write() as connection:
        connection.execute(insert(events).values(at=1.0, kind="long"))
        clock.now += 5.0
        assert leader.try_acquire_or_renew().epoch == 1
    with database.read() as connection:
        lease = leader_lease.read(connection, clock())
        assert lease is not None and lease.age_s == 0.0


def test_leader_suspended_in_a_transaction_cannot_commit(database: Database, clock: FakeClock) -> None:
    """Its session is ended: otherwise the new leader would wait for the lock that it holds."""
    if not isinstance(database, PostgresDatabase):
        pytest.skip("only services on a server have a standby")
    url = postgres_server().url(NAME)
    old = PostgresDatabase(url, holder="a")
    new = PostgresDatabase(url, holder="b", busy_s=0.5)
    assert Leadership(old, Contender("a"), clock=clock).try_acquire_or_renew().epoch == 1
    with pytest.raises(DatabaseError), old.write() as connection:
        connection.execute(insert(events).values(at=1.0, kind="of the old leader"))
        clock.now += EXPIRY_S + 1
        standby = Leadership(new, Contender("b"), clock=clock, end_sessions=new.end_sessions)
        assert standby.try_acquire_or_renew().epoch == 2
    with new.read() as connection:
        assert connection.execute(select(events.c.kind)).all() == []
    old.close()
    new.close()


@pytest.fixture
def suspended() -> Iterator[PostgresDatabase]:
    """The database as a process sees it that is suspended in a write: the server soon ends such a session."""
    opened = PostgresDatabase(postgres_server().url(NAME), holder="a", idle_write_s=0.5)
    yield opened
    opened.close()


@pytest.mark.parametrize("unordered", [True, False])
def test_role_that_may_not_end_sessions_takes_the_lease_all_the_same(
    database: Database, clock: FakeClock, suspended: PostgresDatabase, unordered: bool
) -> None:
    """The leader is suspended between its renewal and the commit of it."""
    if not isinstance(database, PostgresDatabase):
        pytest.skip("only services on a server have a standby")

    def refused(_: str) -> None:
        raise DatabaseError("permission denied")

    Leadership(database, Contender("a"), clock=clock).try_acquire_or_renew()
    epochs: list[int] = []
    write = suspended.write_unordered if unordered else suspended.write
    with pytest.raises(DatabaseError), write() as connection:
        assert leader_lease.renew(connection, Contender("a"), 1, clock())
        clock.now += EXPIRY_S + 1
        epochs.append(
            Leadership(database, Contender("b"), clock=clock, end_sessions=refused).try_acquire_or_renew().epoch
        )
    assert epochs == [2]


def test_standby_that_is_suspended_does_not_stop_the_others(
    database: Database, clock: FakeClock, suspended: PostgresDatabase
) -> None:
    """Its row is old, so the others remove it."""
    if not isinstance(database, PostgresDatabase):
        pytest.skip("only services on a server have a standby")
    for name in ("leader", "a", "b"):
        Leadership(database, Contender(name), clock=clock).try_acquire_or_renew()
    with pytest.raises(DatabaseError), suspended.write_unordered() as connection:
        leader_lease.stand_by(connection, Contender("a"), clock())
        clock.now += leader_lease.FORGET_S + 1
        with database.write_unordered() as of_another:
            leader_lease.stand_by(of_another, Contender("b"), clock())
    with database.read() as connection:
        assert [each.holder for each in leader_lease.waiting(connection, clock())] == ["b"]


@pytest.mark.parametrize("expired", [False, True])
def test_one_of_two_services_takes_the_lease_at_the_same_moment(database: Database, expired: bool) -> None:
    """It is free before the first service, and again when it has expired."""
    if not isinstance(database, PostgresDatabase):
        pytest.skip("only services on a server have a standby")
    before = 0
    if expired:
        with database.write() as connection:
            before = leader_lease.take(connection, Contender("former"), START)
    now = START + EXPIRY_S + 1
    together = threading.Barrier(2)
    opened = {name: PostgresDatabase(postgres_server().url(NAME), holder=name) for name in ("a", "b")}

    def take(name: str) -> int:
        with opened[name].read() as connection:
            lease = leader_lease.read(connection, now)  # both have seen that it may be taken
        assert lease is None or lease.has_expired
        together.wait()
        with opened[name].write() as connection:
            return leader_lease.take(connection, Contender(name), now, predecessor=lease)

    with ThreadPoolExecutor() as threads:
        epochs = dict(zip(opened, threads.map(take, opened), strict=True))
    assert sorted(epochs.values()) == [0, before + 1]
    with database.read() as connection:
        lease = leader_lease.read(connection, now)
    assert lease is not None and lease.epoch == before + 1 and epochs[lease.leader.holder] == lease.epoch
    for each in opened.values():
        each.close()


Step = tuple[str, int, float]
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["renew", "write", "wait", "freeze", "wake", "stop"]), st.integers(0, 2), st.floats(0.1, 6.0)
    ),
    max_size=40,
)


@given(steps=_STEPS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whoever_writes_is_the_last_that_took_the_lease(database: Database, steps: list[Step]) -> None:
    """Three contenders that renew, write as schedulers, are suspended with what they know, and stop, in any order."""
    with database.write() as connection:
        for table in (tables.leader_lease, tables.scheduler_lease, tables.standbys):
            connection.execute(table.delete())
    clock = FakeClock()
    contenders = [Leadership(database, Contender(str(each)), clock=clock) for each in range(3)]
    scheduler: dict[int, int] = {}  # the epoch with which the scheduler of a contender writes
    frozen: set[int] = set()
    stopped: set[int] = set()  # a later start has another name
    leader, last_epoch, renewed = None, 0, START
    for what, who, seconds in steps:
        if what == "wait":
            clock.now += seconds
        elif what == "freeze":
            frozen.add(who)
        elif what == "wake":
            frozen.discard(who)
        elif who in frozen | stopped:
            continue
        elif what == "stop" and leader == who:
            contenders[who].release()
            stopped.add(who)
            leader, renewed = None, -EXPIRY_S
        elif what == "renew":
            epoch = contenders[who].try_acquire_or_renew().epoch
            if epoch > last_epoch:
                assert leader is None or clock.now - renewed > EXPIRY_S, "the lease had not expired"
                leader, last_epoch = who, epoch
                with database.write() as connection:
                    scheduler[who] = scheduler_lease.take(connection, str(who), 1.0, leader_epoch=epoch)
            assert (epoch == last_epoch and epoch > 0) == (who == leader)
            renewed = clock.now if who == leader else renewed
        elif what == "write" and who in scheduler:
            refused = None
            try:
                with database.write() as connection:
                    scheduler_lease.check(connection, scheduler[who])
            except FencedError as error:
                refused = error
            newest = max(scheduler.values())
            assert (refused is None) == (scheduler[who] == newest), "only the newest scheduler writes"
