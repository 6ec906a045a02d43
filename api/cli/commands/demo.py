"""`podium demo`: a sweep, its best models and their ensemble on real data; CLI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, DataDir, Devices


def demo(
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write the results to FILE")] = None,
    data: Annotated[str, typer.Option(help="digits, or fashion-mnist or mnist with --data-root")] = "digits",
    data_root: Annotated[Path | None, typer.Option(help="folder of the data set's files")] = None,
    trials: Annotated[int, typer.Option(min=3, help="number of trials (finished or pruned)")] = 24,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    devices: Devices = "auto",
    keep: Annotated[bool, typer.Option("--keep", help="leave the service running until Ctrl-C")] = False,
) -> None:
    """Sweep an MLP on real data and ensemble the best three."""
    lazy_imports.demo_run.run(
        data_dir=data_dir.absolute(),
        data=data,
        data_root=data_root,
        trials=trials,
        devices=devices,
        json_file=json_file,
        keep=keep,
    )
