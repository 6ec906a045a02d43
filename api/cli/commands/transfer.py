"""`podium sweep export` and `podium sweep import`; cli."""

from __future__ import annotations

from typing import Annotated

import typer

from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, AsJson, DataDir, SweepId

FORMATS = "csv, parquet, jsonl, optuna, tensorboard, mlflow"


def export_sweep(
    sweep_id: SweepId,
    to: Annotated[str, typer.Option("--to", metavar="TARGET", help="a file, a folder, or a storage's or server's URL")],
    format_name: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help=f"{FORMATS}; as TARGET's suffix says if left out")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--study", help="name of the study or experiment; the sweep's if left out")
    ] = None,
    filter_text: Annotated[
        str | None, typer.Option("--filter", metavar="FILTER", help="only those it finds: 'state:finished lr<0.01'")
    ] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Write a sweep's trials to a table or for another tool.

    A CSV, Parquet or JSON lines file, an Optuna study, TensorBoard or MLflow.
    """
    from dataclasses import asdict

    from podium.api.cli.terminal import terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client import export_targets
    from podium.api.client.client import Client

    wanted = export_targets.format_of(to, None if format_name is None else export_targets.named(format_name))
    with Client.of(data_dir) as client:
        done = export_targets.export(client, sweep_id, to, wanted, name, filter_text)
    if as_json:
        terminal_output.print_json(asdict(done))
        return
    terminal_output.console.print(f"{done.trials:,} trials of sweep {sweep_id} are in {done.to}")
    if done.look:
        terminal_output.console.print(f"look at them: {done.look}")


def import_sweep(
    storage: Annotated[str, typer.Argument(metavar="STORAGE", help="an Optuna storage: a file, or a database's URL")],
    study: Annotated[str | None, typer.Option("--study", help="which study; the only one if left out")] = None,
    name: Annotated[str | None, typer.Option("--name", help="of the sweep; the study's if left out")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Keep an Optuna study as a finished sweep.

    To look at, and for others to start from (`warm_start`).
    """
    from podium.api.cli.terminal import terminal_output
    from podium.api.client import optuna_studies, shell_commands  # Optuna, rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        document, left_out = optuna_studies.read(storage, study, name)
        sweep = client.import_sweep(document)
    if as_json:
        terminal_output.print_json({**sweep, "left_out": left_out})
        return
    terminal_output.console.print(
        f"sweep {sweep['id']} {sweep['name']!r} has {sum(sweep['counts'].values()):,} trials; "
        f"{shell_commands.command(data_dir, 'sweep', 'show', sweep['id'])}, "
        f"or warm_start: [{sweep['id']}] in a sweep file"
    )
    for sentence in left_out:
        terminal_output.console.print(sentence)
