"""`podium node ...`: other machines that have joined the service; CLI."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from podium.api.cli.commands.node_join import join
from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.bulk_commands import run_each
from podium.api.cli.terminal.lazy_groups import group
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DataDir, DrainReason, NodeNames

if TYPE_CHECKING:
    from podium.api.client.node_responses import NodeInfo, RemovedNodeInfo

app = group()
app.command("join")(join)
_COLUMNS = ("node", "state", "address", "busy", "disk free", "clock offset", "last report")


@app.command("list")
def list_nodes(data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """List the nodes: how many of their devices are busy, free disk space, clock offset and last report."""
    with lazy_imports.Client.of(data_dir) as client:
        found = client.nodes()
    if as_json:
        lazy_imports.terminal_output.print_json(found)
        return
    rows = [
        (
            node["name"],
            lazy_imports.terminal_output.state(node["state"]),
            node["address"],
            f"{node['busy']} of {len(node['devices'])}",
            *(("", "", "") if node["refused"] else _reported(node)),
        )
        for node in found
    ]
    lazy_imports.terminal_output.console.print(lazy_imports.terminal_output.table(None, _COLUMNS, rows))
    for node in found:
        if node["refused"]:
            lazy_imports.terminal_output.console.print(f"{node['name']} is not used: {node['refused']}", markup=False)


@app.command("drain")
def drain(
    names: NodeNames,
    reason: DrainReason = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Place no more trials on the devices of nodes until they are returned. Running trials complete."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(names, lambda name: client.drain_node(name, reason), _state, as_json)


@app.command("return")
def give_back(names: NodeNames, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Place trials again on the devices of nodes. A node that was asked to leave stays."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(names, client.return_node, _state, as_json)


@app.command("remove")
def remove(
    names: NodeNames,
    now: Annotated[bool, typer.Option("--now", help="do not wait for running trials: repeat them elsewhere")] = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Ask nodes to leave when their running trials have ended. Silent nodes are forgotten."""

    def line(node: RemovedNodeInfo) -> str:
        if node["forgotten"]:
            return f"{node['name']} was silent and is forgotten"
        return f"{node['name']} leaves" + ("" if now else " when its running trials have ended")

    with lazy_imports.Client.of(data_dir) as client:
        run_each(names, lambda name: client.remove_node(name, now=now), line, as_json)


def _state(node: NodeInfo) -> str:
    busy = f"; {node['busy']} of its {len(node['devices'])} devices are busy" if node["busy"] else ""
    return f"{node['name']} is {node['state']}{busy}"


def _reported(node: NodeInfo) -> tuple[str, str, str]:
    return (
        f"{node['disk_free_bytes'] / 1e9:,.0f} GB",
        f"{node['clock_offset_s']:+.2f} s",
        f"{_seconds_since(node['reported_at']):,.0f} s ago",
    )


def _seconds_since(at: str) -> float:
    return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds())
