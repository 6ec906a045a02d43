"""`podium status`: the components of the service; CLI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DataDir

if TYPE_CHECKING:
    from podium.api.client.readiness_responses import LeaderInfo, Services


def status(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Print whether the service is ready, and its components."""
    output = lazy_imports.terminal_output
    with lazy_imports.Client.of(data_dir) as client:
        about = client.ready()
        services = client.services() if about["database"]["available"] else None
        if as_json:
            output.print_json({"url": client.url, **about, **(services or {})})
        else:
            rows = [(p["name"], output.state(p["state"]), p["pid"] or "", p["restarts"]) for p in about["parts"]]
            output.console.print(f"{client.url}: {'ready' if about['ready'] else 'not ready'}")
            for line in _services(services) if services is not None else ():
                output.console.print(line)
            if not about["storage"]["enough"]:
                free = about["storage"]["free_bytes"] / 1e6
                output.console.print(f"disk full: {free:,.0f} MB free in {data_dir}; no new work is accepted")
            if problem := about["database"]["problem"]:
                output.console.print(problem, soft_wrap=True, markup=False)
            output.console.print(output.table(None, ("component", "state", "pid", "restarts"), rows))
    raise typer.Exit(0 if about["ready"] else 1)


def _services(services: Services) -> Iterator[str]:
    """Who leads and who stands by, if the database may have several services."""
    leader = services["leader"]
    if leader is None or leader["epoch"]:
        yield "no service leads" if leader is None else _leader(leader)
    for standby in services["standbys"]:
        this = " (this service)" if standby["answers"] else ""
        yield f"stands by: {standby['url']} on {standby['host']}{this}, seen {standby['seen_s']:.0f} s ago"


def _leader(leader: LeaderInfo) -> str:
    this = " (this service)" if leader["answers"] else ""
    lease = f"lease renewed {leader['renewed_s']:.0f} s ago{', expired' if leader['expired'] else ''}"
    since = lazy_imports.sweep_progress.clock_time(leader["held_s"])
    return f"leads: {leader['url']} on {leader['host']}{this}, for {since}, epoch {leader['epoch']}, {lease}"
