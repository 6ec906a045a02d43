"""`podium sweep import`: an Optuna study as a finished sweep; CLI."""

from __future__ import annotations

from typing import Annotated

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DataDir
from podium.api.client import shell_quoted_commands


def import_sweep(
    storage: Annotated[str, typer.Argument(metavar="STORAGE", help="an Optuna storage: a file or a database URL")],
    study: Annotated[str | None, typer.Option("--study", help="name of the study; default: the only one")] = None,
    name: Annotated[str | None, typer.Option("--name", help="name of the sweep; default: the study's name")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Import an Optuna study as a finished sweep.

    To browse it, and to start other sweeps from it (`warm_start`).
    """
    with lazy_imports.Client.of(data_dir) as client:
        document, left_out = lazy_imports.optuna_studies.read(storage, study, name)
        sweep = client.import_sweep(document)
    if as_json:
        lazy_imports.terminal_output.print_json({**sweep, "left_out": left_out})
        return
    lazy_imports.terminal_output.console.print(
        f"sweep {sweep['id']} {sweep['name']!r} has {sum(sweep['counts'].values()):,} trials; "
        f"{shell_quoted_commands.command(data_dir, 'sweep', 'show', sweep['id'])}, "
        f"or warm_start: [{sweep['id']}] in a sweep file"
    )
    for omission in left_out:
        lazy_imports.terminal_output.console.print(omission)
