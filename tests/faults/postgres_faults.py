"""Faults of a PostgreSQL server below a running service: each lasts for a moment, then the server works again."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg

from podium.api.serve.ports import free_port
from tests.faults.commit_proxy import CommitProxy
from tests.faults.service_under_fire import NotHealthyError
from tests.postgres_server import ROLE, PostgresServer, new_server

NAME = "podium_faults"
NOTICED_S = 1.0  # for a component to end because of it
LASTS_S = 4.0  # of a fault that the server stays in
CONNECTIONS = 40
DISK = "disk full"
FILLS_S = 40.0  # until a server on a full disk needs space
_DISK_MB = 320
_NO_SPACE = b"No space left on device"
_SESSIONS = "FROM pg_stat_activity WHERE application_name LIKE 'podium%'"  # with a suffix in those that lead


class FaultedServer:
    """A server behind a proxy, with its data in a small file system if this process may mount one."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._undo = ExitStack()
        self._port = free_port()
        disk = _small_disk() if os.getuid() == 0 else None
        self._disk = None if disk is None else self._undo.enter_context(disk)
        settings = {"listen_addresses": "127.0.0.1", "port": str(self._port), "max_connections": str(CONNECTIONS)}
        settings |= {"min_wal_size": "32MB", "max_wal_size": "64MB"}
        self.server: PostgresServer = new_server(self._disk, **settings)
        self.server.create(NAME)
        self.proxy = CommitProxy(self._port)
        self.faults: dict[str, Callable[[], None]] = {
            "server restarted": self._restart,
            "server killed": self._crash,
            "server away": self._away,
            "session killed": self._kill_session,
            "COMMIT without answer": self._lose_answer,
            "no free connection": self._exhaust,
            "server read-only": self._make_read_only,
        }
        if self._disk is not None:
            self.faults[DISK] = self._fill_disk

    @property
    def url(self) -> str:
        """The URL of the database, through the proxy."""
        return f"postgresql://{ROLE}@127.0.0.1:{self.proxy.port}/{NAME}"

    def close(self) -> None:
        """Stop the server, and remove its disk."""
        self.proxy.close()
        self.server.stop(immediately=True)
        self._undo.close()

    def _restart(self) -> None:
        self.server.stop()
        self.server.start()

    def _crash(self) -> None:
        self.server.stop(immediately=True)
        self.server.start()

    def _away(self) -> None:
        self.server.stop(immediately=True)
        time.sleep(LASTS_S)
        self.server.start()

    def _kill_session(self) -> None:
        self.server.execute(f"SELECT pg_terminate_backend(pid) {_SESSIONS} ORDER BY random() LIMIT 1")

    def _lose_answer(self) -> None:
        before = self.proxy.cuts
        self.proxy.cut_next_commit()
        until_s = time.monotonic() + 10.0
        while self.proxy.cuts == before and time.monotonic() < until_s:
            time.sleep(0.01)
        time.sleep(NOTICED_S)

    def _exhaust(self) -> None:
        """Take all connections, also those that the service has."""
        taken = []
        try:
            with psycopg.connect(self.server.url(NAME, "postgres"), autocommit=True) as admin:
                until_s = time.monotonic() + LASTS_S
                while time.monotonic() < until_s:
                    admin.execute(f"SELECT pg_terminate_backend(pid) {_SESSIONS}".encode())
                    with suppress(psycopg.OperationalError):
                        while True:
                            taken.append(psycopg.connect(self.server.url(NAME)))
                    time.sleep(0.05)
        finally:
            for connection in taken:
                connection.close()

    def _make_read_only(self) -> None:
        """As after a failover to a standby that is not promoted."""
        self.server.execute(f"ALTER DATABASE {NAME} SET default_transaction_read_only = on")
        self.server.execute(f"SELECT pg_terminate_backend(pid) {_SESSIONS}")
        time.sleep(LASTS_S)
        self.server.execute(f"ALTER DATABASE {NAME} RESET default_transaction_read_only")
        self.server.execute(f"SELECT pg_terminate_backend(pid) {_SESSIONS}")

    def _fill_disk(self) -> None:
        """Fill the file system of the server, which may end because of it."""
        assert self._disk is not None
        log_start = self.server.log.stat().st_size
        ballast = self._disk / "ballast"
        with suppress(OSError), ballast.open("wb") as file:
            while True:
                file.write(bytes(1 << 16))
                file.flush()
        until_s = time.monotonic() + FILLS_S
        while _NO_SPACE not in self.server.log.read_bytes()[log_start:]:
            if time.monotonic() > until_s:
                raise NotHealthyError(f"the server needed no space within {FILLS_S:g} s: the fault had no effect")
            time.sleep(0.1)
        time.sleep(LASTS_S)
        ballast.unlink()
        self.server.ensure_running()


@contextmanager
def _small_disk() -> Iterator[Path]:
    """A file system in memory."""
    folder = Path(tempfile.mkdtemp(prefix="podium-postgres-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK_MB}m", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)
        folder.rmdir()
