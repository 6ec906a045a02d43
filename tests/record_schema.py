"""Records a database of each schema, written by the version of Podium that had it: `python -m tests.record_schema`.

`python -m tests.record_schema [SCHEMA...]` starts the service of a commit of that version in an environment of its own,
lets `tests/fixtures/schemas/workload.py` use it, and stores a backup of its database, taken while a sweep runs, as SQL
text in `tests/fixtures/schemas/SCHEMA.sql.gz`. Without arguments, it records the schema of the current commit. A schema
that no commit had as its newest one is made from the next one by its migration. Of the schemas in `WITH_FILES`, the
data directory is stored as well. Those in `STOPPED` are recorded a second time as `SCHEMA-stopped`, after the service
was stopped while its sweep ran, and of those in `ON_POSTGRES` the tables of a PostgreSQL database.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

from alembic import command

from podium.db.schema.migrate import alembic_config
from podium.db.schema.schema_version import newest_schema
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.sweep.runtime.layout import DataDirectory
from tests.postgres_server import new_server
from tests.recorded_schemas import FOLDER, archive_of, file_of, postgres_file_of, restore, stopped
from tests.repository import ROOT

# The last commit with each schema.
COMMITS = {
    "0001": "1bcae25aa", "0002": "65b4ec0f5", "0003": "9471f9daa", "0004": "845b754fb", "0005": "5e568dba1",
    "0006": "bf4d6e8fc", "0007": "aa77182ec", "0010": "77f4efb65", "0011": "686562544", "0013": "898003594",
    "0014": "4cea8a1e", "0015": "30d7adbd", "0016": "048cd93d4", "0017": "65a19cae7", "0018": "8075f0821",
}  # fmt: skip
FROM_THE_NEXT = {"0008": "0009", "0009": "0010", "0012": "0013"}
WITH_FILES = ("0011", "0013", "0014")
STOPPED = ("0014",)
ON_POSTGRES = ("0014",)  # it is the first schema that ran on PostgreSQL
FILES = ("bundles", "evaluations", "trials")  # of a data directory; data sets are prepared again
NAME = "podium_recorded"  # a PostgreSQL database
READY_S = 120.0


def main() -> None:
    """Record the schemas named on the command line."""
    for schema in sys.argv[1:] or [newest_schema()]:
        if schema in FROM_THE_NEXT:
            derive(schema, FROM_THE_NEXT[schema])
        else:
            record(schema, COMMITS.get(schema, "HEAD"))
        if schema in ON_POSTGRES:
            record_postgres(schema, COMMITS.get(schema, "HEAD"))
        print(f"{file_of(schema).relative_to(ROOT)}: {file_of(schema).stat().st_size:,} bytes")


def record(schema: str, commit: str) -> None:
    """Store the database of a service of this commit, which has used its tables."""
    with tempfile.TemporaryDirectory(prefix="podium-recorded-") as folder, checkout(Path(folder), commit) as python:
        data = DataDirectory(Path(folder) / "data")
        copy = Path(folder) / "copy.sqlite3"
        with service(python, data):
            subprocess.run([python, FOLDER / "workload.py", data.root, schema], check=True)
            subprocess.run(
                [python, "-P", "-m", "podium.api.cli.app", "db", "backup", copy, "--data-dir", data.root], check=True
            )
        store(schema, copy, folder)
        if schema in WITH_FILES:
            store_files(schema, data)
        if schema in STOPPED:
            with service(python, data, ended_by=signal.SIGTERM):
                subprocess.run([python, FOLDER / "workload.py", data.root, schema, "again"], check=True)
            store(stopped(schema), data.database, folder)
            store_files(stopped(schema), data)


def store_files(name: str, data: DataDirectory) -> None:
    """Write an archive of the files of a data directory."""
    with tarfile.open(archive_of(name), "w:gz", compresslevel=9) as archive:
        for folder in FILES:
            if (data.root / folder).exists():
                archive.add(data.root / folder, folder, filter=anonymous)


def record_postgres(schema: str, commit: str) -> None:
    """Store the tables of a new PostgreSQL database of this commit."""
    server = new_server()
    server.create(NAME)
    imports = "import sys; from podium.db.schema.postgres_schema_upgrade import migrate_postgres"
    create = f"{imports}; migrate_postgres(sys.argv[1])"
    with tempfile.TemporaryDirectory(prefix="podium-recorded-") as folder, checkout(Path(folder), commit) as python:
        subprocess.run([python, "-P", "-c", create, server.url(NAME)], check=True)
    dump = ["pg_dump", "--schema-only", "--no-owner", "--no-privileges", "--no-comments", server.url(NAME)]
    text = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if line and not line.startswith(("--", "\\"))]
    postgres_file_of(schema).write_bytes(gzip.compress("\n".join(lines).encode(), 9, mtime=0))


def derive(schema: str, newer: str) -> None:
    """Store the database of a schema that no version had alone: that of the next one, downgraded."""
    with tempfile.TemporaryDirectory() as folder:
        path = restore(newer, Path(folder) / "copy.sqlite3")
        database = SqliteDatabase(path)
        config = alembic_config()
        with database.write() as connection:
            config.attributes["connection"] = connection
            command.downgrade(config, schema)
        database.close()
        store(schema, path, folder)


@contextlib.contextmanager
def checkout(folder: Path, commit: str) -> Iterator[Path]:
    """The Python of an environment with Podium of this commit, and the packages of this one."""
    tree = folder / "tree"
    subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", "--quiet", tree, commit], check=True)
    try:
        venv.create(folder / "venv", with_pip=False, symlinks=True)
        (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
        packages = [path for path in sys.path if path.endswith("site-packages")]
        (site / "podium.pth").write_text("\n".join([str(tree / "src"), *packages]))
        yield folder / "venv" / "bin" / "python"
    finally:
        subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True)


@contextlib.contextmanager
def service(python: Path, data: DataDirectory, *, ended_by: signal.Signals = signal.SIGKILL) -> Iterator[None]:
    """A service that runs in the block, and is killed at its end, as by a power failure, or stopped."""
    podium: list[str | Path] = [python, "-P", "-m", "podium.api.cli.app"]
    options: list[str | Path] = ["--data-dir", data.root, "--devices", "cpu:2", "--port", "0", "--gateway-port", "0"]
    started = subprocess.Popen([*podium, "serve", *options], env={**os.environ, "RECORDING": "1"})
    try:
        end = time.monotonic() + READY_S
        while subprocess.run([*podium, "status", "--data-dir", data.root], capture_output=True, check=False).returncode:
            if time.monotonic() > end or started.poll() is not None:
                raise TimeoutError(f"the service is not ready within {READY_S:g} s")
            time.sleep(1.0)
        yield
    finally:
        started.send_signal(ended_by)
        started.wait()
        time.sleep(3.0)  # its processes end with it


def store(schema: str, path: Path, folder: str) -> None:
    """Write the database as SQL text, without the names of this machine and of the folder."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        lines = "\n".join(connection.iterdump())
    text = re.sub(rf"\b{re.escape(socket.gethostname())}\b", "node", lines.replace(folder, "/srv/recorded"))
    text = re.sub(r"/tmp/podium-\d+-[0-9a-f]+", "/run/podium", text)
    file_of(schema).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """An entry of the archive, without its owner."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    main()
