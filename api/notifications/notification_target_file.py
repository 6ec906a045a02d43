"""The file of notification targets, which an administrator gives to `podium serve --notify`; CLI, notifier.

A line is `URL` or `KINDS = URL`: `failed, stalled = slack://…`. URLs contain secrets: no message repeats a line.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from podium.sweep.values.errors import ServiceError

MAX_TARGETS = 20
_LINE = re.compile(r"(?:(?P<kinds>[\w\s,]*?)\s*=\s*)?(?P<url>(?P<schema>[A-Za-z][A-Za-z0-9+.-]{0,30})://\S.*)")


class NotificationKind(StrEnum):
    """What a notification is about."""

    FINISHED = "finished"  # a sweep
    FAILED = "failed"  # a sweep, or the ensemble that it requested
    STALLED = "stalled"  # a sweep of which no trial can run, or one whose trial made no progress
    DEGRADED = "degraded"  # an ensemble without all of its members


@dataclass(frozen=True, slots=True)
class Target:
    """Where notifications go, and of which kinds. Its name has no secrets."""

    line: int
    schema: str
    kinds: frozenset[NotificationKind]
    url: str = field(repr=False)

    @property
    def name(self) -> str:
        return f"line {self.line} ({self.schema})"


def read_targets(file: Path) -> list[Target]:
    """The targets of a file. Raises `ServiceError`, also if other users may read or change it."""
    try:
        with file.open("rb") as opened:
            status = os.fstat(opened.fileno())
            text = opened.read(1 << 20).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ServiceError(f"--notify {file}: {getattr(error, 'strerror', None) or 'not a text file'}") from None
    if not stat.S_ISREG(status.st_mode):
        raise ServiceError(f"--notify {file}: not a file")
    if status.st_uid not in (os.geteuid(), 0):
        raise ServiceError(f"--notify {file}: it belongs to another user; run `chown {os.geteuid()} {file}`")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise ServiceError(f"--notify {file}: it has secrets, and other users may read it; run `chmod 600 {file}`")
    targets = [_target(file, number, line) for number, line in enumerate(text.splitlines(), 1) if _is_used(line)]
    if not targets:
        raise ServiceError(f"--notify {file}: it names no target; write one URL per line, such as json://host/path")
    if len(targets) > MAX_TARGETS:
        raise ServiceError(f"--notify {file}: at most {MAX_TARGETS} targets, got {len(targets)}")
    return targets


def _is_used(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _target(file: Path, number: int, line: str) -> Target:
    where = f"--notify {file}, line {number}"
    match = _LINE.fullmatch(line.strip())
    if match is None:
        raise ServiceError(f"{where}: write URL, or KINDS = URL, such as failed, stalled = mailtos://…")
    kinds = [kind.strip() for kind in (match["kinds"] or "").split(",") if kind.strip()]
    if unknown := [kind for kind in kinds if kind not in list(NotificationKind)]:
        known = ", ".join(NotificationKind)
        raise ServiceError(f"{where}: unknown kind {unknown[0][:40]!r}; known: {known}")
    wanted = frozenset(map(NotificationKind, kinds)) or frozenset(NotificationKind)
    return Target(number, match["schema"].lower(), wanted, match["url"])
