"""`podium devices ...`: the devices, their trials and members, and which accept no trials; CLI."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from podium.api.cli.terminal import lazy_imports
from podium.api.cli.terminal.bulk_commands import run_each
from podium.api.cli.terminal.lazy_groups import group
from podium.api.cli.terminal.shared_options import DEFAULT_DATA_DIR, AsJson, DataDir, DeviceIds, DrainReason

if TYPE_CHECKING:
    from podium.api.client.device_responses import DeviceInfo

app = group(invoke_without_command=True, no_args_is_help=False)


@app.callback()
def list_devices(context: typer.Context, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """List the devices: the trial in each slot, the ensemble members, and why a device is idle or drained."""
    if context.invoked_subcommand is not None:
        _check_no_options(context, context.invoked_subcommand)
        return
    output = lazy_imports.terminal_output
    with lazy_imports.Client.of(data_dir) as client:
        found = client.devices()
    if as_json:
        output.print_json(found)
        return
    rows = [
        (
            device["id"],
            output.state(device["state"]),
            device["trial_id"] or "–",
            len(device["member_ids"]) or "–",
            device["slot_pid"],
            device["reason"],
        )
        for device in found
    ]
    output.console.print(output.table(None, ("device", "state", "trial", "members", "slot pid", "reason"), rows))


@app.command("drain")
def drain(
    device_ids: DeviceIds,
    reason: DrainReason = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    as_json: AsJson = False,
) -> None:
    """Place no more trials on devices until they are returned. Running trials complete."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(device_ids, lambda device_id: client.drain_device(device_id, reason), _state, as_json)


@app.command("return")
def give_back(device_ids: DeviceIds, data_dir: DataDir = DEFAULT_DATA_DIR, as_json: AsJson = False) -> None:
    """Place trials again on devices that were drained."""
    with lazy_imports.Client.of(data_dir) as client:
        run_each(device_ids, client.return_device, _state, as_json)


def _state(device: DeviceInfo) -> str:
    runs = "" if device["trial_id"] is None else f"; trial {device['trial_id']} is running on it"
    return f"{device['id']} is {device['state']}{runs}"


def _check_no_options(context: typer.Context, command: str) -> None:
    """Raises `BadParameter` for an option before the command: it would be ignored, even if it names a service."""
    for name, option in (("data_dir", "--data-dir"), ("as_json", "--json")):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"write it after the command: podium devices {command} ... {option}")
