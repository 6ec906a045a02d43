"""`podium db backup|restore|check|upgrade|copy`: the database of a service, with or without it running; CLI."""

from __future__ import annotations

import sys
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.lazy_groups import group
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DatabaseUrlFile, DataDir
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DatabaseError

app = group()


@app.command()
def backup(
    file: Annotated[Path | None, typer.Argument(help="target file; default: a new file in DATA_DIR/backups")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    force: Annotated[bool, typer.Option("--force", help="overwrite the file if it exists")] = False,
    url_file: DatabaseUrlFile = None,
    as_json: AsJson = False,
) -> None:
    """Copy the database to a file; the service may be running. A PostgreSQL database is written by pg_dump."""
    data, run = DataDirectory(data_dir.absolute()), lazy_imports.database_subprocess.run
    postgres, options = lazy_imports.database_binding.is_postgres(data, url_file), ["--force"] if force else []
    suffix = "pgdump" if postgres else "sqlite3"
    target = (file or data.backups / f"podium-{datetime.now().astimezone():%Y-%m-%d-%H%M%S}.{suffix}").absolute()
    if postgres:
        done = run("copies.postgres_backup_and_upgrade", "backup", target, *options, *_named(data, url_file))
    else:
        done = run("schema.online_backup", data.database, target, *options)
    if as_json:
        lazy_imports.terminal_output.print_json(done)
    else:
        lazy_imports.terminal_output.console.print(f"{done['path']}: {done['bytes'] / 1e6:,.1f} MB", soft_wrap=True)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a file of `podium db backup`")],
    data_dir: DataDir = DEFAULT_DATA_DIR,
    url_file: DatabaseUrlFile = None,
    as_json: AsJson = False,
) -> None:
    """Replace the database of a stopped service by a backup.

    The replaced database is kept in DATA_DIR/backups. With PostgreSQL, the backup is written into an empty database.
    """
    data = DataDirectory(data_dir.absolute())
    if lazy_imports.database_binding.is_postgres(data, url_file):
        named = _named(data, url_file)
        done = lazy_imports.database_subprocess.run(
            "copies.postgres_backup_and_upgrade", "restore", file.absolute(), *named
        )
    else:
        data = _existing(data_dir)
        with lazy_imports.all_services_locked(data, "stop it before a restore"):
            done = lazy_imports.database_subprocess.run("copies.sqlite_restore", file.absolute(), data.database)
    if as_json:
        lazy_imports.terminal_output.print_json(done)
        return
    kept = "" if done["kept"] is None else f"; the replaced database: {done['kept']}"
    _print(f"restored {done['path']}, schema {done['schema']}{kept}")


@app.command()
def check(data_dir: DataDir = DEFAULT_DATA_DIR, url_file: DatabaseUrlFile = None, as_json: AsJson = False) -> None:
    """Check the database for damage, and its file system or server. Exits with 1 if there are problems."""
    data = DataDirectory(data_dir.absolute())
    if lazy_imports.database_binding.is_postgres(data, url_file):
        file = lazy_imports.database_binding.url_file_of(data, url_file)
        found = lazy_imports.database_subprocess.run("integrity.postgres_check", *([] if file is None else [file]))
    else:
        found = lazy_imports.database_subprocess.run("schema.integrity_check", data.database)
    if as_json:
        lazy_imports.terminal_output.print_json(found)
    else:
        _print(f"{found['path']}: {'ok' if not found['problems'] else 'not ok'}; {_described(found)}")
        for kind, lines in (("problem", found["problems"]), ("advice", found["advice"])):
            for line in lines:
                _print(f"{kind}: {line}")
    raise typer.Exit(1 if found["problems"] else 0)


def _described(found: dict[str, Any]) -> str:
    about = f"{found['bytes'] / 1e6:,.1f} MB, schema {found['schema'] or '–'}, "
    if "server" in found:
        return f"{about}PostgreSQL {found['server']}, {'with' if found['amcheck'] else 'without'} amcheck"
    return (
        f"{about}journal {found['journal_mode'] or '–'}, SQLite {found['sqlite']}, "
        f"on {found['file_system'] or 'an unknown file system'} with {found['free_bytes'] / 1e6:,.0f} MB free"
    )


@app.command()
def upgrade(data_dir: DataDir = DEFAULT_DATA_DIR, url_file: DatabaseUrlFile = None, as_json: AsJson = False) -> None:
    """Upgrade the database to the schema of this version. `podium serve` does the same at start.

    A file is backed up first. An empty PostgreSQL database gets its tables.
    """
    data = DataDirectory(data_dir.absolute())
    if lazy_imports.database_binding.is_postgres(data, url_file):
        done = lazy_imports.database_subprocess.run(
            "copies.postgres_backup_and_upgrade", "upgrade", *_named(data, url_file)
        )
    else:
        data = _existing(data_dir)
        with lazy_imports.all_services_locked(data, "stop it before an upgrade"):
            done = lazy_imports.database_subprocess.run("schema.migrate", data.database)
    if as_json:
        lazy_imports.terminal_output.print_json(done)
        return
    if done["before"] == done["now"]:
        result = f"schema {done['now']} is up to date; nothing to do"
    elif done["before"] is None:
        result = f"created a new database with schema {done['now']}"
    elif done["copy"] is None:
        result = f"upgraded schema {done['before']} to {done['now']}"
    else:
        result = f"upgraded schema {done['before']} to {done['now']}; backup of the old database: {done['copy']}"
    _print(f"{done['path']}: {result}")


def _existing(data_dir: Path) -> DataDirectory:
    data = DataDirectory(data_dir.absolute())
    if not data.root.is_dir():
        raise DatabaseError(f"there is no data directory {data.root}; name another with --data-dir")
    return data


def _named(data: DataDirectory, url_file: Path | None) -> list[str | Path]:
    file = lazy_imports.database_binding.url_file_of(data, url_file)
    return [] if file is None else ["--url-file", file.absolute()]


class Direction(StrEnum):
    """Where `podium db copy` copies to."""

    TO_POSTGRES = "to-postgres"
    FROM_POSTGRES = "from-postgres"


@app.command()
def copy(
    direction: Direction,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    url_file: DatabaseUrlFile = None,
    as_json: AsJson = False,
) -> None:
    """Copy the database to PostgreSQL, or back.

    The service must be stopped, and the target empty. The copy is verified row by row. If it is interrupted, the same
    command continues it.
    """
    data = _existing(data_dir)
    file = lazy_imports.database_binding.url_file_of(data, url_file)
    with lazy_imports.all_services_locked(data, "stop it before a copy"):
        done = lazy_imports.database_subprocess.run_reporting(
            "copies.database_copy", data.database, direction, *([] if file is None else [file]), say=_progress
        )
    if as_json:
        lazy_imports.terminal_output.print_json(done)
        return
    lines = [f"{done['target']}: {done['rows']:,} rows, verified; {done['source']} is unchanged"]
    for table, rows in done["changed"].items():
        lines.append(f"note: {rows:,} rows of {table} have values that {_STORED_OTHERWISE[direction]}")
    for line in lines:
        _print(line)


_STORED_OTHERWISE = {
    Direction.TO_POSTGRES: "PostgreSQL cannot store: the symbol \u2400 is in the place of NUL characters",
    Direction.FROM_POSTGRES: "SQLite cannot store: 0 is in the place of negative zero",
}


def _print(line: str) -> None:
    lazy_imports.terminal_output.console.print(line, soft_wrap=True, markup=False)


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
