"""Which PostgreSQL database a data directory belongs to, recorded in the directory; every process that opens one.

Rows name files of the data directory, and ids of both must match: neither is of use with another one. A directory
without this record has its database in a file of its own, or none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from podium.db.schema.postgres_url_source import VARIABLE
from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.runtime_directory import RuntimeDirectory
from podium.sweep.values.errors import DatabaseError


@dataclass(frozen=True, slots=True)
class DatabaseBinding:
    """The database of a data directory. It contains no password."""

    service: str  # the random name of the service, which is in the database, too
    database: str  # where it was when it was last used, for messages
    url_file: str  # with the URL; "": the URL was in the environment

    def save(self, data: DataDirectory) -> None:
        """Write it into the data directory. Raises `OSError`."""
        write_atomic(data.database_binding, json.dumps(asdict(self)).encode(), mode=0o600)


def recorded(data: DataDirectory) -> DatabaseBinding | None:
    """The PostgreSQL database of a data directory; None without one. Raises `DatabaseError`."""
    file = data.database_binding
    try:
        return DatabaseBinding(**json.loads(file.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise DatabaseError(f"cannot read {file}, which names the database of this directory: {error}") from error


def forget(data: DataDirectory) -> None:
    """The database of the data directory is a file in it again. Raises `OSError`."""
    data.database_binding.unlink(missing_ok=True)


def is_postgres(data: DataDirectory, url_file: Path | None = None) -> bool:
    """Whether the database is PostgreSQL's: by the option of a command, the environment, or the data directory."""
    return url_file is not None or bool(os.environ.get(VARIABLE)) or data.database_binding.exists()


def url_file_of(data: DataDirectory, url_file: Path | None = None) -> Path | None:
    """The file with the URL of the database; None if the URL is in the environment, or the database in SQLite's file.

    Without the option `url_file` of a command and without a variable of the environment, it is the file that the
    service was started with, or the one that a service which runs has for its components. Raises `DatabaseError` if
    there is none.
    """
    running = [RuntimeDirectory.of(each).database_url for each in (data, *data.services())]
    return _first_file(data, url_file, running)


def url_file_to_start_with(data: DataDirectory, url_file: Path | None = None) -> Path | None:
    """The same for a service that starts, which does not use the files of other services: they end with these."""
    return _first_file(data, url_file, ())


def _first_file(data: DataDirectory, url_file: Path | None, running: Sequence[Path]) -> Path | None:
    if url_file is not None or os.environ.get(VARIABLE):
        return url_file
    binding = recorded(data)
    if binding is None:
        return None
    files = [Path(binding.url_file)] if binding.url_file else []
    for file in (*files, *running):
        if file.exists():
            return file
    raise DatabaseError(
        f"the database of {data.root} is {binding.database}: give its URL by --database-url-file FILE or ${VARIABLE}"
    )
