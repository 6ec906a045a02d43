"""Options that several commands share; CLI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.api.cli.terminal.completion import device_ids, node_names, sweep_ids

DataDir = Annotated[
    Path,
    typer.Option("--data-dir", envvar="PODIUM_DATA_DIR", help="data directory of the service", show_default=True),
]
SweepId = Annotated[int, typer.Argument(metavar="SWEEP", help="id of a sweep", autocompletion=sweep_ids)]
TrialId = Annotated[int, typer.Argument(metavar="TRIAL", help="id of a trial")]
SweepIds = Annotated[list[int], typer.Argument(metavar="SWEEP...", help="ids of sweeps", autocompletion=sweep_ids)]
TrialIds = Annotated[list[int], typer.Argument(metavar="TRIAL...", help="ids of trials")]
DeviceIds = Annotated[
    list[str],
    typer.Argument(metavar="DEVICE...", help="names of devices: cpu-0, gpu-1", autocompletion=device_ids),
]
NodeNames = Annotated[list[str], typer.Argument(metavar="NODE...", help="names of nodes", autocompletion=node_names)]
SpecFile = Annotated[Path, typer.Argument(metavar="FILE", help="a sweep file: YAML, TOML or JSON")]
SpecFiles = Annotated[list[Path], typer.Argument(metavar="FILE...", help="sweep files: YAML, TOML or JSON")]
Devices = Annotated[str, typer.Option("--devices", help="auto, gpu, cpu, cpu:N, or pretend-gpu:N")]
Project = Annotated[
    str | None, typer.Option("--project", help="project of the sweep; default: `project` of the sweep file")
]
DatabaseUrlFile = Annotated[
    Path | None,
    typer.Option(
        "--database-url-file",
        metavar="FILE",
        help="with the URL of a PostgreSQL database; default: $PODIUM_DATABASE_URL, or the file of the last start",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]
DEFAULT_DATA_DIR = Path("podium-data")
