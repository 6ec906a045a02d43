"""`podium trial download`: the files that a trial left; cli."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, DataDir, TrialId
from podium.sweep.runtime.layout import ARTIFACTS
from podium.sweep.values.errors import NotFoundError


def download(
    trial_id: TrialId,
    names: Annotated[list[str] | None, typer.Argument(help="files to fetch; all, if none is named")] = None,
    to: Annotated[Path, typer.Option("--to", help="folder to write them to; it is made")] = Path(),
    data_dir: DataDir = DEFAULT_DATA_DIR,
) -> None:
    """Download the files that a trial left: model, artifacts.

    As in podium trial download 17 plot.png --to plots. A file that is there already is replaced.
    """
    from podium.api.cli.terminal import terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        left = client.trial(trial_id)["artifacts"]
        wanted = [_named(left, name, trial_id) for name in names or [each["name"] for each in left if _is_there(each)]]
        if not wanted:
            raise NotFoundError(f"trial {trial_id} has left no files")
        to.mkdir(parents=True, exist_ok=True)
        for name in wanted:
            target = client.download(trial_id, name, to / name.rpartition("/")[2])
            terminal_output.console.print(terminal_output.printable(str(target)), soft_wrap=True, highlight=False)


def _named(left: list[dict[str, Any]], name: str, trial_id: int) -> str:
    """The name as the service has it: an artifact goes by its own name, too."""
    known = {each["name"]: each for each in left}
    full = name if name in known else f"{ARTIFACTS}/{name}"
    if full not in known:
        there = ", ".join(sorted(each for each in known if _is_there(known[each]))) or "none"
        raise NotFoundError(f"trial {trial_id} has left no file {name!r}; there are: {there}")
    if not _is_there(known[full]):
        raise NotFoundError(f"{name} of trial {trial_id} is not there any more: {known[full]['removed']}")
    return full


def _is_there(file: dict[str, Any]) -> bool:
    return file["removed"] is None
