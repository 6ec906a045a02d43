"""Two services on two machines of the rig, with one PostgreSQL database, one data directory and one Ray cluster.

The server runs outside the machines and is reached through a machine of the rig, so that the cable of a service is also
that to its database: a session that was cut lives on, as on a real server.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple, Self

import psycopg

from podium.db.schema.postgres_database import PostgresDatabase
from podium.sweep.runtime.existing_cluster_mode import ExistingCluster
from podium.sweep.runtime.layout import DataDirectory
from tests.cluster.cluster_rig import Service
from tests.cluster.machines import Machine, Network
from tests.cluster.plain_ray import PlainRay
from tests.doctor import assert_no_breaches
from tests.postgres_server import PostgresServer, new_server
from tests.running_service import wait_for

DATABASE = "podium"
CPUS = 2
START_S = 120.0
_FORWARD = """
import asyncio, sys

async def copy(reader, writer):
    try:
        while content := await reader.read(65536):
            writer.write(content)
            await writer.drain()
    except OSError:
        pass
    writer.close()

async def forward(reader, writer):
    others = await asyncio.open_unix_connection(sys.argv[1])
    await asyncio.gather(copy(reader, others[1]), copy(others[0], writer))

async def main():
    server = await asyncio.start_server(forward, sys.argv[2], 5432)
    await server.serve_forever()

asyncio.run(main())
"""


class Lead(NamedTuple):
    """The lease as it is stored."""

    epoch: int
    host: str
    age_s: float


class StandbyService(Service):
    """One of the services."""

    def __init__(self, machine: Machine, folder: Path, shared: Path, url_file: Path, ray: PlainRay) -> None:
        folder.mkdir(exist_ok=True)
        joined = ExistingCluster(ray.address, str(ray.token_file), max_slots=CPUS, idle_release_s=300.0)
        super().__init__(
            machine, folder, data_dir=shared, existing_cluster=joined, service=machine.name, standby=True,
            database_url_file=str(url_file),
        )  # fmt: skip


class StandbyPair:
    """The services, by the names of their machines, and what they share. A context manager."""

    def __init__(self, network: Network, folder: Path, *, cpus: int = CPUS) -> None:
        self.network = network
        self.folder = folder
        self.data = DataDirectory(folder / "data")
        self.server: PostgresServer = new_server()
        self.server.create(DATABASE)
        self.ray = PlainRay(network.add("rayhead"), folder)
        wait_for("Ray has started", (self.ray.head.folder / "r" / "ray_current_cluster").exists, START_S)
        self.worker = network.add("worker")
        self.ray.join(self.worker, cpus)
        log = (folder / "forward.log").open("wb")
        self.ray.head.start(
            [sys.executable, "-P", "-c", _FORWARD, f"{self.server.folder}/.s.PGSQL.5432", self.ray.head.address],
            stdout=log, stderr=log,
        )  # fmt: skip
        log.close()
        self.url_file = folder / "database.url"
        self.url_file.write_text(f"postgresql://podium@{self.ray.head.address}:5432/{DATABASE}")
        self.url_file.chmod(0o600)
        self.services: dict[str, StandbyService] = {}

    def add(self, name: str) -> StandbyService:
        """Start a service on a new machine of this name."""
        machine = self.network.add(name)
        self.services[name] = StandbyService(machine, self.folder / name, self.data.root, self.url_file, self.ray)
        return self.services[name]

    def rows(self, query: str, *values: Any) -> list[Any]:
        """Read the database, past the network of the machines."""
        with psycopg.connect(self.server.url(DATABASE), autocommit=True) as connection:
            return connection.execute(query.encode(), values).fetchall()

    def lead(self) -> Lead | None:
        """The lease; None before the first service."""
        query = "SELECT epoch, host, extract(epoch FROM clock_timestamp())::float8 - renewed_at FROM leader_lease"
        with contextlib.suppress(psycopg.Error):
            for row in self.rows(query):
                return Lead(*row)
        return None

    def wait_for_leader(self, *names: str, timeout_s: float = START_S) -> str:
        """Wait until one of these services leads."""

        def leader() -> str:
            found = self.lead()
            return found.host if found is not None and found.host in names and found.age_s < 10 else ""

        return str(wait_for(f"one of {', '.join(names)} leads", leader, timeout_s))

    def wait_until_ready(self, name: str, timeout_s: float = START_S) -> None:
        """Wait until the components of a service are ready, or stand by."""
        service = self.services[name]

        def is_ready() -> bool:
            assert service.process.poll() is None, service.log
            return "Podium is ready" in service.log

        service.wait_until(f"{name} is ready", is_ready, timeout_s)

    def stop_processes(self, name: str, number: int = signal.SIGSTOP) -> None:
        """Send a signal to all processes of a service, Ray's included; its machine stays up."""
        machine = self.services[name].machine
        entered = (
            [self.services[name].process.pid] if number == signal.SIGCONT else []
        )  # `nsenter` stops with its child
        for pid in [*machine.processes(), *entered]:
            if pid != machine.init:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    def finished(self, sweep_id: int) -> int:
        """How many trials of a sweep have finished."""
        return int(self.rows("SELECT count(*) FROM trials WHERE sweep_id = %s AND state = 'finished'", sweep_id)[0][0])

    def state(self, sweep_id: int) -> str:
        """The state of a sweep."""
        return str(self.rows("SELECT state FROM sweeps WHERE id = %s", sweep_id)[0][0])

    def count_problems(self, sweep_id: int, trials: int) -> dict[str, int]:
        """Trials of a finished sweep that are lost, or counted twice."""
        ((finished,),) = self.rows(
            "SELECT count(DISTINCT number) FROM trials WHERE sweep_id = %s AND state = 'finished'", sweep_id
        )
        twice = self.rows(
            "SELECT t.number FROM trials t JOIN attempts a ON a.trial_id = t.id AND a.state = 'finished'"
            " WHERE t.sweep_id = %s GROUP BY t.number HAVING count(*) > 1", sweep_id,
        )  # fmt: skip
        points = self.rows(
            "SELECT m.trial_id, m.step FROM metrics m JOIN trials t ON t.id = m.trial_id WHERE t.sweep_id = %s"
            " GROUP BY m.trial_id, m.name, m.step HAVING count(*) > 1", sweep_id,
        )  # fmt: skip
        return {"lost": trials - finished, "counted twice": len(twice) + len(points)}

    def audit(self) -> None:
        """Raises `AssertionError` if the doctor finds a breach; the services may run."""
        database = PostgresDatabase(self.server.url(DATABASE))
        try:
            assert_no_breaches(self.data, database)
        finally:
            database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name, service in self.services.items():
            self.stop_processes(name, signal.SIGCONT)
            service.kill()
        self.server.stop(immediately=True)
