"""A data directory is in use as long as a service runs on any machine, and settled when all of them are ready."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from podium.db.integrity import file_and_process_checks
from podium.db.integrity.main import audit
from podium.db.integrity.services_in_use import MISSED_RENEWAL_S, ServicesInUse, services_in_use
from podium.db.stores import leader_lease
from podium.db.stores.leader_lease import EXPIRY_S, Contender
from podium.sweep.runtime.layout import DataDirectory
from tests.databases import CHOSEN
from tests.service_rig import ServiceRig

HERE, THERE = "alpha", "beta"
STOPPED = ServicesInUse(running=False, settled=True, leads_here=True)
READY = ServicesInUse(running=True, settled=True, leads_here=True)
NOT_READY = ServicesInUse(running=True, settled=False, leads_here=True)
READY_THERE = ServicesInUse(running=True, settled=True, leads_here=False)


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


@pytest.fixture
def locked(service: ServiceRig) -> Iterator[None]:
    """A service on this machine runs, with the root as its folder."""
    with service.data.service_lock.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def server() -> None:
    """Skip without a server: only services on one have a lease."""
    if not CHOSEN.postgres:
        pytest.skip("only services on a server have a lease")


def found(service: ServiceRig) -> ServicesInUse:
    with service.database.read() as connection:
        return services_in_use(connection, service.data, HERE)


def lead(service: ServiceRig, host: str, ago_s: float = 0.0) -> None:
    """The service of a host leads; its last renewal was `ago_s` ago."""
    with service.database.write() as connection:
        leader_lease.take(connection, Contender(host, host))
        connection.execute(text(f"UPDATE leader_lease SET renewed_at = renewed_at - {ago_s}"))


def stand_by(service: ServiceRig, host: str, ago_s: float = 0.0) -> None:
    with service.database.write() as connection:
        leader_lease.stand_by(connection, Contender(host, host))
        connection.execute(text(f"UPDATE standbys SET seen_at = seen_at - {ago_s}"))


def record_state(service: ServiceRig, host: str, state: str, pid: int) -> None:
    """What the service of a host writes about its components."""
    folder = DataDirectory(service.data.root, host)
    folder.prepare()
    folder.service_file.write_text(json.dumps({"parts": [{"name": "api", "pid": pid, "state": state, "restarts": 0}]}))


def test_directory_without_a_service_is_settled(service: ServiceRig, dead: int) -> None:
    record_state(service, HERE, "ready", dead)
    lead(service, HERE, ago_s=EXPIRY_S + 1)
    stand_by(service, THERE, ago_s=EXPIRY_S + 1)
    assert found(service) == STOPPED


def test_killed_leader_of_this_machine_does_not_run(service: ServiceRig, dead: int) -> None:
    record_state(service, HERE, "ready", dead)
    lead(service, HERE)
    assert found(service) == STOPPED


@pytest.mark.usefixtures("locked")
def test_service_without_a_lease_is_settled_when_its_components_are_ready(service: ServiceRig, dead: int) -> None:
    record_state(service, "", "starting", os.getpid())
    assert found(service) == NOT_READY
    record_state(service, "", "ready", dead)
    assert found(service) == NOT_READY
    record_state(service, "", "ready", os.getpid())
    assert found(service) == READY


@pytest.mark.sqlite
@pytest.mark.usefixtures("locked")
def test_lease_that_was_copied_from_a_server_does_not_count(service: ServiceRig) -> None:
    record_state(service, "", "ready", os.getpid())
    lead(service, THERE, ago_s=EXPIRY_S + 1)
    stand_by(service, THERE)
    assert found(service) == READY


@pytest.mark.usefixtures("server")
def test_leader_on_another_machine_counts(service: ServiceRig, dead: int) -> None:
    """Its lock is invisible here, and its processes cannot be looked up."""
    lead(service, THERE)
    record_state(service, THERE, "ready", dead)
    assert found(service) == READY_THERE
    record_state(service, THERE, "starting", dead)
    assert found(service) == ServicesInUse(running=True, settled=False, leads_here=False)


@pytest.mark.usefixtures("server")
def test_leader_on_another_machine_may_use_the_root(service: ServiceRig, dead: int) -> None:
    lead(service, THERE)
    record_state(service, "", "ready", dead)
    assert found(service) == READY_THERE
    record_state(service, "", "starting", dead)
    assert not found(service).settled


@pytest.mark.usefixtures("server")
def test_standby_on_another_machine_counts(service: ServiceRig, dead: int) -> None:
    lead(service, HERE)
    stand_by(service, THERE)
    record_state(service, HERE, "ready", os.getpid())
    record_state(service, THERE, "starting", dead)
    assert found(service) == NOT_READY
    record_state(service, THERE, "standby", dead)
    assert found(service) == READY


@pytest.mark.usefixtures("server")
def test_services_of_which_none_leads_are_not_settled(service: ServiceRig) -> None:
    """One of them is about to take the lease, and to correct what the leader left."""
    stand_by(service, THERE)
    assert found(service) == READY, "before the first lease"
    lead(service, HERE, ago_s=MISSED_RENEWAL_S + 1)
    assert found(service) == NOT_READY
    lead(service, HERE, ago_s=EXPIRY_S + 1)
    assert found(service) == NOT_READY


@pytest.mark.usefixtures("server")
def test_audit_waits_for_a_takeover(service: ServiceRig) -> None:
    """Seconds without a leader do not count: the sweep has nothing to run until another service leads."""
    service.sweep(run_cap=1)
    service.trial(1, 0, 0.5)
    with service.database.write() as connection:
        connection.execute(text("UPDATE sweeps SET state = 'running'"))
    stand_by(service, THERE)
    lead(service, HERE, ago_s=EXPIRY_S + 1)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if sum(slept) > 12.0:
            lead(service, THERE)
            with service.database.write() as connection:
                connection.execute(text("UPDATE sweeps SET run_cap = 2"))

    report = audit(service.data, service.database, artifacts=False, sleep=sleep)
    assert sum(slept) > 12.0 and report.running
    assert [each for each in report.breaches if each.invariant == "sweeps"] == []


def test_processes_of_another_machine_are_not_looked_up(service: ServiceRig, dead: int) -> None:
    service.sweep()
    service.trial(1, 0, None)
    service.device()
    with service.database.write() as connection:
        connection.execute(text(f"UPDATE attempts SET pid = {dead}"))
        connection.execute(text("DELETE FROM scheduler_lease"))
        connection.execute(text(f"INSERT INTO scheduler_lease VALUES (1, 1, 'process {dead}', 1.0, 1.0)"))
    with service.database.read() as connection:
        assert list(file_and_process_checks.dead_attempts(connection, leads_here=False)) == []
        assert len(list(file_and_process_checks.dead_attempts(connection, leads_here=True))) == 2
