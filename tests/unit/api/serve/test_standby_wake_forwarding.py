"""Wake-ups reach the leader from a service that stands by, through the database of both."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from podium.api.serve.standby_wake_forwarding import WakeForwarding
from podium.db.schema.postgres_database import PostgresDatabase, session_name
from podium.sweep.runtime.component_startup_and_heartbeats import wake_component
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from tests.postgres_server import ADMIN, PostgresServer, postgres_server

pytestmark = pytest.mark.postgres

NAME = "wake_forwarding"
LISTENING = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND query LIKE 'LISTEN%%'"


class Service:
    """A start of a service; only its leadership process runs."""

    def __init__(self, root: Path, url: str, holder: str) -> None:
        self.runtime = RuntimeDirectory(root / holder)
        self.runtime.root.mkdir()
        self.database = PostgresDatabase(url, holder=holder)
        self.forwarding = WakeForwarding(self.runtime, self.database)

    def component(self, name: str) -> socket.socket:
        """The socket on which the component of the leader gets wake-ups."""
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        bound.bind(str(self.runtime.wake_socket(name)))
        bound.settimeout(0.2)
        return bound


@pytest.fixture
def server() -> PostgresServer:
    found = postgres_server()
    found.create(NAME)
    return found


@pytest.fixture
def service(tmp_path: Path, server: PostgresServer) -> Iterator[Callable[[str], Service]]:
    started: list[Service] = []

    def start(holder: str) -> Service:
        started.append(Service(tmp_path, server.url(NAME), holder))
        return started[-1]

    yield start
    for each in started:
        each.forwarding.close()
        each.database.close()


def assert_woken(component: socket.socket, sender: Service, name: str) -> None:
    """The leader may not listen yet, and a wake-up may be lost: the standby sends several."""
    for _ in range(100):
        wake_component(sender.runtime.wake_socket(name))
        try:
            assert component.recv(16)
        except TimeoutError:
            continue
        return
    raise AssertionError(f"the {name} of the leader was not woken")


@pytest.mark.parametrize("name", ["scheduler", "host"])
def test_wake_up_at_a_standby_wakes_the_leader(service: Callable[[str], Service], name: str) -> None:
    leader, standby = service("a"), service("b")
    with leader.component(name) as component:
        leader.forwarding.lead()
        standby.forwarding.stand_by()
        assert_woken(component, standby, name)


def test_listener_is_a_session_of_its_service(service: Callable[[str], Service], server: PostgresServer) -> None:
    """The server ends it together with the others of the service, and the leader listens again."""
    leader, standby = service("a"), service("b")
    with leader.component("scheduler") as component:
        leader.forwarding.lead()
        standby.forwarding.stand_by()
        assert_woken(component, standby, "scheduler")
        with psycopg.connect(server.url(NAME, ADMIN)) as connection:
            assert connection.execute(LISTENING, [session_name("a")]).fetchone() == (1,)
        standby.database.end_sessions("a")
        assert_woken(component, standby, "scheduler")


def test_service_that_no_longer_leads_wakes_nothing(service: Callable[[str], Service]) -> None:
    former, leader, standby = service("a"), service("b"), service("c")
    with former.component("scheduler") as unused, leader.component("scheduler") as component:
        former.forwarding.lead()
        standby.forwarding.stand_by()
        assert_woken(unused, standby, "scheduler")
        former.forwarding.close()
        leader.forwarding.lead()
        assert_woken(component, standby, "scheduler")
        while True:  # what was sent before the end
            try:
                unused.recv(16)
            except TimeoutError:
                break
        assert_woken(component, standby, "scheduler")
        with pytest.raises(TimeoutError):
            unused.recv(16)


class SlowDatabase(PostgresDatabase):
    """Takes some time to notify."""

    def __init__(self, url: str) -> None:
        super().__init__(url, holder="slow")
        self.entered, self.left = threading.Event(), threading.Event()

    def notify(self, channel: str, payload: str) -> None:
        self.entered.set()
        time.sleep(0.3)
        self.left.set()


def test_close_waits_for_the_notification_that_is_being_sent(tmp_path: Path, server: PostgresServer) -> None:
    """Afterwards the database may be closed: nothing opens a connection again."""
    runtime, database = RuntimeDirectory(tmp_path), SlowDatabase(server.url(NAME))
    forwarding = WakeForwarding(runtime, database)
    forwarding.stand_by()
    wake_component(runtime.wake_socket("host"))
    assert database.entered.wait(10)
    forwarding.close()
    assert database.left.is_set()
    database.close()
