"""Calls `pg_dump` and `pg_restore`; the processes of `podium backup`, `podium restore` and of `podium db`.

They get the URL in a service file that only this user may read: an argument is visible to all users of the machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Connection, inspect, text

from podium.db.schema.postgres_database import PostgresDatabase
from podium.sweep.values.errors import DatabaseError

_VERSION = re.compile(r"\(PostgreSQL\) (\d+)")
_OPTIONS = ("--no-owner", "--no-privileges")  # whoever restores it owns it
_DEBIAN = Path("/usr/lib/postgresql")


def dump(url: str, file: Path, *, snapshot: str | None = None) -> None:
    """Write a database to a file in the custom format. `snapshot`: one that a transaction has exported.

    Raises `DatabaseError`.
    """
    arguments = ["--format=custom", *_OPTIONS, f"--file={file}"]
    if snapshot is not None:
        arguments.append(f"--snapshot={snapshot}")
    file.touch(mode=0o600)
    _run(url, "pg_dump", *arguments)


def restore(url: str, file: Path) -> None:
    """Write the content of a file into an empty database, in one transaction. Raises `DatabaseError`."""
    _refuse_content(url)
    _run(url, "pg_restore", *_OPTIONS, "--single-transaction", "--exit-on-error", "--dbname=service=podium", str(file))


def exported_snapshot(connection: Connection) -> str:
    """The name of the snapshot of a transaction, which is valid until its end."""
    name: str = connection.execute(text("SELECT pg_export_snapshot()")).scalar_one()
    return name


def _run(url: str, program: str, *arguments: str) -> None:
    path = _program(url, program)
    with _service_file(url) as environment:
        done = subprocess.run(
            [path, *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error:" in line] or [f"exit status {done.returncode}"]
        raise DatabaseError(f"{program} failed: {lines[0].partition('error: ')[2] or lines[0]}")


def _program(url: str, name: str) -> str:
    """The newest installed version. Raises `DatabaseError` if there is none, or only one older than the server."""
    server = _server_version(url)
    found = {version: path for path in _installed(name) if (version := _version_of(path))}
    if not found:
        raise DatabaseError(f"{name} is not installed; install PostgreSQL's client programs (postgresql-client)")
    newest = max(found)
    if newest < server:
        raise DatabaseError(
            f"{name} has version {newest}, and the server of the database PostgreSQL {server}: it cannot read a newer "
            f"server; install postgresql-client-{server}"
        )
    return found[newest]


def _installed(name: str) -> list[str]:
    on_path = shutil.which(name)
    return [*([on_path] if on_path else []), *(str(path) for path in _DEBIAN.glob(f"*/bin/{name}"))]


def _version_of(program: str) -> int:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    match = _VERSION.search(done.stdout)
    return 0 if match is None else int(match[1])


def _server_version(url: str) -> int:
    database = PostgresDatabase(url)
    try:
        with database.read() as connection:
            return int(connection.execute(text("SHOW server_version_num")).scalar_one()) // 10_000
    finally:
        database.close()


def _refuse_content(url: str) -> None:
    database = PostgresDatabase(url)
    try:
        with database.read() as connection:
            tables = inspect(connection).get_table_names()
    finally:
        database.close()
    if tables:
        raise DatabaseError(f"{database.name} is not empty: it has {sorted(tables)[0]}; give an empty database")


@contextmanager
def _service_file(url: str) -> Iterator[dict[str, str]]:
    """The environment in which PostgreSQL's programs connect to the database."""
    with tempfile.NamedTemporaryFile("w", prefix="podium-", suffix=".conf") as file:  # of mode 0600
        file.write("[podium]\n" + "".join(f"{name}={value}\n" for name, value in conninfo_to_dict(url).items()))
        file.flush()
        yield {**os.environ, "PGSERVICEFILE": file.name, "PGSERVICE": "podium", "LC_ALL": "C"}
