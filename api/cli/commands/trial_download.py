"""`podium trial download`: the files that a trial saved; CLI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, DataDir, TrialName
from podium.sweep.runtime.attempt_directory import ARTIFACTS
from podium.sweep.values.errors import NotFoundError

if TYPE_CHECKING:
    from podium.api.client.trial_responses import ArtifactInfo


def download(
    trial: TrialName,
    names: Annotated[list[str] | None, typer.Argument(help="files to download; default: all")] = None,
    to: Annotated[Path, typer.Option("--to", help="target folder; created if missing")] = Path(),
    data_dir: DataDir = DEFAULT_DATA_DIR,
) -> None:
    """Download the files of a trial: model, artifacts.

    Example: podium trial download 17 plot.png --to plots. Existing files are overwritten.
    """
    output = lazy_imports.terminal_output
    with lazy_imports.Client.of(data_dir) as client:
        trial_id = client.trial_id(trial)
        files = client.trial(trial_id)["artifacts"]
        selected = names or [file["name"] for file in files if file["removed"] is None]
        paths = [_path_of(files, name, trial) for name in selected]
        if not paths:
            raise NotFoundError(f"trial {trial} has no files")
        to.mkdir(parents=True, exist_ok=True)
        for name in paths:
            target = client.download(trial_id, name, to / name.rpartition("/")[2])
            output.console.print(output.printable(str(target)), soft_wrap=True, highlight=False)


def _path_of(files: list[ArtifactInfo], name: str, trial: str) -> str:
    """The name that the service uses; an artifact may be given without its folder. Raises `NotFoundError`."""
    removed = {file["name"]: file["removed"] for file in files}
    full = name if name in removed else f"{ARTIFACTS}/{name}"
    if full not in removed:
        available = ", ".join(sorted(each for each, reason in removed.items() if reason is None)) or "none"
        raise NotFoundError(f"trial {trial} has no file {name!r}; available: {available}")
    if (reason := removed[full]) is not None:
        raise NotFoundError(f"{name} of trial {trial} was removed: {reason}")
    return full
