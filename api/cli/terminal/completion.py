"""What the shell proposes where an id is wanted: those that the running service knows; cli.

Asked for by the standard library alone, with little patience: who presses the tab key waits for it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

PATIENCE_S = 0.5
MOST = 50


def sweep_ids(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The newest sweeps, each with its name and state."""
    return _proposed(ctx, f"sweeps?limit={MOST}", incomplete, lambda page: page["items"], _of_sweep)


def device_ids(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Every device, with its state."""
    return _proposed(ctx, "devices", incomplete, lambda devices: devices, lambda one: (one["id"], one["state"]))


def _of_sweep(sweep: dict[str, Any]) -> tuple[str, str]:
    return str(sweep["id"]), f"{sweep['name']}: {sweep['state']}"


def _proposed(
    ctx: typer.Context,
    path: str,
    incomplete: str,
    items: Callable[[Any], Iterable[dict[str, Any]]],
    word: Callable[[dict[str, Any]], tuple[str, str]],
) -> list[tuple[str, str]]:
    """What begins as the word does; nothing where no service answers in time."""
    try:
        found = [word(item) for item in items(_asked(_data_dir(ctx), path))]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [proposal for proposal in found if proposal[0].startswith(incomplete)]


def _asked(data_dir: Path, path: str) -> Any:
    import urllib.request  # these two: not for --help

    from podium.sweep.runtime.layout import DataDirectory

    data = DataDirectory(data_dir)
    about = json.loads(data.service_file.read_text())
    token = data.admin_token.read_text().strip()
    request = urllib.request.Request(  # noqa: S310 - the address is what our own service wrote down
        f"{about['url']}/api/v1/{path}", headers={"Authorization": f"Bearer {token}"}
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def _data_dir(ctx: typer.Context) -> Path:
    return Path(ctx.params.get("data_dir") or os.environ.get("PODIUM_DATA_DIR") or "podium-data")
