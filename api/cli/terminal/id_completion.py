"""Shell completion of ids: the sweeps, devices and nodes of the running service; CLI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import typer

from podium.api.cli.terminal import lazy_imports

MAX_COMPLETIONS = 50


def sweep_ids(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The newest sweeps, each with its name and state."""
    query = lazy_imports.shell_completion_request
    found = query.rows(_data_dir(ctx), f"sweeps?limit={MAX_COMPLETIONS}", lambda page: page["items"], _sweep_row)
    return [row for row in found if row[0].startswith(incomplete)]


def device_ids(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Every device, with its state."""
    query = lazy_imports.shell_completion_request
    found = query.rows(_data_dir(ctx), "devices", lambda devices: devices, lambda one: (one["id"], one["state"]))
    return [row for row in found if row[0].startswith(incomplete)]


def node_names(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Every node, with its state."""
    query = lazy_imports.shell_completion_request
    found = query.rows(_data_dir(ctx), "nodes", lambda nodes: nodes, lambda one: (one["name"], one["state"]))
    return [row for row in found if row[0].startswith(incomplete)]


def _sweep_row(sweep: dict[str, Any]) -> tuple[str, str]:
    return str(sweep["id"]), f"{sweep['name']}: {sweep['state']}"


def _data_dir(ctx: typer.Context) -> Path:
    return Path(ctx.params.get("data_dir") or os.environ.get("PODIUM_DATA_DIR") or "podium-data")
