"""`podium db backup|check|upgrade|copy`: the database of a data directory, with or without a running service; CLI."""

from __future__ import annotations

import sys
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from podium.api.cli.terminal import lazy
from podium.api.cli.terminal.lazy_groups import group
from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, AsJson, DatabaseUrlFile, DataDir
from podium.sweep.runtime.layout import DataDirectory
from podium.sweep.values.errors import DatabaseError

app = group()


@app.command()
def backup(
    file: Annotated[Path | None, typer.Argument(help="target file; default: a new file in DATA_DIR/backups")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    force: Annotated[bool, typer.Option("--force", help="overwrite the file if it exists")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the database to a file; the service may be running."""
    data = DataDirectory(data_dir.absolute())
    target = (file or data.backups / f"podium-{datetime.now().astimezone():%Y-%m-%d-%H%M%S}.sqlite3").absolute()
    done = lazy.database_subprocess.run("backup", data.database, target, *(["--force"] if force else []))
    if as_json:
        lazy.terminal_output.print_json(done)
    else:
        lazy.terminal_output.console.print(f"{done['path']}: {done['bytes'] / 1e6:,.1f} MB", soft_wrap=True)


@app.command()
def check(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Check the database for damage, and its file system. Exits with 1 if there are problems."""
    found = lazy.database_subprocess.run("integrity_check", DataDirectory(data_dir.absolute()).database)
    if as_json:
        lazy.terminal_output.print_json(found)
    else:
        write = lazy.terminal_output.console.print
        write(
            f"{found['path']}: {'ok' if not found['problems'] else 'not ok'}; {found['bytes'] / 1e6:,.1f} MB, "
            f"schema {found['schema'] or '–'}, journal {found['journal_mode'] or '–'}, SQLite {found['sqlite']}, "
            f"on {found['file_system'] or 'an unknown file system'} with {found['free_bytes'] / 1e6:,.0f} MB free",
            soft_wrap=True,
        )
        for kind, lines in (("problem", found["problems"]), ("advice", found["advice"])):
            for line in lines:
                write(f"{kind}: {line}", soft_wrap=True, markup=False)
    raise typer.Exit(1 if found["problems"] else 0)


@app.command()
def upgrade(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Upgrade the database to the schema of this version. Backs it up first; `podium serve` does the same at start."""
    data = DataDirectory(data_dir.absolute())
    if not data.root.is_dir():
        raise DatabaseError(f"there is no data directory {data.root}; name another with --data-dir")
    with lazy.service_locked(data, "stop it before an upgrade"):
        done = lazy.database_subprocess.run("migrate", data.database)
    if as_json:
        lazy.terminal_output.print_json(done)
        return
    if done["before"] == done["now"]:
        result = f"schema {done['now']} is up to date; nothing to do"
    elif done["before"] is None:
        result = f"created a new database with schema {done['now']}"
    else:
        result = f"upgraded schema {done['before']} to {done['now']}; backup of the old database: {done['copy']}"
    lazy.terminal_output.console.print(f"{done['path']}: {result}", soft_wrap=True, markup=False)


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
    """Copy the database of a data directory to an empty PostgreSQL database, or back; the service is stopped.

    The copy is verified row by row. If it is interrupted, the same command continues it.
    """
    data = DataDirectory(data_dir.absolute())
    if not data.root.is_dir():
        raise DatabaseError(f"there is no data directory {data.root}; name another with --data-dir")
    with lazy.service_locked(data, "stop it before a copy"):
        done = lazy.database_subprocess.run_reporting(
            "database_copy", data.database, direction, *([] if url_file is None else [url_file]), say=_progress
        )
    if as_json:
        lazy.terminal_output.print_json(done)
        return
    lines = [f"{done['target']}: {done['rows']:,} rows, verified; {done['source']} is unchanged"]
    for table, rows in done["changed"].items():
        lines.append(f"note: {rows:,} rows of {table} have values that {_STORED_OTHERWISE[direction]}")
    for line in lines:
        lazy.terminal_output.console.print(line, soft_wrap=True, markup=False)


_STORED_OTHERWISE = {
    Direction.TO_POSTGRES: "PostgreSQL cannot store: the symbol \u2400 is in the place of NUL characters",
    Direction.FROM_POSTGRES: "SQLite cannot store: 0 is in the place of negative zero",
}


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
