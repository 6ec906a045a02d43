"""Backs up a service, also while it runs: a snapshot of its database, then the files that it names; `podium backup`.

`python -P -m podium.db.copies.full_backup DATA_DIR PLACE [--postgres] [--url-file FILE] [--credentials FILE]
[--datasets]` prints one line of JSON, or an error message and exits 3. Contents that the backup has already are not
copied again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import select, text

from podium.db.copies import snapshot_file_list
from podium.db.copies.backup_file_copy import BackupFiles
from podium.db.copies.backup_manifest import Manifest
from podium.db.copies.backup_repository import BackupRepository
from podium.db.copies.database_snapshot import DatabaseSnapshot, postgres_snapshot, sqlite_snapshot
from podium.db.schema.error_exit import exit_with_message
from podium.db.schema.postgres_url_source import database_url
from podium.db.schema.tables import service
from podium.db.schema.unfinished_copy import refuse_unfinished
from podium.sweep.file_store.object_store_url import load_credentials
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.runtime.package_versions import versions

Say = Callable[[str], None]
MAX_PROBLEMS = 20  # in the result; the manifest has all


@dataclass(frozen=True, slots=True)
class BackupResult:
    """A complete snapshot."""

    place: str
    snapshot: str
    files: int
    bytes: int
    copied_files: int  # the backup had the others already
    copied_bytes: int
    removed: int
    problems: tuple[str, ...]
    problem_count: int


def full_backup(
    data: DataDirectory,
    repository: BackupRepository,
    snapshot: Callable[[Path], AbstractContextManager[DatabaseSnapshot]],
    *,
    datasets: bool = False,
    say: Say = lambda _: None,
) -> BackupResult:
    """Back up the service. `snapshot` makes that of its database in a folder.

    Raises `DatabaseError`, `FileStoreError`, or `ServiceError` for a place that cannot be used.
    """
    with repository.spool(data.root) as spool, snapshot(spool) as taken:
        created_at, rows = time.time(), taken.connection
        name = rows.execute(select(service.c.name)).scalar_one()
        schema = rows.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
        refuse_unfinished(str(data.root), schema)
        named = snapshot_file_list.named_files(rows, data)
        others = list(snapshot_file_list.other_files(rows, data, datasets=datasets))
        blocks = snapshot_file_list.data_sets(rows)
        taken.end_reading()
        repository.claim(name)
        repository.scan()
        database = repository.add(taken.file, taken.file.name, spool).file
        files = BackupFiles(data, repository, taken.live, spool, say)
        for file in named:
            files.add_named(file)
        for path in others:
            files.add_other(path)
        manifest = Manifest(
            service=name,
            created_at=created_at,
            podium_version=versions().get("podium", ""),
            schema=schema,
            kind=taken.kind,
            database=database,
            files=tuple(files.files.values()),
            removed=tuple(files.removed),
            problems=tuple(files.problems),
            data=tuple(blocks),
        )
    return _result(repository, repository.save(manifest), manifest, files.copied_bytes)


def _result(repository: BackupRepository, name: str, manifest: Manifest, copied_bytes: Sequence[int]) -> BackupResult:
    return BackupResult(
        place=repository.name,
        snapshot=name,
        files=len(manifest.files),
        bytes=sum(file.size_bytes for file in (*manifest.files, manifest.database)),
        copied_files=len(copied_bytes),
        copied_bytes=sum(copied_bytes),
        removed=len(manifest.removed),
        problems=manifest.problems[:MAX_PROBLEMS],
        problem_count=len(manifest.problems),
    )


def main() -> None:
    """Back up what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("place")
    parser.add_argument("--credentials", type=Path)
    parser.add_argument("--datasets", action="store_true")
    parser.add_argument(
        "--postgres", action="store_true", help="the database at the URL in the environment or --url-file"
    )
    parser.add_argument("--url-file", type=Path)
    arguments = parser.parse_args()
    with exit_with_message():
        if arguments.credentials is not None:
            load_credentials(arguments.credentials, "--credentials")
        data = DataDirectory(arguments.data_dir)
        done = full_backup(
            data,
            BackupRepository.open(arguments.place),
            partial(postgres_snapshot, database_url(arguments.url_file))
            if arguments.postgres
            else partial(sqlite_snapshot, data.database),
            datasets=arguments.datasets,
            say=lambda line: print(line, file=sys.stderr, flush=True),
        )
        print(json.dumps(asdict(done)))


if __name__ == "__main__":
    main()
