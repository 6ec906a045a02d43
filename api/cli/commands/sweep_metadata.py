"""`podium sweep rename`, `describe`, `tag`, `move`, `star` and `archive`: what users write about sweeps; CLI."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.bulk_commands import run_each
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DataDir, SweepId, SweepIds

if TYPE_CHECKING:
    from podium.api.client.sweep_responses import SweepInfo

Remove = Annotated[bool, typer.Option("--remove", help="undo it")]


def rename(
    sweep_id: SweepId,
    name: Annotated[str, typer.Argument(metavar="NAME", help="the new name")],
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Rename a sweep."""
    with lazy_imports.Client.of(data_dir) as client:
        _print(client.rename_sweep(sweep_id, name), as_json)


def describe(
    sweep_id: SweepId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help='Markdown; "-": standard input; "": none')],
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Write the description of a sweep."""
    with lazy_imports.Client.of(data_dir) as client:
        _print(client.describe_sweep(sweep_id, sys.stdin.read() if text == "-" else text), as_json)


def tag(
    sweep_ids: SweepIds,
    add: Annotated[list[str] | None, typer.Option("--add", metavar="TAG", help="repeatable")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", metavar="TAG", help="repeatable")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Add and remove tags of sweeps."""
    if not add and not remove:
        raise typer.BadParameter("give --add TAG or --remove TAG")
    with lazy_imports.Client.of(data_dir) as client:
        run_each(sweep_ids, lambda sweep_id: client.tag_sweep(sweep_id, add or (), remove or ()), _line, as_json)


def move(
    sweep_ids: SweepIds,
    project: Annotated[str, typer.Option("--project", help='the project; "": none')],
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Move sweeps to a project."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(sweep_ids, lambda sweep_id: client.move_sweep(sweep_id, project), _line, as_json)


def star(
    sweep_ids: SweepIds, remove: Remove = False, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False
) -> None:
    """Star sweeps, for the user of the token."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(sweep_ids, lambda sweep_id: client.star_sweep(sweep_id, not remove), _line, as_json)


def archive(
    sweep_ids: SweepIds, remove: Remove = False, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False
) -> None:
    """Hide ended sweeps from lists. Nothing is deleted."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(sweep_ids, lambda sweep_id: client.archive_sweep(sweep_id, not remove), _line, as_json)


def _print(sweep: SweepInfo, as_json: bool) -> None:
    if as_json:
        lazy_imports.terminal_output.print_json(sweep)
    else:
        print(_line(sweep))


def _line(sweep: SweepInfo) -> str:
    parts = [
        f"project {sweep['project']}" if sweep["project"] else "",
        f"tags {' '.join(sweep['tags'])}" if sweep["tags"] else "",
        "starred" if sweep["starred"] else "",
        "archived" if sweep["archived"] else "",
    ]
    about = "; ".join(filter(None, parts))
    return f"sweep {sweep['id']} {sweep['name']!r}{about and ': ' + about}"
