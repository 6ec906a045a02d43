"""A PostgreSQL server for tests: starts Debian's package in a temporary folder, and ends with the process of the tests.

One server per process, thus one per worker of pytest-xdist. Its databases belong to a role without privileges.
"""

from __future__ import annotations

import atexit
import functools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

ROLE = "podium"  # owns the databases: neither a superuser nor a member of other roles
ADMIN = "postgres"
_TEMPLATE = "podium_template"
_START_S = 60.0
_SETTINGS = {"shared_buffers": "32MB", "max_connections": "50", "autovacuum": "off", "max_wal_size": "256MB"}


class PostgresServer:
    """A running server that listens on a socket in its folder, and on TCP only if its settings say so."""

    def __init__(self, folder: Path, binaries: Path, settings: dict[str, str]) -> None:
        self.folder = folder
        self._binaries = binaries
        self._settings = {**_SETTINGS, **settings}
        self._process: subprocess.Popen[bytes] | None = None
        self._prepared: set[str] = set()

    @property
    def version(self) -> str:
        """The version of the server, such as 15.14."""
        with psycopg.connect(self.url(ADMIN, ADMIN)) as connection:
            major, minor = divmod(connection.info.server_version, 10_000)
        return f"{major}.{minor}"

    @property
    def log(self) -> Path:
        """What the server writes."""
        return self.folder / "server.log"

    def url(self, database: str, role: str = ROLE) -> str:
        """The URL of a database, as users write it."""
        return f"postgresql://{role}@/{database}?host={self.folder}&port={self._settings.get('port', '5432')}"

    def start(self) -> None:
        """Start the server, also again after `stop`; returns when it accepts connections."""
        settings = {"listen_addresses": "", "unix_socket_directories": str(self.folder), **self._settings}
        arguments = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_as_owner("--pdeathsig=INT"), self._binaries / "postgres", "-D", self._data, *arguments],
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        until_s = time.monotonic() + _START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until_s:
                raise RuntimeError(f"PostgreSQL does not start: {self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    def stop(self, *, immediately: bool = False) -> None:
        """End all sessions and the server; `immediately` as after a crash."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGQUIT if immediately else signal.SIGINT)
        self._process.wait(_START_S)
        self._process = None

    def ensure_running(self) -> None:
        """Start the server again if it has ended, and wait until it accepts connections."""
        if self._process is not None and self._process.poll() is not None:
            self.start()
        until_s = time.monotonic() + _START_S
        while not self._answers():  # it recovers
            if self._process is None or self._process.poll() is not None or time.monotonic() > until_s:
                raise RuntimeError(f"PostgreSQL ended: {self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)

    def execute(self, statement: str | sql.Composed, database: str = ADMIN) -> None:
        """Execute a statement as superuser, outside a transaction."""
        with psycopg.connect(self.url(database, ADMIN), autocommit=True) as connection:
            connection.execute(statement if isinstance(statement, sql.Composed) else statement.encode())

    def create(self, name: str, template: str = "template0") -> None:
        """Create a database, in place of an earlier one of that name. A copy of an empty one takes 50 ms."""
        self.drop(name)
        statement = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {}")
        self.execute(statement.format(*map(sql.Identifier, (name, ROLE, template))))

    def drop(self, name: str) -> None:
        """Remove a database, and end its sessions."""
        self.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def template(self, name: str, prepare: Callable[[str], None]) -> str:
        """The name of a template, which `prepare` fills once per server, given the URL of an empty database."""
        full = f"{_TEMPLATE}_{name}"
        if full not in self._prepared:
            self.create(full)
            prepare(self.url(full))
            self._prepared.add(full)
        return full

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url(ADMIN, ADMIN)).close()
        except psycopg.OperationalError:
            return False
        return True


@functools.cache
def postgres_server() -> PostgresServer:
    """The server of this process; skips the test where PostgreSQL is not installed."""
    return new_server()


def is_installed() -> bool:
    """Whether there is a PostgreSQL that can be started."""
    return _binaries() is not None


def new_server(disk: Path | None = None, /, **settings: str) -> PostgresServer:
    """A server of its own, for tests that stop it or that need other settings; `disk`: a folder for its folder."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    place = disk or os.environ.get("PYTEST_DEBUG_TEMPROOT")
    folder = Path(tempfile.mkdtemp(prefix="podium-postgres-", dir=place))
    owner = pwd.getpwnam(ADMIN) if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    if disk is not None:
        disk.chmod(0o755)
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    made = PostgresServer(folder, binaries, settings)
    arguments = ("--locale=C", "--encoding=UTF8", f"--username={ADMIN}", "--auth=trust", "--no-sync")
    initdb = [*_as_owner(), str(binaries / "initdb"), "-D", str(folder / "data"), *arguments]
    subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd=folder)
    atexit.register(_remove, made)
    made.start()
    made.execute(f"CREATE ROLE {ROLE} LOGIN")
    return made


def _remove(server: PostgresServer) -> None:
    server.stop(immediately=True)
    shutil.rmtree(server.folder, ignore_errors=True)


def _as_owner(*options: str) -> list[str]:
    """The start of a command line: PostgreSQL refuses to run as root."""
    if os.getuid() == 0:
        options = (f"--reuid={ADMIN}", f"--regid={ADMIN}", "--init-groups", *options)
    return ["setpriv", *options]


def _binaries() -> Path | None:
    """The folder of `initdb` and `postgres`, which Debian does not put on the path; of the newest version."""
    found = [Path(path).parent for path in _installed() if (Path(path).parent / "postgres").exists()]
    return found[0] if found else None


def _installed() -> Iterable[Path]:
    on_path = shutil.which("initdb")
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: -float(path.parts[4]))
    return ([Path(on_path).resolve()] if on_path else []) + packaged
