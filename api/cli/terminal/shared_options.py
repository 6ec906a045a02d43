"""Options that several commands share; CLI."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from podium.api.cli.terminal.id_completion import device_ids, node_names, sweep_ids

_TRIAL_NAME = re.compile(r"(?:[1-9][0-9]{0,14}\.)?[0-9]{1,15}")


def trial_name(text: str) -> str:
    """Check an argument that names a trial."""
    if not _TRIAL_NAME.fullmatch(text):
        raise typer.BadParameter(f"write an id, or 3.17 for trial 17 of sweep 3, not {text!r}")
    return text


DataDir = Annotated[
    Path,
    typer.Option("--data-dir", envvar="PODIUM_DATA_DIR", help="data directory of the service", show_default=True),
]
SweepId = Annotated[int, typer.Argument(metavar="SWEEP", help="id of a sweep", autocompletion=sweep_ids)]
SweepIds = Annotated[list[int], typer.Argument(metavar="SWEEP...", help="ids of sweeps", autocompletion=sweep_ids)]
TrialName = Annotated[
    str, typer.Argument(metavar="TRIAL", help="id of a trial, or 3.17: trial 17 of sweep 3", parser=trial_name)
]
TrialNames = Annotated[
    list[str], typer.Argument(metavar="TRIAL...", help="ids of trials, or 3.17: trial 17 of sweep 3", parser=trial_name)
]
DeviceIds = Annotated[
    list[str],
    typer.Argument(metavar="DEVICE...", help="names of devices: cpu-0, gpu-1", autocompletion=device_ids),
]
NodeNames = Annotated[list[str], typer.Argument(metavar="NODE...", help="names of nodes", autocompletion=node_names)]
DrainReason = Annotated[str | None, typer.Option("--reason", help="the reason to show to others")]
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
