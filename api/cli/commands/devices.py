"""`podium devices ...`: every device and what is on it, and which take no trials; cli."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from podium.api.cli.terminal.batch_commands import each
from podium.api.cli.terminal.lazy_groups import QuickGroup
from podium.api.cli.terminal.options import DEFAULT_DATA_DIR, AsJson, DataDir, DeviceIds

app = typer.Typer(cls=QuickGroup, help="List the devices, drain and return them.", invoke_without_command=True)


@app.callback()
def list_devices(context: typer.Context, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """List the devices: the trial on each slot, the ensemble members beside it, and why one is idle or set aside."""
    if context.invoked_subcommand is not None:
        _check_no_options(context, context.invoked_subcommand)
        return
    from podium.api.cli.terminal import terminal_output  # rich and the HTTP client: not for --help
    from podium.api.client.client import Client

    with Client.of(data_dir) as client:
        found = client.devices()
    if as_json:
        terminal_output.print_json(found)
        return
    rows = [
        (
            device["id"],
            terminal_output.state(device["state"]),
            device["trial_id"] or "–",
            len(device["member_ids"]) or "–",
            device["slot_pid"],
            device["reason"],
        )
        for device in found
    ]
    terminal_output.console.print(
        terminal_output.table(None, ("device", "state", "trial", "members", "slot pid", "reason"), rows)
    )


@app.command("drain")
def drain(
    device_ids: DeviceIds,
    reason: Annotated[str | None, typer.Option(help="what others are to read")] = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Give devices no more trials until they are returned. What runs there goes on to its end."""
    from podium.api.client.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(device_ids, lambda device_id: client.drain_device(device_id, reason), _now, as_json)


@app.command("return")
def give_back(device_ids: DeviceIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Give devices trials again that were drained or set aside."""
    from podium.api.client.client import Client  # the HTTP client: not for --help

    with Client.of(data_dir) as client:
        each(device_ids, client.return_device, _now, as_json)


def _now(device: dict[str, Any]) -> str:
    runs = "" if device["trial_id"] is None else f"; trial {device['trial_id']} is on it"
    return f"{device['id']} is {device['state']}{runs}"


def _check_no_options(context: typer.Context, command: str) -> None:
    """An option before the command would have no effect, which matters where it names another service."""
    for name, option in (("data_dir", "--data-dir"), ("as_json", "--json")):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"write it after the command: podium devices {command} ... {option}")
