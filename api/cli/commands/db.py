"""`podium db backup|check|upgrade`: the database of a data directory, with a service or without; cli."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from podium.api.cli.terminal.lazy_groups import QuickGroup
from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, AsJson, DataDir

app = typer.Typer(cls=QuickGroup, help="Back up, check or upgrade the database.", no_args_is_help=True)


@app.command()
def backup(
    file: Annotated[Path | None, typer.Argument(help="where to; a new file in DATA_DIR/backups if not given")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    force: Annotated[bool, typer.Option("--force", help="overwrite the file if it exists")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the database to one file, also while the service runs."""
    from podium.api.cli.terminal import terminal_output  # not for --help
    from podium.api.serve import database_process
    from podium.sweep.runtime.layout import DataDirectory

    data = DataDirectory(data_dir.absolute())
    target = (file or data.backups / f"podium-{datetime.now().astimezone():%Y-%m-%d-%H%M%S}.sqlite3").absolute()
    done = database_process.run("backup", data.database, target, *(["--force"] if force else []))
    if as_json:
        terminal_output.print_json(done)
    else:
        terminal_output.console.print(f"{done['path']}: {done['bytes'] / 1e6:,.1f} MB", soft_wrap=True)


@app.command()
def check(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Look for damage, and at what the database lies on. Exits with 1 when there is something to mend."""
    from podium.api.cli.terminal import terminal_output  # not for --help
    from podium.api.serve import database_process
    from podium.sweep.runtime.layout import DataDirectory

    found = database_process.run("integrity_check", DataDirectory(data_dir.absolute()).database)
    if as_json:
        terminal_output.print_json(found)
    else:
        say = terminal_output.console.print
        say(
            f"{found['path']}: {'sound' if not found['problems'] else 'not sound'}; {found['bytes'] / 1e6:,.1f} MB, "
            f"schema {found['schema'] or '–'}, journal {found['journal_mode'] or '–'}, SQLite {found['sqlite']}, "
            f"on {found['file_system'] or 'an unknown file system'} with {found['free_bytes'] / 1e6:,.0f} MB free",
            soft_wrap=True,
        )
        for kind, lines in (("problem", found["problems"]), ("advice", found["advice"])):
            for line in lines:
                say(f"{kind}: {line}", soft_wrap=True, markup=False)
    raise typer.Exit(1 if found["problems"] else 0)


@app.command()
def upgrade(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Bring the database to the schema of this Podium. A copy is made first; `podium serve` does so at its start."""
    from podium.api.cli.terminal import terminal_output  # not for --help
    from podium.api.serve import database_process
    from podium.api.serve.service_lock import service_locked
    from podium.sweep.runtime.layout import DataDirectory
    from podium.sweep.values.errors import DatabaseError

    data = DataDirectory(data_dir.absolute())
    if not data.root.is_dir():
        raise DatabaseError(f"there is no data directory {data.root}; name another with --data-dir")
    with service_locked(data, "stop it before an upgrade"):
        done = database_process.run("migrate", data.database)
    if as_json:
        terminal_output.print_json(done)
        return
    if done["before"] == done["now"]:
        said = f"schema {done['now']} is the newest; nothing was done"
    elif done["before"] is None:
        said = f"a new database with schema {done['now']}"
    else:
        said = f"schema {done['before']} is {done['now']} now; the old one is kept in {done['copy']}"
    terminal_output.console.print(f"{done['path']}: {said}", soft_wrap=True, markup=False)
