"""`podium db backup|restore|upgrade` on a PostgreSQL database; a separate process.

`python -P -m podium.db.copies.postgres_backup_and_upgrade backup FILE [--force] | restore FILE | upgrade`, each with
`[--url-file FILE]`, prints one line of JSON, or an error message and exits 3.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from alembic.migration import MigrationContext

from podium.db.copies import pg_dump_and_restore
from podium.db.copies.postgres_in_use_check import refuse_service
from podium.db.schema.error_exit import exit_with_message
from podium.db.schema.postgres_database import PostgresDatabase
from podium.db.schema.postgres_schema_upgrade import migrate_postgres
from podium.db.schema.postgres_url_source import database_url
from podium.db.schema.schema_version import known_schema
from podium.sweep.values.errors import DatabaseError


def backup(url: str, file: Path, *, force: bool = False) -> int:
    """Write the database to a file in the custom format of `pg_dump`, which appears complete; returns its size.

    The service may be running. Raises `DatabaseError`.
    """
    if file.exists() and not force:
        raise DatabaseError(f"{file} exists; give another file, or overwrite it with --force")
    if file.is_dir():
        raise DatabaseError(f"{file} is a folder; give a file in it")
    schema_of(url)
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        pg_dump_and_restore.dump(url, temporary)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(file)
    except OSError as error:
        raise DatabaseError(f"cannot write {file}: {error.strerror}; give another file") from error
    finally:
        temporary.unlink(missing_ok=True)
    return file.stat().st_size


def restore(url: str, file: Path) -> str:
    """Write the content of a file of `backup` into an empty database; returns its schema. Raises `DatabaseError`."""
    if not file.is_file():
        raise DatabaseError(f"there is no file {file}; give one of `podium db backup`")
    pg_dump_and_restore.restore(url, file)
    return schema_of(url)


def upgrade(url: str) -> dict[str, Any]:
    """Upgrade the database, in one transaction, while no service uses it. Raises `DatabaseError`."""
    database = PostgresDatabase(url)
    try:
        refuse_service(database, database.name)
    finally:
        database.close()
    return asdict(migrate_postgres(url))


def schema_of(url: str) -> str:
    """The schema of a database. Raises `DatabaseError` if it is not Podium's, an unfinished copy, or newer."""
    database = PostgresDatabase(url)
    try:
        with database.read() as connection:
            found = MigrationContext.configure(connection).get_current_revision()
    finally:
        database.close()
    if found is None:
        raise DatabaseError(f"{database.name} is not a Podium database, or empty")
    return known_schema(database.name, found)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("backup", "restore", "upgrade"))
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--url-file", type=Path)
    parser.add_argument("--force", action="store_true")
    arguments = parser.parse_args()
    with exit_with_message():
        url = database_url(arguments.url_file)
        if arguments.command == "backup":
            size = backup(url, arguments.file, force=arguments.force)
            done = {"path": str(arguments.file), "bytes": size}
        elif arguments.command == "restore":
            done = {"path": str(arguments.file), "schema": restore(url, arguments.file), "kept": None}
        else:
            done = upgrade(url)
        print(json.dumps(done))


if __name__ == "__main__":
    main()
