"""The databases of a measurement, each with a place for Podium and one for Optuna: SQLite's files, or one server.

The server is Debian's PostgreSQL with its default settings, started for the measurement in a temporary folder, as the
user that owns it rather than root; clients use its socket. Its commits wait for the disk.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from optuna.storages import RDBStorage

from podium.api.serve.ports import free_port
from podium.db.schema.prepare_database import prepare
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.service_settings import ServiceSettings
from tests.postgres_server import PostgresServer, is_installed, new_server

# The defaults of PostgreSQL, in place of those of the tests.
_SETTINGS = {"shared_buffers": "128MB", "max_connections": "100", "autovacuum": "on", "max_wal_size": "1GB"}
MISSING = "PostgreSQL is not installed: apt-get install postgresql"


class Databases(Protocol):
    """New databases for one measurement after the other."""

    def podium(self, folder: Path) -> ServiceSettings:
        """The settings of a service with an empty database and this data directory."""

    def optuna(self, folder: Path) -> str:
        """The URL of an empty database, as Optuna and SQLAlchemy read it."""

    def settle(self) -> None:
        """Do after many writes what the database does by itself in the time until it is read."""


class SqliteFiles:
    """See `Databases`: files in the folder of the measurement."""

    def podium(self, folder: Path) -> ServiceSettings:
        """See `Databases`."""
        return _prepared(folder, None)

    def optuna(self, folder: Path) -> str:
        """See `Databases`."""
        folder.mkdir(parents=True, exist_ok=True)
        return f"sqlite:///{folder / 'optuna.sqlite3'}"

    def settle(self) -> None:
        """See `Databases`: nothing."""


class PostgresDatabases:
    """See `Databases`: on one server, which ends with this process."""

    def __init__(self) -> None:
        """Start the server. Raises `RuntimeError` if PostgreSQL is not installed."""
        if not is_installed():
            raise RuntimeError(MISSING)
        self._server: PostgresServer = new_server(**_SETTINGS)
        self._names = (f"measured_{number}" for number in itertools.count(1))
        self._filled: list[str] = []

    def podium(self, folder: Path) -> ServiceSettings:
        """See `Databases`."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "database.url"
        file.touch(mode=0o600)
        file.write_text(self._server.url(self._new()))
        return _prepared(folder, file)

    def optuna(self, folder: Path) -> str:
        """See `Databases`."""
        return self._server.url(self._new()).replace("postgresql:", "postgresql+psycopg:", 1)

    def settle(self) -> None:
        """See `Databases`: the work of autovacuum, which starts once a minute."""
        for name in self._filled:
            self._server.execute("VACUUM ANALYZE", name)

    @property
    def version(self) -> str:
        """The version of the server."""
        return self._server.version

    def _new(self) -> str:
        """The name of a new database; those of earlier measurements stay until the server ends."""
        name = next(self._names)
        self._server.create(name)
        self._filled.append(name)
        return name


@contextmanager
def optuna_storage(url: str) -> Iterator[RDBStorage]:
    """Optuna's storage in a database, whose connections are closed at the end. Optuna caches it where it is used."""
    storage = RDBStorage(url)
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _prepared(folder: Path, url_file: Path | None) -> ServiceSettings:
    data = DataDirectory(folder)
    data.prepare()
    prepare(data, url_file, "" if url_file is None else str(url_file))
    named = "" if url_file is None else str(url_file)
    return ServiceSettings(str(folder), str(folder / "run"), port=free_port(), database_url_file=named)
