"""`podium sweep export`: the trials of a sweep as a table or for another tool; CLI."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DataDir, SweepId

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

    targets = lazy_imports.sweep_export
    chosen = targets.format_of(to, None if format_name is None else targets.format_named(format_name))
    with lazy_imports.Client.of(data_dir) as client:
        done = targets.export(client, sweep_id, to, chosen, name=name, filter=filter_text)
    if as_json:
        lazy_imports.terminal_output.print_json(asdict(done))
        return
    lazy_imports.terminal_output.console.print(f"exported {done.trials:,} trials of sweep {sweep_id} to {done.to}")
    if done.viewer_command:
        lazy_imports.terminal_output.console.print(f"view them with: {done.viewer_command}")
