"""Checks the file of `podium serve --notify` before the service starts; CLI."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from podium.api.notifications.notification_target_file import read_targets
from podium.sweep.values.errors import MissingExtraError


def check(file: Path) -> None:
    """Raises `ServiceError` for a file that cannot be used, and `MissingExtraError` without Apprise."""
    read_targets(file)
    if importlib.util.find_spec("apprise") is None:
        raise MissingExtraError("--notify", "notify")
