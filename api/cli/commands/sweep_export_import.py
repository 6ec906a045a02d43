"""`podium sweep export` and `podium sweep import`; CLI."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from podium.api.cli.terminal import lazy
from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, AsJson, DataDir, SweepId
from podium.api.client import suggested_commands

FORMATS = "csv, parquet, jsonl, optuna, tensorboard, mlflow"


def export_sweep(
    sweep_id: SweepId,
    to: Annotated[
        str, typer.Option("--to", metavar="TARGET", help="a file, a folder, or the URL of a storage or server")
    ],
    format_name: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help=f"{FORMATS}; default: by the suffix of TARGET")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--study", help="name of the study or experiment; default: the sweep's name")
    ] = None,
    filter_text: Annotated[
        str | None, typer.Option("--filter", metavar="FILTER", help="only matching trials: 'state:finished lr<0.01'")
    ] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Export a sweep's trials to a table or another tool.

    A CSV, Parquet or JSON lines file, an Optuna study, TensorBoard or MLflow.
    """

    targets = lazy.sweep_export
    chosen = targets.format_of(to, None if format_name is None else targets.format_named(format_name))
    with lazy.Client.of(data_dir) as client:
        done = targets.export(client, sweep_id, to, chosen, name=name, filter=filter_text)
    if as_json:
        lazy.terminal_output.print_json(asdict(done))
        return
    lazy.terminal_output.console.print(f"exported {done.trials:,} trials of sweep {sweep_id} to {done.to}")
    if done.viewer_command:
        lazy.terminal_output.console.print(f"view them with: {done.viewer_command}")


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
    with lazy.Client.of(data_dir) as client:
        document, left_out = lazy.optuna_studies.read(storage, study, name)
        sweep = client.import_sweep(document)
    if as_json:
        lazy.terminal_output.print_json({**sweep, "left_out": left_out})
        return
    lazy.terminal_output.console.print(
        f"sweep {sweep['id']} {sweep['name']!r} has {sum(sweep['counts'].values()):,} trials; "
        f"{suggested_commands.command(data_dir, 'sweep', 'show', sweep['id'])}, "
        f"or warm_start: [{sweep['id']}] in a sweep file"
    )
    for omission in left_out:
        lazy.terminal_output.console.print(omission)
