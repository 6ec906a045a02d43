"""The request that shell completion sends to the running service; CLI.

Uses the standard library only and a short timeout: the user waits at the prompt.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from podium.sweep.runtime.local_service_discovery import service_of_this_machine

TIMEOUT_S = 0.5
Row = tuple[str, str]


def rows(
    data_dir: Path, path: str, items: Callable[[Any], Iterable[dict[str, Any]]], row: Callable[[dict[str, Any]], Row]
) -> list[Row]:
    """A (value, help) row for each item of the answer; none where no service answers in time."""
    try:
        return [row(item) for item in items(_get(data_dir, path))]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _get(data_dir: Path, path: str) -> Any:
    data = service_of_this_machine(data_dir)
    about = json.loads(data.service_file.read_text())
    token = data.admin_token.read_text().strip()
    request = urllib.request.Request(  # noqa: S310 - the address comes from the service file
        f"{about['url']}/api/v1/{path}", headers={"Authorization": f"Bearer {token}"}
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=TIMEOUT_S) as answer:
        return json.load(answer)
