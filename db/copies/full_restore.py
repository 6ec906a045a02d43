"""Restores a snapshot of a backup into an empty data directory; a separate process, which `podium restore` starts.

`python -P -m podium.db.copies.full_restore PLACE DATA_DIR [--snapshot NAME] [--credentials FILE] [--list]` prints
one line of JSON, or an error message and exits 3. The database comes last, so that nothing starts on a part of the
files. A restore that was interrupted continues when it is started again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from sqlalchemy import Connection, delete

from podium.db.copies.backup_manifest import BackedUpFile, Manifest, RemovedFile
from podium.db.copies.backup_repository import BackupRepository
from podium.db.schema import dialect
from podium.db.schema.database import Database
from podium.db.schema.database_binding import DatabaseBinding
from podium.db.schema.error_exit import exit_with_message
from podium.db.schema.postgres_url_source import database_url
from podium.db.schema.schema_version import known_schema
from podium.db.schema.sqlite_database import SqliteDatabase
from podium.db.schema.tables import artifacts, removed_artifacts
from podium.sweep.file_store.object_store_url import load_credentials
from podium.sweep.runtime.atomic_files import write_atomic
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.safe_file_reads import sha256_of
from podium.sweep.values.errors import DatabaseError, DataDirectoryError

Say = Callable[[str], None]
SAY_EVERY_S = 2.0


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """A complete data directory."""

    data_dir: str
    snapshot: str
    created_at: float  # of the snapshot
    files: int
    bytes: int
    removed: int  # files that the service had removed before they were copied
    problems: tuple[str, ...]  # files that were missing or damaged in the service that was backed up


def full_restore(
    repository: BackupRepository,
    data: DataDirectory,
    *,
    snapshot: str | None = None,
    url: str | None = None,
    url_file: str = "",
    say: Say = lambda _: None,
) -> RestoreResult:
    """Restore a snapshot, by default the newest. `url`: of an empty PostgreSQL database, if the snapshot has one;
    `url_file`: with it, which the data directory records.

    Raises `DatabaseError`, `DataDirectoryError` or `FileStoreError`.
    """
    name, manifest = repository.manifest(snapshot)
    known_schema(f"the snapshot {name}", manifest.schema)
    _check_kind(manifest, name, url)
    _begin(data, {"place": repository.name, "snapshot": name})
    data.prepare()
    said_s = time.monotonic()
    for number, file in enumerate(manifest.files, 1):
        _restore_file(repository, file, data)
        if time.monotonic() - said_s > SAY_EVERY_S:
            said_s = time.monotonic()
            say(f"{number:,} of {len(manifest.files):,} files restored")
    _restore_database(repository, manifest, data=data, url=url, url_file=url_file)
    data.unfinished_restore.unlink()
    return RestoreResult(
        data_dir=str(data.root),
        snapshot=name,
        created_at=manifest.created_at,
        files=len(manifest.files),
        bytes=sum(file.size_bytes for file in (*manifest.files, manifest.database)),
        removed=len(manifest.removed),
        problems=manifest.problems,
    )


def _begin(data: DataDirectory, what: dict[str, str]) -> None:
    """Record what is being restored. Raises `DataDirectoryError` unless the folder is empty, or has a part of it."""
    content = json.dumps(what).encode()
    found = {path.name for path in data.root.iterdir()} - {data.service_lock.name}
    if data.unfinished_restore.name in found:
        if data.unfinished_restore.read_bytes() != content:
            raise DataDirectoryError(f"{data.root} has a part of another snapshot; empty it, and start again")
    elif found:
        raise DataDirectoryError(
            f"{data.root} is not empty (it has {', '.join(sorted(found)[:3])}); give a new folder with --data-dir"
        )
    write_atomic(data.unfinished_restore, content, mode=0o600)


def _restore_file(repository: BackupRepository, file: BackedUpFile, data: DataDirectory) -> None:
    path = data.root / file.key
    if not path.resolve().is_relative_to(data.root.resolve()):
        raise DatabaseError(f"{repository.name}: the manifest names {file.key!r}, which is not in a data directory")
    if not (path.is_file() and path.stat().st_size == file.size_bytes and sha256_of(path) == file.sha256):
        repository.fetch(file, path)


def _restore_database(
    repository: BackupRepository, manifest: Manifest, data: DataDirectory, url: str | None, url_file: str
) -> None:
    """Write the database, with the record of the files that were removed before they were copied."""
    incomplete = data.database.with_name(f".{manifest.database.key}.restored.tmp")
    try:
        repository.fetch(manifest.database, incomplete)
        if url is None:
            _write_removed(SqliteDatabase(incomplete), manifest)
            incomplete.replace(data.database)
        else:
            _restore_postgres(url, incomplete, manifest=manifest, data=data, url_file=url_file)
    finally:
        incomplete.unlink(missing_ok=True)


def _restore_postgres(url: str, file: Path, manifest: Manifest, data: DataDirectory, url_file: str) -> None:
    from podium.db.copies import pg_dump_and_restore
    from podium.db.schema.postgres_database import PostgresDatabase

    pg_dump_and_restore.restore(url, file)
    database = PostgresDatabase(url)
    _write_removed(database, manifest)
    DatabaseBinding(manifest.service, database.name, url_file).save(data)


def _write_removed(database: Database, manifest: Manifest) -> None:
    try:
        with database.write() as connection:
            record_removed(connection, manifest.removed)
    finally:
        database.close()


def _check_kind(manifest: Manifest, name: str, url: str | None) -> None:
    """Raises `DatabaseError` if the snapshot is of the other kind of database."""
    if manifest.kind == "sqlite" and url is not None:
        raise DatabaseError(
            f"the snapshot {name} has an SQLite database: restore it without a URL of a database, then move it by "
            "`podium db copy to-postgres`"
        )
    if manifest.kind != "sqlite" and url is None:
        raise DatabaseError(
            f"the snapshot {name} has a PostgreSQL database: give the URL of an empty one by --database-url-file"
        )


def record_removed(connection: Connection, removed: tuple[RemovedFile, ...]) -> None:
    """Record that these files do not exist, as the service did after the snapshot."""
    for file in removed:
        mine = (artifacts.c.trial_id == file.trial_id) & (artifacts.c.name == file.name)
        rows = connection.execute(delete(artifacts).where(mine).returning(artifacts)).mappings().all()
        for row in rows:
            values = {**row, "reason": file.reason, "at": file.at, "gone": True}
            statement = dialect.insert(removed_artifacts).values(values)
            connection.execute(statement.on_conflict_do_update(index_elements=["trial_id", "name"], set_=values))


def main() -> None:
    """Restore what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("place")
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--snapshot")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--url-file", type=Path)
    parser.add_argument("--credentials", type=Path)
    arguments = parser.parse_args()
    with exit_with_message():
        if arguments.credentials is not None:
            load_credentials(arguments.credentials, "--credentials")
        repository = BackupRepository.open(arguments.place)
        if arguments.list:
            print(json.dumps({"place": repository.name, "snapshots": repository.snapshots()}))
            return
        done = full_restore(
            repository,
            DataDirectory(arguments.data_dir),
            snapshot=arguments.snapshot,
            url=database_url(arguments.url_file) if arguments.postgres else None,
            url_file=str(arguments.url_file or ""),
            say=lambda line: print(line, file=sys.stderr, flush=True),
        )
        print(json.dumps(asdict(done)))


if __name__ == "__main__":
    main()
