"""`podium status`: the components of the service; CLI."""

from __future__ import annotations

import typer

from podium.api.cli.terminal import lazy
from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, AsJson, DataDir


def status(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Print whether the service is ready, and its components."""
    output = lazy.terminal_output
    with lazy.Client.of(data_dir) as client:
        about = client.ready()
        if as_json:
            output.print_json({"url": client.url, **about})
        else:
            rows = [(p["name"], output.state(p["state"]), p["pid"] or "", p["restarts"]) for p in about["parts"]]
            output.console.print(f"{client.url}: {'ready' if about['ready'] else 'not ready'}")
            if not about["storage"]["enough"]:
                free = about["storage"]["free_bytes"] / 1e6
                output.console.print(f"disk full: {free:,.0f} MB free in {data_dir}; no new work is accepted")
            if problem := about["database"]["problem"]:
                output.console.print(problem, soft_wrap=True, markup=False)
            output.console.print(output.table(None, ("component", "state", "pid", "restarts"), rows))
    raise typer.Exit(0 if about["ready"] else 1)
