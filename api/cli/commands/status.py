"""`podium status`: the parts of the service; cli."""

from __future__ import annotations

import typer

from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, AsJson, DataDir


def status(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Say whether the service is ready, and list its parts."""
    from podium.api.cli.terminal import terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        about = client.ready()
        if as_json:
            terminal_output.print_json({"url": client.url, **about})
        else:
            rows = [
                (p["name"], terminal_output.state(p["state"]), p["pid"] or "", p["restarts"]) for p in about["parts"]
            ]
            terminal_output.console.print(f"{client.url}: {'ready' if about['ready'] else 'not ready'}")
            if not about["storage"]["enough"]:
                free = about["storage"]["free_bytes"] / 1e6
                terminal_output.console.print(f"no room: {free:,.0f} MB are free in {data_dir}; nothing new begins")
            terminal_output.console.print(terminal_output.table(None, ("part", "state", "pid", "restarts"), rows))
    raise typer.Exit(0 if about["ready"] else 1)
